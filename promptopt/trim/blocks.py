"""The blocks of a text: paragraphs, list items, table rows, headings, code and JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

_FENCE: Final = re.compile(r"^[ ]{0,3}(?P<mark>`{3,}|~{3,})", re.MULTILINE)
_JSON_START: Final = re.compile(r"[{\[](?=\s*[\"{\[\]}\d\-tfn])")
_FAILED_JSON: Final = 8
"""Failed readings of JSON may look at this many times the text's length, so that no text costs more."""

_KINDS: Final = re.compile(
    r"(?P<HEADING>\s{0,3}#{1,6}\s+\S)|(?P<ROW>\s*\|)|(?P<CODE>(?:[ ]{4}|\t)\s*\S)"
    r"|(?P<ITEM>\s*(?:[-*+•‣◦]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S)"
)
_RULE: Final = re.compile(r"\|[\s:|-]*-[\s:|-]*")
_UNDERLINE: Final = re.compile(r"={3,}|-{3,}")
_CLOSED: Final = re.compile(r"[.!?:;。！？：；…][\"'”’»)\]」』）*_]*$")
_WRAP: Final = 50
"""Characters from which a line may have been wrapped; a shorter one ends where its writer ended it."""


class Kind(Enum):
    """What a block is."""

    PROSE = auto()
    HEADING = auto()
    ITEM = auto()
    ROW = auto()
    CODE = auto()
    VALUE = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """A block: from the end of the one before it, with the white space between them, to the end of its text."""

    start: int
    end: int
    kind: Kind


def indivisible(text: str) -> list[tuple[int, int]]:
    """Code fences and JSON objects and arrays, as ascending spans that do not overlap."""
    spans: list[tuple[int, int]] = []
    at = 0
    for start, end in (*_fences(text), (len(text), len(text))):
        spans += _json_values(text, at, start)
        spans.append((start, end))
        at = end
    return spans[:-1]


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Fenced code blocks; one that is not closed goes to the end."""
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        mark = opening["mark"]
        closing = re.compile(rf"^[ ]{{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
        found = closing.search(text, opening.end())
        at = found.end() if found else len(text)
        yield opening.start(), at


def _json_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    decoder = json.JSONDecoder()
    allowance = _FAILED_JSON * (end - start)
    at = start
    while allowance >= 0 and (opening := _JSON_START.search(text, at, end)) is not None:
        at = opening.start()
        try:
            stop = decoder.raw_decode(text, at)[1]
        except json.JSONDecodeError as error:
            allowance -= error.pos - at
            at += 1
        except RecursionError:
            yield at, end
            return
        else:
            if stop <= end:
                yield at, stop
            at = max(at + 1, min(stop, end))


def find_blocks(text: str, spans: list[tuple[int, int]]) -> list[Block]:
    """The blocks of a text in order; they tile it up to white space at its end.

    Args:
        text: any text.
        spans: what `indivisible` finds in it.
    """
    starts = {start for start, _ in spans}
    blocks: list[Block] = []
    blank, line = True, ""
    for at, raw in _lines(text, spans):
        before, line = line, raw.strip()
        if not line:
            blank = True
            continue
        last = blocks[-1] if blocks else Block(0, 0, Kind.VALUE)
        value = at in starts or at + raw.index(line) in starts
        kind = Kind.VALUE if value else _kind(raw, last, blank=blank)
        end = at + len(raw.rstrip())
        if not (kind is last.kind is Kind.CODE if blank else _goes_on(last, before, line, kind)):
            blocks.append(Block(last.end, end, kind))
            blank = False
            continue
        underlined = last.kind is Kind.PROSE and _UNDERLINE.fullmatch(line) is not None
        blocks[-1] = Block(last.start, end, Kind.HEADING if underlined else last.kind)
        blank = False
    return blocks


def _kind(raw: str, last: Block, *, blank: bool) -> Kind:
    found = _KINDS.match(raw)
    kind = Kind[found.lastgroup] if found and found.lastgroup else Kind.PROSE
    if kind is not Kind.CODE:
        return kind
    if last.kind is Kind.CODE or (blank and last.kind is not Kind.ITEM):
        return Kind.CODE
    # indented under a list or a wrapped line: what it would be at the margin
    return _kind(raw.lstrip(), last, blank=blank)


def _goes_on(last: Block, before: str, line: str, kind: Kind) -> bool:
    """Whether a line right under another belongs to its block."""
    if kind is Kind.CODE:
        return last.kind is Kind.CODE
    if kind is Kind.ROW:
        return last.kind is Kind.ROW and _RULE.fullmatch(line) is not None
    if kind is not Kind.PROSE or last.kind not in {Kind.PROSE, Kind.ITEM}:
        return False
    wrapped = len(before) >= _WRAP and not _CLOSED.search(before)
    return wrapped or (last.kind is Kind.PROSE and _UNDERLINE.fullmatch(line) is not None)


def _lines(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Lines and their offsets; a line that begins inside a span belongs to the line that the span begins in."""
    index = at = 0
    pending, pending_at = "", 0
    for raw in text.splitlines(keepends=True):
        while index < len(spans) and spans[index][1] <= at:
            index += 1
        inside = index < len(spans) and spans[index][0] < at
        if inside:
            pending += raw
        else:
            if pending:
                yield pending_at, pending
            pending, pending_at = raw, at
        at += len(raw)
    if pending:
        yield pending_at, pending
