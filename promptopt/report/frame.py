"""Code frames: source lines with the places of a finding marked below them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from promptopt.report.style import Paint, Style, printable
from promptopt.source import Location, SourceFile

_TAB: Final = 4
_REACH: Final = 2000
"""Characters of a line that are looked at around a place: lines of minified files are longer."""
_LEAD: Final = 24
"""Columns kept ahead of a place when its line has to be cut."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to show and what to say about it."""

    location: Location
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Cut:
    """One line as it is printed: its text and the columns of the mark."""

    text: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Draws marks; places in files other than `main` are headed by the file's path."""

    sources: Mapping[str, SourceFile]
    style: Style
    paint: Paint
    main: str

    def lines(self, marks: Iterable[Mark]) -> Iterator[str]:
        """The frame's lines; marks in files that were not read are left out."""
        known = [mark for mark in marks if mark.location.path in self.sources]
        numbered = [(mark, self._row(mark)) for mark in known]
        gutter = max(5, len(str(max((row for _, row in numbered), default=0))))
        current = self.main
        for path, group in groupby(numbered, key=lambda entry: entry[0].location.path):
            if path != current:
                yield f"{'':{gutter}} {self.paint.dim('in')} {printable(path)}"
            current = path
            last = 0
            for mark, row in group:
                if last and row not in (last, last + 1):
                    yield f"{'..':>{gutter}}"
                yield from self._marked_line(mark, row, gutter, repeated=row == last)
                last = row

    def _row(self, mark: Mark) -> int:
        return self.sources[mark.location.path].position(mark.location.span.start).row

    def _marked_line(self, mark: Mark, row: int, gutter: int, *, repeated: bool) -> Iterator[str]:
        room = max(20, self.style.width - gutter - 3)
        cut = _cut(self.sources[mark.location.path], mark, row, room, self.style.ellipsis)
        bar = self.paint.dim("|")
        if not repeated:
            yield f"{self.paint.dim(f'{row:>{gutter}}')} {bar} {cut.text}".rstrip()
        note = f"{'^' * cut.length} {printable(mark.label)}".rstrip()
        yield f"{'':{gutter}} {bar} {' ' * cut.start}{self.paint.mark(note)}"


def _cut(source: SourceFile, mark: Mark, row: int, room: int, ellipsis: str) -> _Cut:
    """The line of a mark, cut to `room` columns around it."""
    line = source.line(row)
    line_start = source.line_starts()[row - 1]
    start = min(mark.location.span.start - line_start, len(line))
    end = min(max(mark.location.span.end - line_start, start), len(line))
    first = max(0, start - _REACH)
    cells = [_cell(character) for character in line[first : start + _REACH]]
    widths = [_width(cell) for cell in cells]
    before, marked = sum(widths[: start - first]), sum(widths[start - first : end - first])
    if not first and sum(widths) <= room and len(line) <= _REACH:
        return _Cut("".join(cells).rstrip(), before, max(1, marked))
    # Cutting starts at a cell, so that a wide character is never halved.
    skipped = start - first
    kept = 0
    while skipped and kept + widths[skipped - 1] <= _LEAD:
        skipped -= 1
        kept += widths[skipped]
    left = ellipsis if first or skipped else ""
    inner = room - len(left) - len(ellipsis)
    taken, used = skipped, 0
    while taken < len(cells) and used + widths[taken] <= inner:
        used += widths[taken]
        taken += 1
    right = ellipsis if first + taken < len(line) else ""
    text = left + "".join(cells[skipped:taken]) + right
    return _Cut(text, len(left) + kept, max(1, min(marked, inner - kept)))


def _cell(character: str) -> str:
    """What is printed for one character of source."""
    return " " * _TAB if character == "\t" else printable(character)


def _width(cell: str) -> int:
    """Columns of a cell: none for combining characters, two for wide ones."""
    if len(cell) != 1:
        return len(cell)
    if unicodedata.combining(cell) or unicodedata.category(cell) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1
