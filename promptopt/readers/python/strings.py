"""Lowering of f-strings and t-strings: the scanner's places joined with the parser's values."""

from __future__ import annotations

import ast
import sys
from typing import Any, Final

from promptopt.readers.facts import Expression
from promptopt.readers.python.columns import Shift
from promptopt.readers.python.formatted import Field, Piece, scan_formatted
from promptopt.readers.python.literals import Run, ScanError, decode
from promptopt.readers.python.lowering import Lower, Lowering
from promptopt.readers.python.parse import parse_field

_PLACES_ARE_EXACT: Final = sys.version_info >= (3, 12)
_PARENTHESISED: Final = frozenset((ast.Tuple, ast.GeneratorExp))
_CONVERSIONS: Final = {114: "r", 115: "s", 97: "a"}


def _formatted(tag: str) -> Lower:
    def lower(state: Lowering, node: Any) -> Expression:
        start, end = state.span(node)
        try:
            pieces = scan_formatted(state.text, start, end)
        except ScanError:
            pieces = []
        return (tag, start, end, _assemble(state, pieces, node.values, (start, end)))

    return lower


def _assemble(
    state: Lowering, pieces: list[Piece], values: list[Any], whole: tuple[int, int]
) -> tuple[Expression, ...]:
    """Pair scanned fields with parsed ones; text between two fields is the parser's."""
    texts, fields = _split(values)
    places = [piece for piece in pieces if isinstance(piece, Field)]
    if len(places) != len(fields):
        return _unplaced(texts, len(fields), whole)
    result: list[Expression] = []
    runs: list[Run] = []
    number = 0
    for piece in pieces:
        if isinstance(piece, Run):
            runs.append(piece)
            continue
        if piece.debug_end >= 0:
            runs.append(Run(piece.value_start, piece.debug_end, raw=True, braces=False))
        _add_text(state, result, runs, texts[number])
        result.append(_field(state, piece, fields[number]))
        runs = []
        number += 1
    _add_text(state, result, runs, texts[number])
    return tuple(result)


def _split(values: list[Any]) -> tuple[list[str], list[Any]]:
    """The texts before, between and after the fields, and the fields."""
    texts: list[str] = [""]
    fields: list[Any] = []
    for value in values:
        if type(value) is ast.Constant:
            texts[-1] += str(value.value)
        else:
            fields.append(value)
            texts.append("")
    return texts, fields


def _unplaced(texts: list[str], fields: int, whole: tuple[int, int]) -> tuple[Expression, ...]:
    start, end = whole
    result: list[Expression] = []
    for number, text in enumerate(texts):
        if text:
            result.append(("lit", start, end, text))
        if number < fields:
            result.append(("unk", start, end, "field"))
    return tuple(result)


def _add_text(state: Lowering, result: list[Expression], runs: list[Run], value: str) -> None:
    if len(runs) > 1:
        decoded = [decode(state.text, run) for run in runs]
        if "".join(decoded) == value:
            result.extend(("lit", run.start, run.end, text) for run, text in zip(runs, decoded, strict=True) if text)
            return
    if value:
        start, end = (runs[0].start, runs[-1].end) if runs else (result[-1][2], result[-1][2])
        result.append(("lit", start, end, value))


def _field(state: Lowering, place: Field, node: Any) -> Expression:
    value = state.lower(node.value) if _PLACES_ARE_EXACT else _shifted(state, place, node.value)
    spec = None
    if node.format_spec is not None:
        spec = _assemble(state, place.spec or [], node.format_spec.values, (place.start, place.end))
    return ("fmt", place.start, place.end, value, _CONVERSIONS.get(node.conversion), spec)


def _shifted(state: Lowering, place: Field, node: ast.expr) -> Expression:
    """Lower a field's expression whose places in `ast` cannot be relied on.

    On one ASCII line all columns are off by the same number, which the expression's first character
    tells unless a parenthesis goes before it; everything else is parsed again where it stands.
    """
    start = place.value_start
    if type(node) is ast.Name and state.text.startswith(node.id, start):
        return ("name", start, start + len(node.id), node.id)
    code = state.text[start : place.value_end]
    first = code.lstrip(" \t\f")
    start = place.value_end - len(first)
    outer = state.origins
    plain = code.isascii() and "\n" not in code and "\r" not in code
    if plain and not first.startswith("(") and type(node) not in _PARENTHESISED:
        state.origins = Shift(start - node.col_offset)
    else:
        try:
            node, state.origins = parse_field(state.text, place.value_start, place.value_end)
        except SyntaxError:
            return ("unk", place.value_start, place.value_end, "field")
    try:
        tag, start, end, *rest = state.lower(node)
    finally:
        state.origins = outer
    return (tag, max(start, place.value_start), min(end, place.value_end), *rest)


STRINGS: Final[dict[type, Lower]] = {ast.JoinedStr: _formatted("fstr")}
if hasattr(ast, "TemplateStr"):
    STRINGS[ast.TemplateStr] = _formatted("tstr")
