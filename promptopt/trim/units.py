"""The parts that a passage is cut into, and which of them cannot stand alone.

A part is a sentence, a list item, a table row, a heading, a code block or a JSON value. Parts tile the
passage. No cut falls inside a code fence, a JSON value or a grapheme.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from promptopt.trim.blocks import Block, Kind, find_blocks, indivisible
from promptopt.trim.sentences import sentence_ends

_LONGEST: Final = 1200
"""Characters of a part from which it is divided at clauses or words; texts without sentences exist."""

_CLAUSE: Final = re.compile(r"[;:,](?=\s+\S)|[，、；：](?=\S)")
_SPACE: Final = re.compile(r"(?<=\S)(?=\s+\S)")
_FOLLOWING: Final = re.compile(r"\s*+(\S)")
_DIVISIBLE: Final = frozenset({Kind.PROSE, Kind.ITEM})
_EXTENDERS: Final = frozenset(
    {
        *"\u200c\u200d\u0e33\u0eb3\uff9e\uff9f",
        *map(chr, range(0x1F3FB, 0x1F400)),
        *map(chr, range(0xE0020, 0xE0080)),
    }
)
"""Characters that belong to the one before them and are no marks by their category (UAX 29, Extend and SpacingMark)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage.

    Attributes:
        start, end: offsets; white space ahead of the text is included, and behind the last part.
        lead: the white space ahead of the text.
        text: the part without white space around it.
        needs: indices of parts of the same passage without which it says nothing.
        heading: whether it only names what follows, and is kept for the parts that need it.
        context: the heading that it stands under.
    """

    start: int
    end: int
    lead: str
    text: str
    needs: tuple[int, ...] = ()
    heading: bool = False
    context: str = ""


def split_units(text: str) -> list[Unit]:
    """The parts of a text in order; none for a text of white space."""
    spans = indivisible(text)
    pieces = [
        (start, end, block.kind, start == block.start)
        for block in find_blocks(text, spans)
        for start, end in pairwise((block.start, *_cuts(text, block, spans), block.end))
    ]
    if not pieces:
        return whole(text)
    pieces[-1] = (pieces[-1][0], len(text), *pieces[-1][2:])
    return list(_linked(text, pieces))


def whole(text: str) -> list[Unit]:
    """A text as one part; none for a text of white space."""
    return [_unit(text, 0, len(text))] if text.strip() else []


def _unit(
    text: str, start: int, end: int, needs: tuple[int, ...] = (), *, heading: bool = False, context: str = ""
) -> Unit:
    part = text[start:end]
    inner = part.lstrip()
    indent = part.rfind("\n", 0, len(part) - len(inner)) + 1
    # indentation belongs to the lines that it indents
    lead = part[: indent or len(part) - len(inner)]
    return Unit(start, end, lead, part[len(lead) :].rstrip(), needs, heading, context)


def _linked(text: str, pieces: Iterable[tuple[int, int, Kind, bool]]) -> Iterator[Unit]:
    """Parts with what they need: the heading above them, a table's first row, the line that opens a list."""
    heading: int | None = None
    context = ""
    opener: int | None = None  # header row, or line before a list
    last = Kind.VALUE
    previous = ""
    for index, (start, end, kind, first) in enumerate(pieces):
        if kind is Kind.HEADING:
            unit = _unit(text, start, end, heading=True)
            heading, context, opener = index, unit.text.strip("#=- \t\r\n"), None
        else:
            if kind is Kind.ROW and last is not Kind.ROW:
                opener = None
            elif kind is Kind.ITEM and last is not Kind.ITEM:
                opener = index - 1 if previous.endswith((":", "：")) else None
            elif kind not in {Kind.ROW, Kind.ITEM}:
                opener = None
            own = (index - 1,) if kind is Kind.ITEM and not first else ()
            needs = tuple(at for at in (heading, opener, *own) if at is not None)
            unit = _unit(text, start, end, needs, context=context)
            if kind is Kind.ROW and last is not Kind.ROW:
                opener = index
        yield unit
        last, previous = kind, unit.text


def _cuts(text: str, block: Block, spans: list[tuple[int, int]]) -> Iterator[int]:
    """Offsets inside a block at which it is cut, ascending."""
    if block.kind not in _DIVISIBLE:
        return
    start = block.start
    for end in (*filter(lambda at: _allowed(text, at, spans), sentence_ends(text, block.start, block.end)), block.end):
        yield from _soft_cuts(text, start, end, spans)
        if end < block.end:
            yield end
        start = end


def _soft_cuts(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> Iterator[int]:
    """Offsets that divide what is too long, at the last clause that fits or else the last word."""
    while end - start > _LONGEST:
        cut = _last_cut(_CLAUSE, text, start, spans) or _last_cut(_SPACE, text, start, spans)
        if cut is None:
            further = (found.end() for found in _SPACE.finditer(text, start + _LONGEST, end))
            cut = next((at for at in further if _allowed(text, at, spans)), None)
        if cut is None:
            return
        yield cut
        start = cut


def _last_cut(pattern: re.Pattern[str], text: str, start: int, spans: list[tuple[int, int]]) -> int | None:
    found = [m.end() for m in pattern.finditer(text, start + _LONGEST // 4, start + _LONGEST)]
    return next((at for at in reversed(found) if _allowed(text, at, spans)), None)


def _allowed(text: str, at: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a cut at an offset leaves code, JSON values and graphemes whole."""
    index = bisect_left(spans, (at, at)) - 1
    if index >= 0 and spans[index][0] < at < spans[index][1]:
        return False
    found = _FOLLOWING.match(text, at)
    rest = found[1] if found else ""
    return not rest or not (unicodedata.category(rest)[0] == "M" or rest in _EXTENDERS)
