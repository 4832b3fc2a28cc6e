"""What a ContextTrimmer answers: the text, the shorter passages, and what became of every part."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

PassageT = TypeVar("PassageT")


class Fate(StrEnum):
    """Why a part of a passage was kept or dropped."""

    RELEVANT = "relevant"
    NEEDED = "needed by a part that is kept"
    OVER_BUDGET = "over budget"
    DUPLICATE = "says what a kept part says"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a passage: a sentence, list item, table row, code block or JSON value, or the whole passage.

    Attributes:
        passage: index of the passage among those that were given.
        start, end: half-open character offsets into the passage's text. The parts of a passage, kept and
            dropped, tile its text: white space belongs to the part after it.
        score: relevance; comparable within one call only.
        reason: why it was kept or dropped.
    """

    passage: int
    start: int
    end: int
    score: float
    reason: Fate


@dataclass(frozen=True, slots=True)
class Trimmed(Generic[PassageT]):
    """What is left of the passages.

    Attributes:
        text: what goes into the prompt: titles and kept parts, at most `budget` tokens.
        passages: the passages of which something is left, in the order of `text`: same type and
            metadata, the text cut to the kept parts.
        tokens: tokens of `text`.
        kept, dropped: every part of every passage, in the order of passages and of their text.
    """

    text: str
    passages: list[PassageT]
    tokens: int
    kept: tuple[Part, ...]
    dropped: tuple[Part, ...]
