"""Comments that silence findings: `# promptopt: ignore[PO101]` and `# promptopt: ignore-file[...]`.

An ignore covers the logical statement that it stands on the first or last line of, or alone on the
line before. Comments are found with `tokenize`, so that text inside strings never counts. In templates
they are written `{#- promptopt: ignore[PO101] -#}`; there a statement is a line, with the tags that reach into it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from promptopt.source import Location, SourceFile, Span

_DIRECTIVE: Final = re.compile(r"#\s*promptopt:\s*(ignore-file|ignore)(?![\w-])\s*(?:\[([^\]#]*)\]?)?")
_IN_TEMPLATE: Final = re.compile(
    r"\{#[-+]?\s*promptopt:\s*(ignore-file|ignore)(?![\w-])\s*(?:\[([^\]#]*)\]?)?[^#]*?#\}"
)
_OPENING: Final = re.compile(r"\{[{%#]")
_CLOSING: Final = re.compile(r"[}%#]\}")
_LAYOUT: Final = frozenset(
    (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)
)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One ignore comment.

    `location` is the comment, `covers` the statement it silences (of an `ignore-file`: the whole
    file). `words` are codes and names as written; empty means every rule.
    """

    location: Location
    covers: Span
    words: tuple[str, ...]
    whole_file: bool = False

    def silences(self, code: str, name: str) -> bool:
        """Whether the comment speaks of that rule."""
        return not self.words or code in self.words or name in self.words

    def reaches(self, place: Location) -> bool:
        """Whether `place` begins in what the comment covers."""
        return place.path == self.location.path and self.covers.start <= place.span.start <= self.covers.end


def read_suppressions(source: SourceFile) -> tuple[Suppression, ...]:
    """The ignore comments of a Python file or a template in order; none where Python cannot be tokenized."""
    if "promptopt:" not in source.text:
        return ()
    if not source.path.endswith((".py", ".pyi")):
        return tuple(_of_template(source))
    try:
        lines = list(_logical_lines(source))
    except (tokenize.TokenError, SyntaxError):
        return ()
    found = [item for index in range(len(lines)) for item in _of_line(source, lines, index)]
    return tuple(sorted(found, key=lambda item: item.location))


def _of_template(source: SourceFile) -> Iterator[Suppression]:
    for match in _IN_TEMPLATE.finditer(source.text):
        place = Location(source.path, Span(*match.span()))
        words = _words(match[2])
        if match[1] == "ignore-file":
            yield Suppression(place, Span(0, len(source.text)), words, whole_file=True)
            continue
        first, last = source.position(match.start()).row, source.position(match.end()).row
        around = _rows(source, first, last)
        if not (source.text[around.start : match.start()] + source.text[match.end() : around.end]).strip():
            first = last = _next_row(source, last)
        yield Suppression(place, _rows(source, _opened(source, first), last), words)


def _next_row(source: SourceFile, row: int) -> int:
    """The row behind a comment that stands alone, further comments of its kind passed by."""
    rows = len(source.line_starts())
    row = min(row + 1, rows)
    while row < rows and _IN_TEMPLATE.fullmatch(source.line(row).strip()):
        row += 1
    return row


def _opened(source: SourceFile, row: int) -> int:
    """The row on which a tag begins that reaches into a row."""
    depth = 0
    while True:
        line = source.line(row)
        depth += len(_CLOSING.findall(line)) - len(_OPENING.findall(line))
        if depth <= 0 or row == 1:
            return row
        row -= 1


def _words(found: str | None) -> tuple[str, ...]:
    words = (found or "").strip()
    return tuple(re.split(r"[\s,]+", words)) if words else ()


@dataclass(frozen=True, slots=True)
class _LogicalLine:
    """Rows of a logical line (0, 0 where only comments are left), and comments as (row, span, text).

    `before` are comments alone on the lines directly before it.
    """

    first: int
    last: int
    decorator: bool
    before: tuple[tuple[int, Span, str], ...]
    within: tuple[tuple[int, Span, str], ...]


def _logical_lines(source: SourceFile) -> Iterator[_LogicalLine]:
    first = last = 0
    decorator = False
    before: list[tuple[int, Span, str]] = []
    within: list[tuple[int, Span, str]] = []
    for token in _tokens(source):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            start = source.offset(row, column + 1)
            (within if first else before).append((row, Span(start, start + len(token.string)), token.string))
        elif token.type == tokenize.NEWLINE:
            yield _LogicalLine(first, last, decorator, tuple(before), tuple(within))
            first = last = 0
            before, within = [], []
        elif token.type not in _LAYOUT:
            decorator = token.string == "@" if not first else decorator
            first, last = first or token.start[0], token.end[0]
    yield _LogicalLine(0, 0, False, tuple(before), tuple(within))  # noqa: FBT003 (fields in order)


def _tokens(source: SourceFile) -> Iterator[tokenize.TokenInfo]:
    """Tokens with rows and columns of the file; every line end is read as `\\n`, as Python does."""
    rows = len(source.line_starts())
    text = "".join(source.line(row) + "\n" for row in range(1, rows + 1))
    return tokenize.generate_tokens(io.StringIO(text, newline="\n").readline)


def _of_line(source: SourceFile, lines: list[_LogicalLine], index: int) -> Iterator[Suppression]:
    line = lines[index]
    first, last = _statement(lines, index)
    for row, span, text in (*line.before, *line.within):
        for match in _DIRECTIVE.finditer(text):
            place = Location(source.path, Span(span.start + match.start(), span.start + match.end()))
            words = _words(match[2])
            if match[1] == "ignore-file":
                yield Suppression(place, Span(0, len(source.text)), words, whole_file=True)
                continue
            attached = row in (line.first, line.last) or (row < line.first and _adjacent(line, row))
            yield Suppression(place, _rows(source, first, last) if attached else Span(span.start, span.start), words)


def _statement(lines: list[_LogicalLine], index: int) -> tuple[int, int]:
    """First and last row of a statement: decorators belong to the definition that they adorn."""
    start = end = index
    while start and lines[start - 1].decorator:
        start -= 1
    while lines[end].decorator and end + 1 < len(lines) and lines[end + 1].first:
        end += 1
    return lines[start].first, lines[end].last


def _adjacent(line: _LogicalLine, row: int) -> bool:
    """Whether only further comments stand between the comment on `row` and the statement."""
    return {other for other, _, _ in line.before if other >= row} == set(range(row, line.first))


def _rows(source: SourceFile, first: int, last: int) -> Span:
    starts = source.line_starts()
    return Span(starts[first - 1], starts[last - 1] + len(source.line(last)))


@dataclass(frozen=True, slots=True)
class SuppressionUse:
    """What an ignore comment turned out to do in a run.

    `unused` are its words that silenced nothing although their rules ran, `unknown` those that name
    no rule. `idle` says that a comment without words silenced nothing. `removal` is the place to
    delete so that the comment is gone: its whole line where it stands alone.
    """

    suppression: Suppression
    unused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    idle: bool = False
    removal: Location | None = None


def removal_of(suppression: Suppression, source: SourceFile) -> Location | None:
    """The place to delete so that the comment is gone; None where another comment follows it."""
    span = suppression.location.span
    row = source.position(span.start).row
    start = source.line_starts()[row - 1]
    end = start + len(source.line(row))
    if source.text[span.end : end].strip():
        return None
    before = source.text[start : span.start]
    if before.strip():
        return Location(suppression.location.path, Span(start + len(before.rstrip()), end))
    starts = source.line_starts()
    return Location(suppression.location.path, Span(start, starts[row] if row < len(starts) else end))
