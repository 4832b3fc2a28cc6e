"""PO203 repeated-instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Prompt, Text, constant_texts
from promptopt.rule import Rule, RuleContext
from promptopt.source import Location
from promptopt.tokens import Figure, Sentence
from promptopt_rules.size.places import certain_blocks, place_in

_UNIT: Final = re.compile(r"[^\n]+?(?:[.!?。！？](?=\s)|(?=\n)|\Z)")
"""A sentence, or the rest of a line."""

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1", re.MULTILINE | re.DOTALL)

_NO_PROSE: Final = re.compile(r"^(?:#|\||[<{\[(]|\*\*[^*]*\*\*$)|[{}<>|=;]|\w\(|https?://|\w:\s*\"|(?:/\w+){3}")
"""Headings, table rows, markup, data, paths and code."""

MOST_TIMES: Final = 8
"""What stands there more often is filler, or data of many alike entries."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence and where it stands."""

    sentence: str
    place: Location | None


class RepeatedInstructions(Rule[Prompt]):
    """The same sentence stands twice in one prompt.

    ## What it finds

    A sentence of at least `min-words` words that stands more than once in the constant text of one request, word for
    word. One finding per prompt: the longest such sentence, with the number of the others.

    ## Why it is slow

    The model reads every word of the prompt before it answers. A rule that stands there twice is read twice, and the
    two copies drift apart as soon as one of them is edited.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    TONE = "Answer in the language of the question, in at most three short and friendly sentences."
    SYSTEM = f"You are the clerk of a library. {TONE} Never lend out reference books.\\n{TONE}"

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=SYSTEM, input=question)  # finds: PO203[info] @-4
    ```

    ## Use instead

    ```python good
    from openai import OpenAI

    client = OpenAI()
    TONE = "Answer in the language of the question, in at most three short and friendly sentences."
    SYSTEM = f"You are the clerk of a library. Never lend out reference books.\\n{TONE}"

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=SYSTEM, input=question)
    ```

    ## Silent on

    - headings and short phrases
    - fenced code, tables, markup, data, and filler that stands there many times
    - messages that are sent on some branch only, alternatives of which one is sent
    - what the user says, passages, tools

    ## Options

    - `min-words` (10): words from which a sentence counts

    ## Fix safety

    Some models do follow a rule better that is said again at the end. The remedy is advice: no edit is made.

    ## References

    - https://developers.openai.com/api/docs/guides/latency-optimization
    """

    code: ClassVar[str] = "PO203"
    name: ClassVar[str] = "repeated-instructions"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """A length in words."""

        min_words: int = field(default=10, metadata={"help": "words from which a sentence counts"})

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt."""
        seen: dict[str, list[_Unit]] = {}
        for unit in _units(subject, context.options.min_words):
            seen.setdefault(" ".join(_WORD.findall(unit.sentence.lower())), []).append(unit)
        repeated = [units for units in seen.values() if 1 < len(units) <= MOST_TIMES]
        if not repeated:
            return
        first, again, *_ = max(repeated, key=lambda units: len(units[0].sentence))
        place = again.place or first.place or subject.location
        others = f" (one of {len(repeated)} that do)" if len(repeated) > 1 else ""
        yield self.finding(
            Sentence.of(
                f"This sentence stands twice in the prompt{others}: ",
                Figure((first.sentence,), subject.call),
                " tokens that say nothing new. Keep one of them.",
            ),
            place,
            prompt=subject.name,
            subject=first.sentence,
            related=[Related("stands here, too", first.place)] if first.place and first.place != place else [],
            remedies=[Remedy("say-it-once", "keep one of them")],
            group=f"repeated@{place.path}:{place.span.start}",
        )


def _units(prompt: Prompt, least: int) -> Iterator[_Unit]:
    for _, block in certain_blocks(prompt):
        for text in constant_texts(block.parts):
            yield from _sentences(text, least)


def _sentences(text: Text, least: int) -> Iterator[_Unit]:
    prose = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text.value)
    for found in _UNIT.finditer(prose):
        sentence = found[0].strip()
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        if len(_WORD.findall(sentence)) >= least and not _NO_PROSE.search(sentence):
            yield _Unit(sentence, place_in(text, start, start + len(sentence)))
