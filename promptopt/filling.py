"""Sample values in the place of what a prompt is given at run time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Any, Final

from promptopt.prompt import (
    Block,
    Choice,
    History,
    Interpolation,
    Message,
    Part,
    Parts,
    Prompt,
    Repeat,
    Segment,
    Text,
    Volatility,
)
from promptopt.samples import MISSING, Samples, rounds, sample_of
from promptopt.source import Location

CONVERSATION: Final = "history"
"""The sample for earlier turns, whatever holds them: a list of texts or messages."""

_NAME: Final = re.compile(r"[^\W\d]\w*")
_MOST_PARTS: Final = 100_000
"""Parts that nested repetitions may amount to; what would be more stays one repetition of unknown length."""


@dataclass(frozen=True, slots=True)
class Filler:
    """Puts samples in the place of values; with `stable`, only where the value is known to stay the same from
    user to user, so that the prefix keeps its end."""

    samples: Samples
    stable: bool = False

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt with samples for its values and its conversation."""
        if not self.samples:
            return prompt
        return replace(prompt, messages=tuple(new for message in prompt.messages for new in self._message(message)))

    def _message(self, message: Message | History) -> tuple[Message | History, ...]:
        if isinstance(message, Message):
            blocks = (replace(b, parts=self._parts(b.parts, self.samples, _MOST_PARTS)) for b in message.blocks)
            return (replace(message, blocks=tuple(blocks)),)
        turns = sample_of(message.expression, self.samples)
        turns = self.samples.get(CONVERSATION) if turns is MISSING else turns
        if self.stable or not isinstance(turns, list):
            return (message,)
        return tuple(Message("history", (Block((_text(_turn(turn), message.location),)),)) for turn in turns)

    def _parts(self, parts: Parts, samples: Samples, room: int) -> Parts:
        pairs = ((new, new is not part) for part in parts for new in self._part(part, samples, room))
        return tuple(_joined(pairs))

    def _part(self, part: Part, samples: Samples, room: int) -> Parts:
        if isinstance(part, Choice):
            return (replace(part, alternatives=tuple(self._parts(a, samples, room) for a in part.alternatives)),)
        if isinstance(part, Repeat):
            return self._repeat(part, samples, room)
        if not isinstance(part, Interpolation) or (self.stable and part.volatility >= Volatility.USER):
            return (part,)
        value = sample_of(part.expression, samples)
        return (part,) if value is MISSING else (_text(_as_text(value), part.location),)

    def _repeat(self, part: Repeat, samples: Samples, room: int) -> Parts:
        each = None if self.stable else rounds(part.over, part.variable, samples)
        if each is None or len(each) * len(part.body) > room:
            return (replace(part, body=self._parts(part.body, samples, room)),)
        body = part.body[1:] if _tells_how_often(part) else part.body
        return tuple(new for scope in each for new in self._parts(body, scope, room // max(len(each), 1)))


def _joined(parts: Iterable[tuple[Part, bool]]) -> Iterator[Part]:
    """The parts with a sample, marked by true, and the texts beside it in one: tokens reach across its ends."""
    for is_text, run in groupby(parts, lambda pair: isinstance(pair[0], Text)):
        pairs = list(run)
        if is_text and any(filled for _, filled in pairs):
            yield _one_text([part for part, _ in pairs if isinstance(part, Text)])
        else:
            yield from (part for part, _ in pairs)


def _one_text(texts: Sequence[Text]) -> Text:
    starts = accumulate((len(text.value) for text in texts), initial=0)
    segments = (
        replace(s, offset=start + s.offset) for text, start in zip(texts, starts, strict=False) for s in text.map
    )
    return Text("".join(text.value for text in texts), tuple(segments))


def _tells_how_often(part: Repeat) -> bool:
    """Whether a repetition begins with the linker's mark for how often its number of rounds changes."""
    first = part.body[0] if part.body else None
    return isinstance(first, Interpolation) and first.expression == part.over


def _as_text(value: Any) -> str:
    """A sample as text; lists of texts stand below one another, as retrieved passages mostly do."""
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return "\n".join(value)
    return str(value)


def _text(value: str, place: Location | None) -> Text:
    return Text(value, (Segment(0, len(value), place),) if place else ())


def _turn(turn: object) -> str:
    """The text of one earlier turn: a string, or a message's content."""
    content = turn.get("content", turn) if isinstance(turn, dict) else turn
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def names_in(prompt: Prompt) -> frozenset[str]:
    """What samples for the prompt may be called: its values' expressions, and the names in them."""
    expressions = {" ".join(expression.split()) for expression in _expressions(prompt)}
    return frozenset(expressions).union(*map(_NAME.findall, expressions))


def _expressions(prompt: Prompt) -> Iterator[str]:
    for message in prompt.messages:
        if isinstance(message, History):
            yield from (CONVERSATION, message.expression)
        else:
            yield from (expression for block in message.blocks for expression in _in_parts(block.parts))


def _in_parts(parts: Parts) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Repeat):
            yield part.over
            yield from _in_parts(part.body)
        elif isinstance(part, Choice):
            yield from (expression for alternative in part.alternatives for expression in _in_parts(alternative))
        elif isinstance(part, Interpolation):
            yield part.expression
