"""Operators that statements and expressions share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptopt.project import strings
from promptopt.project.iteration import spliced
from promptopt.project.values import Alternatives, Constant, Derived, Place, Sequence, TextValue, Value

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
