"""Code frames: source lines with the places of a finding marked below them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from promptopt.report.style import Paint, Style, printable
from promptopt.source import Location, SourceFile, Span

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
class Frame:
    """Draws marks; places in files other than `main` are headed by the file's path."""

    sources: Mapping[str, SourceFile]
    style: Style
    paint: Paint
    main: str

    def lines(self, marks: Iterable[Mark]) -> Iterator[str]:
        """The frame's lines; marks in files that were not read are left out, neighbours that say the
        same share a line."""
        known = [mark for mark in marks if mark.location.path in self.sources]
        numbered = [(mark, self._row(mark)) for mark in known]
        gutter = max(5, len(str(max((row for _, row in numbered), default=0))))
        path, last = self.main, 0
        for (file, row, label), group in groupby(
            numbered, key=lambda one: (one[0].location.path, one[1], one[0].label)
        ):
            if file != path:
                yield f"{'':{gutter}} {self.paint.dim('in')} {printable(file)}"
                last = 0
            elif last and row not in (last, last + 1):
                yield f"{'..':>{gutter}}"
            spans = [mark.location.span for mark, _ in group]
            yield from self._marked_line(file, row, spans, label, gutter)[1 if row == last else 0 :]
            path, last = file, row

    def _row(self, mark: Mark) -> int:
        return self.sources[mark.location.path].position(mark.location.span.start).row

    def _marked_line(self, path: str, row: int, spans: list[Span], label: str, gutter: int) -> list[str]:
        """The source line and the marks below it."""
        room = max(20, self.style.width - gutter - 3)
        text, carets = _cut(self.sources[path], row, spans, room, self.style.ellipsis)
        bar = self.paint.dim("|")
        indent = len(carets) - len(carets.lstrip())
        note = f"{carets[indent:]} {printable(label)}".rstrip()
        return [
            f"{self.paint.dim(f'{row:>{gutter}}')} {bar} {text}".rstrip(),
            f"{'':{gutter}} {bar} {' ' * indent}{self.paint.mark(note)}",
        ]


def _cut(source: SourceFile, row: int, spans: list[Span], room: int, ellipsis: str) -> tuple[str, str]:
    """A line, cut to `room` columns around the first of its spans, and carets below the spans."""
    line = source.line(row)
    base = source.line_starts()[row - 1]
    end = base + len(line)
    spans = [Span(min(span.start, end), min(span.end, end)) for span in spans]
    start = spans[0].start - base
    first = max(0, start - _REACH)
    cells = [_cell(character) for character in line[first : start + _REACH]] + [" "]
    widths = [_width(cell) for cell in cells]
    skipped, lead = 0, sum(widths[: start - first])
    if first or lead + _LEAD > room:
        # cutting between cells, so that a wide character is never halved
        skipped, lead = start - first, 0
        while skipped and lead + widths[skipped - 1] <= _LEAD:
            skipped -= 1
            lead += widths[skipped]
    left = ellipsis if first + skipped else ""
    taken, used = skipped, len(left)
    while taken < len(cells) and used + widths[taken] <= room:
        used += widths[taken]
        taken += 1
    right = ellipsis if first + taken < len(line) else ""
    while right and used + len(right) > room:
        taken -= 1
        used -= widths[taken]
    text = left + "".join(cells[skipped:taken]).rstrip() + right
    carets = "".join(_caret(base + first + i, spans) * widths[i] for i in range(skipped, taken))
    return text, " " * len(left) + (carets.rstrip() or "^")


def _caret(offset: int, spans: list[Span]) -> str:
    """`^` below an offset that a span holds or, being empty, stands at."""
    return "^" if any(span.start <= offset < max(span.end, span.start + 1) for span in spans) else " "


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
