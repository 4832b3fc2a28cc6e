"""JSON in format strings, whose braces are read as replacement fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from promptopt.project.strings import fields
from promptopt.project.values import Literal, Place, TextValue, Value

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator

_JSON: Final = re.compile(r"\{\s*(?:\"[^\"{}\n]*\"|'[^'{}\n]*')\s*:")
_FIELD: Final = re.compile(r"\{\w+\}")
_BRACE: Final = re.compile(r"[{}]")


def note(template: Value, ev: Evaluator) -> None:
    """Note JSON whose braces a format string reads as fields."""
    for piece in template.pieces if isinstance(template, TextValue) and not ev.choosing else ():
        if isinstance(piece, Literal) and _JSON.search(piece.value):
            for start, end in _objects(piece.value):
                where = ev.locate(piece, start, end)
                if where is not None:
                    ev.world.braced[where] = tuple(_braces(piece, start, end, ev))


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where objects of JSON stand whose braces are not doubled, those inside others left out."""
    done = 0
    for literal, start, field, field_start, _ in fields(text):
        found = [start + match.start() for match in _JSON.finditer(literal)]
        if field is not None and _JSON.match(f"{{{field}"):
            found.append(field_start)
        for first in found:
            if first >= done:
                done = _closed(text, first)
                yield first, done


def _closed(text: str, start: int) -> int:
    """The end of the object that starts there; of its first brace where it is not closed."""
    depth = 0
    for match in _BRACE.finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return start + 1


def _braces(piece: Literal, start: int, end: int, ev: Evaluator) -> Iterator[Place]:
    """The braces of a JSON object, but for those of fields inside it."""
    inner = [(match.start() + start, match.end() + start) for match in _FIELD.finditer(piece.value[start:end])]
    for offset in range(start, end):
        if piece.value[offset] in "{}" and not any(first <= offset < last for first, last in inner):
            place = ev.locate(piece, offset, offset + 1)
            if place is not None:
                yield place
