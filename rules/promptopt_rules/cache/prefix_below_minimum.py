"""PO106 prefix-below-minimum."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Block, History, Message, Part, Prompt, Repeat, Text, constant_texts, flatten
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import Figure, Sentence, model_of, reaches

ESTIMATE_MARGIN: Final = 1.5
"""A count with another model's encoding is taken to be short by up to a third."""


class PrefixBelowMinimum(Rule[Prompt]):
    """A cache marker on a prefix that is too short to be cached.

    ## What it finds

    An explicit cache marker where everything up to the last one is constant text, shorter than the shortest prefix
    that the provider caches for that model.

    ## Why it is slow

    The marker is ignored without an error: nothing is written and nothing is read, while the code looks as if the
    prompt were cached.

    ## Example

    ```python bad
    from anthropic import Anthropic

    client = Anthropic()

    def ask(question: str):
        return client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=500,
            system=[
                {
                    "type": "text",
                    "text": "Answer from the handbook only.",
                    "cache_control": {"type": "ephemeral"},  # finds: PO106[info]
                }
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Use instead

    A marker behind enough text, or none:

    ```python good
    from anthropic import Anthropic

    client = Anthropic()

    def ask(question: str):
        return client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=500,
            system=[{"type": "text", "text": "Answer from the handbook only."}],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - models that are not known by the name that the request gives
    - prefixes with tools, values, history or media in them: their length is not known
    - prefixes so near the minimum that an estimate cannot decide

    ## Fix safety

    Whether more belongs ahead of the marker is for the author to say. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO106"
    name: ClassVar[str] = "prefix-below-minimum"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt, at its last marker."""
        model = model_of(subject.call)
        marked = _marked_prefix(subject)
        if model is None or model.cache_minimum is None or marked is None:
            return
        texts = tuple(text.value for block in marked for text in constant_texts(block.parts))
        margin = ESTIMATE_MARGIN if model.estimate else 1
        if reaches(texts, ceil(model.cache_minimum / margin), subject.call):
            return
        last = marked[-1].marker
        place = (last and last.location) or marked[-1].location or subject.call.location
        yield self.finding(
            Sentence.of(
                "The prefix up to this cache marker has ",
                Figure(texts, subject.call),
                f" tokens; {model.names[0]} caches none below {model.cache_minimum:,}: the marker is ignored.",
            ),
            place,
            prompt=subject.name,
            remedies=[Remedy("longer-prefix", "move the marker behind more constant text, or leave it out")],
            group=f"marker@{place.path}:{place.span.start}",
        )


def _marked_prefix(prompt: Prompt) -> tuple[Block, ...] | None:
    """The blocks up to the last marker; None where there is none, or something of unknown length in between."""
    if prompt.tools is not None:
        return None
    items = [block for message in prompt.messages for block in _blocks(message)]
    last = max((n for n, block in enumerate(items) if block and block.marker), default=-1)
    prefix = tuple(block for block in items[: last + 1] if block and all(map(_is_constant, block.parts)))
    return prefix if prefix and len(prefix) == last + 1 else None


def _blocks(message: Message | History) -> tuple[Block | None, ...]:
    return message.blocks if isinstance(message, Message) else (None,)


def _is_constant(part: Part) -> bool:
    return not isinstance(part, Repeat) and all(isinstance(flat, Text) for flat in flatten((part,)))
