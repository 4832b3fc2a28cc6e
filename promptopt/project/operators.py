"""Operators that statements and expressions share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptopt.project import strings
from promptopt.project.iteration import spliced
from promptopt.project.values import (
    Alternatives,
    Constant,
    Derived,
    Hole,
    Place,
    Sequence,
    TextValue,
    Value,
    Volatile,
    alternatives,
    plain,
)
from promptopt.prompt import Volatility

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression


def times(left: Value, right: Value, place: Place) -> Value:
    """`left * right`."""
    if isinstance(right, TextValue):
        left, right = right, left
    if isinstance(left, TextValue) and isinstance(right, Constant) and isinstance(right.value, int):
        return strings.repeat(left, right.value)
    return Derived("*", (left, right), place)


def add(ev: Evaluator, values: list[tuple[Value, Expression]], frame: Frame) -> Value:
    """`a + b + ...` of texts or lists; of unknown operands a value that depends on all."""
    if any(isinstance(value, Sequence) for value, _ in values):
        items = tuple(item for value, e in values for item in spliced(value, ev.place(e, frame)))
        order = next((v.order for v, _ in values if isinstance(v, Sequence) and v.order), None)
        return Sequence("list", items, order, ev.place(values[0][1], frame))
    if any(_textual(value) for value, _ in values):
        return strings.concatenate(
            strings.to_pieces(value, ev.place(e, frame), ev.text(ev.place(e, frame))) for value, e in values
        )
    return Derived("+", tuple(value for value, _ in values), ev.place(values[0][1], frame))


def _textual(value: Value) -> bool:
    return isinstance(value, TextValue) or (isinstance(value, Alternatives) and all(map(_textual, value.values)))


def either(condition: str, values: tuple[Value, ...]) -> Value:
    """One of several values that a condition chooses from.

    A random id that stands in where none was given (`session_id or uuid4()`) is made as seldom as the other is given.
    """
    ids = [_with_id_kept(value) for value in values]
    given = any(kept is value and not _is_constant(value) for kept, value in zip(ids, values, strict=True))
    return alternatives(condition, tuple(ids) if given else values)


def _is_constant(value: Value) -> bool:
    return isinstance(value, Constant) or plain(value) is not None


def _with_id_kept(value: Value) -> Value:
    """A random id, or a text with one, as what belongs to a conversation; any other value itself."""
    if isinstance(value, Volatile) and value.kind == "random-id" and value.volatility is Volatility.CALL:
        return replace(value, volatility=Volatility.SESSION)
    if isinstance(value, TextValue):
        pieces = tuple(
            piece._replace(value=_with_id_kept(piece.value)) if isinstance(piece, Hole) else piece
            for piece in value.pieces
        )
        changed = any(
            isinstance(old, Hole) and isinstance(new, Hole) and old.value is not new.value
            for old, new in zip(value.pieces, pieces, strict=True)
        )
        return TextValue(pieces) if changed else value
    return value
