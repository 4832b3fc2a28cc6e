"""PO204 indented-prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Block, Prompt, Text, constant_texts, estimate_tokens, flatten
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import Figure, Sentence
from promptopt_rules.size.places import certain_blocks, largest

LEVEL: Final = 4
"""Blanks that all lines must share: one level of Python code."""

LEAST_LINES: Final = 4

_VALUE: Final = "\ufffc"
_RUN: Final = re.compile(r"(?<=[^\s|:#`]) {4,}(?=[^\s|#`])")
_OPENS: Final = (":", "{", "[", "(")


class IndentedPrompt(Rule[Prompt]):
    """A prompt that is indented like the code around it.

    ## What it finds

    Text all of whose lines, the first left aside, begin with four blanks or more, and runs of blanks inside lines
    that a backslash at the end of a line leaves behind, where both together are more than `max-percent` of the
    prompt's tokens.

    ## Why it is slow

    Blanks are tokens: each indented line costs one more, and the model reads them on every request. They say nothing.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def ask(question: str):
        system = '''
            You are a clerk.
            Be brief.
            Quote the handbook.
            Never guess.
            Say so if you do not know.
        '''
        return client.responses.create(model="gpt-5", instructions=system, input=question)  # finds: PO204[info] @-6
    ```

    ## Use instead

    Text at the left margin, or `textwrap.dedent`, which is the same on every call:

    ```python good
    from textwrap import dedent

    from openai import OpenAI

    client = OpenAI()

    def ask(question: str):
        system = dedent('''
            You are a clerk.
            Be brief.
            Quote the handbook.
            Never guess.
            Say so if you do not know.
        ''')
        return client.responses.create(model="gpt-5", instructions=system, input=question)
    ```

    ## Silent on

    - indentation that says something: code, lists, tables and YAML in the prompt are indented relative to other lines
    - a heading or an opening bracket and what is indented below it
    - a few lines only

    ## Options

    - `max-percent` (5): share of the prompt's tokens that blanks may have

    ## Fix safety

    Unsafe: without its indentation the prompt is another text, though it says the same. Constant text is put into
    `dedent(...)`, or `cleandoc(...)` where its first line stands beside the quotes, and the import is added. Text with
    values in it is left alone: a value of several lines would decide what is taken out.

    ## References

    - https://docs.python.org/3/library/textwrap.html#textwrap.dedent
    """

    code: ClassVar[str] = "PO204"
    name: ClassVar[str] = "indented-prompt"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = Applicability.UNSAFE
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """A share in percent."""

        max_percent: int = field(default=5, metadata={"help": "share of the prompt's tokens that blanks may have"})

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per block of a message."""
        for _, block in certain_blocks(subject):
            text = _joined(block)
            bare, taken = _without_blanks(text)
            if taken * 100 <= context.options.max_percent * (taken + estimate_tokens(len(bare))):
                continue
            place = largest(constant_texts(block.parts)) or block.location or subject.location
            yield self.finding(
                Sentence.of(
                    f"Blanks at the beginning of {taken} lines or inside them make ",
                    Figure((text.replace(_VALUE, ""),), subject.call),
                    " tokens of ",
                    Figure((bare.replace(_VALUE, ""),), subject.call, marked=False),
                    " on every request. Take them out, with textwrap.dedent where the code shall stay indented.",
                ),
                place,
                prompt=subject.name,
                remedies=[Remedy("dedent", "take the indentation out (textwrap.dedent)")],
                group=f"indented@{place.path}:{place.span.start}",
            )


def _joined(block: Block) -> str:
    """The block's text with a mark for each value."""
    return "".join(part.value if isinstance(part, Text) else _VALUE for part in flatten(block.parts))


def _without_blanks(text: str) -> tuple[str, int]:
    """The text without shared indentation and runs of blanks, and how many of these there were: each is a token."""
    lines = text.split("\n")
    shared = _shared_indentation(lines)
    bare = [lines[0], *(line[shared:] if line.strip() else line.strip() for line in lines[1:])] if shared else lines
    taken = sum(1 for line in lines[1:] if line.strip()) if shared else 0
    result = []
    for line in bare:
        shorter, runs = (line, 0) if "|" in line or "\t" in line else _RUN.subn(" ", line)
        result.append(shorter)
        taken += runs
    return "\n".join(result), taken if taken >= LEAST_LINES else 0


def _shared_indentation(lines: list[str]) -> int:
    """Blanks with which every line but the first begins; 0 where that is too few, or what follows belongs to the
    first."""
    if lines[0].rstrip().endswith(_OPENS):
        return 0
    filled = [line for line in lines[1:] if line.strip()]
    shared = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return shared if shared >= LEVEL and len(filled) >= LEAST_LINES else 0
