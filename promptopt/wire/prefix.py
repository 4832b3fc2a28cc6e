"""How much two requests share from their beginning, and what it is that differs first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from promptopt.wire.reading import Piece, SentPrompt

THE_END: Final = "the end"
OTHER_TEXT: Final = "other text"
_NOTHING: Final = Piece(THE_END, "")
_LONGEST_WORD: Final = 24
"""Characters; what goes on longer is no word but a language without spaces."""
_SHOWN: Final = 48
"""Characters of each side that are shown from the line of the difference."""

_TIME: Final = re.compile(
    r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?|\b\d{4}-\d{2}-\d{2}|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b1[5-9]\d{8}(?:\d{3}|\d{6}|\.\d+)?\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    r"|\b\d{1,2}\.? (?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)\w*"
)
_ID: Final = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]{6,}"
    r"|\b(?=[0-9a-zA-Z_-]*\d)(?=[0-9a-zA-Z_-]*[a-zA-Z])[0-9a-zA-Z_-]{8,}\b|(?<![\d.])\d{6,}(?![\d.])"
)
_NUMBER: Final = re.compile(r"[+-]?\d[\d.,]*")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two requests part.

    Attributes:
        label: the part of the request, such as `0: system`.
        line: from 1, of that part's text.
        first, second: what stands there, from the beginning of the line or shortly before.
        column: where the two differ, counted from the beginning of `first`.
        kind: what it looks like: "a time", "an id", "a number", "the same words in another order", "another image or
            file", `OTHER_TEXT`, or `THE_END` of one of them.
    """

    label: str
    line: int
    first: str
    second: str
    column: int
    kind: str


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """What two requests share.

    Attributes:
        texts: whole pieces and the beginning of one, up to the word in which they part.
        difference: where they part; None where they are the same.
        continued: whether the second begins with the whole first.
    """

    texts: tuple[str, ...]
    difference: Difference | None
    continued: bool = True

    def tokens(self, count: Callable[[str], int]) -> int:
        """Tokens of what is shared."""
        return sum(map(count, self.texts))


def common_prefix(first: SentPrompt, second: SentPrompt) -> CommonPrefix:
    """What two requests share from their beginning, in cache order."""
    shared: list[str] = []
    pairs = list(zip_longest(first.pieces(), second.pieces(), fillvalue=_NOTHING))
    for index, (one, other) in enumerate(pairs):
        if one == other:
            shared.append(one.text)
            continue
        same = _common_length(one.text, other.text) if _speaker(one) == _speaker(other) else 0
        rest = pairs[index:]
        difference = _difference(one, other, same, [pair[0] for pair in rest], [pair[1] for pair in rest])
        is_last = all(piece is _NOTHING for piece, _ in pairs[index + 1 :])
        continued = one is _NOTHING or (is_last and not one.media and same == len(one.text) > 0)
        return CommonPrefix((*shared, one.text[: _whole_words(one.text, other.text, same)]), difference, continued)
    return CommonPrefix(tuple(shared), None)


def _common_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _whole_words(one: str, other: str, same: int) -> int:
    """Where the last word begins that the two do not share as a whole: half of a word is no token of theirs."""
    if not any(text[same : same + 1].isalnum() for text in (one, other)):
        return same
    start = same
    while start > max(0, same - _LONGEST_WORD) and one[start - 1].isalnum():
        start -= 1
    return start


def _speaker(piece: Piece) -> str:
    place, _, name = piece.label.partition(": ")
    return name if place.isdigit() else place


def _difference(one: Piece, other: Piece, same: int, first: Sequence[Piece], second: Sequence[Piece]) -> Difference:
    line = one.text.count("\n", 0, same) + 1
    start = max(one.text.rfind("\n", 0, same) + 1, same - _SHOWN // 2)
    label = other.label if one is _NOTHING else one.label
    kind = _kind(one, other, same, first, second)
    return Difference(label, line, _shown(one, start), _shown(other, start), same - start, kind)


def _shown(piece: Piece, start: int) -> str:
    if piece.media:
        return f"({piece.media})"
    text = piece.text[start : start + _SHOWN]
    return text if text or piece is not _NOTHING else f"({piece.label})"


def _kind(one: Piece, other: Piece, same: int, first: Sequence[Piece], second: Sequence[Piece]) -> str:
    if one.media or other.media:
        return "another image or file"
    if _NOTHING in (one, other):
        return THE_END
    if _words(first) == _words(second):
        return "the same words in another order"
    sides = [_line(piece.text, same) for piece in (one, other)]
    for pattern, kind in ((_TIME, "a time"), (_ID, "an id"), (_NUMBER, "a number")):
        if all(_covers(pattern, line, column) for line, column in sides):
            return kind
    return "the same words in another order" if _same_words(*(line for line, _ in sides)) else OTHER_TEXT


def _covers(pattern: re.Pattern[str], line: str, column: int) -> bool:
    return any(found.start() <= column <= found.end() for found in pattern.finditer(line))


def _words(pieces: Iterable[Piece]) -> Counter[str]:
    return Counter(word for piece in pieces for word in _WORD.findall(piece.text))


def _same_words(one: str, other: str) -> bool:
    words = Counter(_WORD.findall(one))
    return len(words) > 1 and words == Counter(_WORD.findall(other))


def _line(text: str, at: int) -> tuple[str, int]:
    """The line around a place, and the place in it."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return text[start : None if end < 0 else end], at - start
