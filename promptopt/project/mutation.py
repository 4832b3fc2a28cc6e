"""What statements do to lists, mappings and texts that already exist.

Each change makes a new value; the old one stays as it was for those who saw it earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from promptopt.project import indexing
from promptopt.project.iteration import spliced
from promptopt.project.operators import add, times
from promptopt.project.values import (
    Alternatives,
    CallResult,
    Derived,
    Hole,
    Item,
    Items,
    MapValue,
    Member,
    Parameter,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Variable,
    Volatile,
    alternatives,
    constant_key,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Thunk
    from promptopt.project.frames import Frame

_OPEN = (Unknown, Parameter, Member, Derived, Variable)


class _Change:
    """One mutation: its operands are evaluated when the change needs them."""

    def __init__(self, ev: Evaluator, thunk: Thunk, frame: Frame) -> None:
        self.ev = ev
        self.frame = frame
        self.op: str = thunk[3]
        self.operands = thunk[4]
        self.position: int = thunk[5]
        self.place = Place(frame.scope.path, *thunk[6])

    def operand(self, index: int) -> Value:
        """Operand of an operator, or argument `index - 1` of a method."""
        if index >= len(self.operands):
            return Unknown("argument")
        return self.ev.evaluate(self.operands[index], self.frame, self.position)

    def given(self, index: int) -> bool:
        """Whether the method was called with that many arguments."""
        return index < len(self.operands)

    def keywords(self) -> dict[str, Value]:
        """Keyword arguments of the method."""
        call = self.operands[0]
        facts = self.ev.scope(self.frame.scope).calls[call[3]]
        return {name: self.ev.evaluate(value, self.frame, self.position) for name, value in facts[4] if name}


def mutate(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    """The value of a `mutate` definition."""
    _, old, steps, op, operands, position, _ = thunk
    value = ev.thunk(old, frame)
    keys = [ev.evaluate(step, frame, position) for step in steps]
    if op == "setitem":
        return _inside(ev, value, keys[:-1], lambda inner: set_item(ev, inner, keys[-1], ev.thunk(operands[0], frame)))
    if op == "setall":
        return ev.thunk(operands[0], frame)
    if op == "delete":
        return _inside(ev, value, keys[:-1], lambda inner: _deleted(inner, keys[-1]))
    change = _Change(ev, thunk, frame)
    return _inside(ev, value, keys, lambda inner: _changed(change, inner))


def _inside(ev: Evaluator, value: Value, keys: list[Value], change: Callable[[Value], Value]) -> Value:
    if not keys:
        return change(value)
    if isinstance(value, Alternatives):
        return alternatives(value.condition, tuple(_inside(ev, one, keys, change) for one in value.values))
    inner = indexing.item(ev, value, keys[0], None)
    return set_item(ev, value, keys[0], _inside(ev, inner, keys[1:], change))


def set_item(ev: Evaluator, value: Value, key: Value, new: Value) -> Value:
    """`value[key] = new`."""
    name = constant_key(key)
    if isinstance(value, Alternatives):
        return alternatives(value.condition, tuple(set_item(ev, one, key, new) for one in value.values))
    if isinstance(value, MapValue):
        if name is ...:
            return MapValue(value.entries, (*value.rest, Derived("entry", (new,))), value.place)
        return MapValue({**value.entries, name: new}, value.rest, value.place)
    if isinstance(value, Sequence) and isinstance(name, int):
        return _replaced(value, name, new)
    if isinstance(value, _OPEN) and isinstance(name, str):
        return MapValue({name: new}, (value,))
    return value


def _replaced(value: Sequence, index: int, new: Value) -> Value:
    run = value.items[: index + 1] if index >= 0 else value.items[index:]
    known = len(run) == (index + 1 if index >= 0 else -index) and all(isinstance(one, Value) for one in run)
    if not known:
        return value
    items: list[Item] = list(value.items)
    items[index] = new
    return Sequence(value.kind, tuple(items), value.order, value.place)


def _deleted(value: Value, key: Value) -> Value:
    name = constant_key(key)
    if isinstance(value, MapValue) and name is not ...:
        return MapValue({k: v for k, v in value.entries.items() if k != name}, value.rest, value.place)
    if isinstance(value, Sequence) and isinstance(name, int) and name in (0, -1):
        return _without(value, name)
    return value


def _without(value: Sequence, index: int) -> Value:
    if value.items and isinstance(value.items[index], Value):
        items = value.items[1:] if index == 0 else value.items[:-1]
        return Sequence(value.kind, items, value.order, value.place)
    return value


def _changed(change: _Change, value: Value) -> Value:
    if change.op.startswith("augment"):
        return _augmented(change, value)
    if isinstance(value, Alternatives):
        return alternatives(value.condition, tuple(_changed(change, one) for one in value.values))
    if change.op == "shuffle":
        return _shuffled(change, value)
    if isinstance(value, MapValue):
        return _map_change(change, value)
    if isinstance(value, _OPEN) and change.op in ("append", "extend", "insert", "appendleft", "add"):
        value = Sequence("list", (Splice(value),), None, value.place if isinstance(value, Unknown) else None)
    if isinstance(value, Sequence):
        items = _ITEMS[change.op](change, value) if change.op in _ITEMS else value.items
        order = None if change.op == "sort" else value.order
        return Sequence(value.kind, items, order, value.place)
    return value


def _augmented(change: _Change, value: Value) -> Value:
    operator = change.op.removeprefix("augment")
    operand = change.operands[0]
    added = change.operand(0)
    if operator == "+":
        if isinstance(value, Alternatives) and all(isinstance(one, Sequence) for one in value.values):
            return alternatives(value.condition, tuple(_augmented(change, one) for one in value.values))
        if isinstance(added, TextValue):
            value = _where_it_came(change, value)
        return add(change.ev, [(value, change.operands[1]), (added, operand)], change.frame)
    if operator == "|":
        return indexing.union(change.ev, value, added, change.place)
    if operator == "*":
        return times(value, added, change.place)
    return Derived(operator, (value, added), change.place)


def _where_it_came(change: _Change, value: Value) -> Value:
    """A value that text is added to: it stands where the scope got it, not where the text is added."""
    if isinstance(value, Alternatives):
        return value.over(lambda one: _where_it_came(change, one))
    place = value.place if isinstance(value, (Unknown, Member, Derived, Volatile, CallResult)) else None
    if place is None or place.path != change.place.path:
        return value
    return TextValue((Hole(value, place, change.ev.text(place)),))


def _shuffled(change: _Change, value: Value) -> Value:
    if not isinstance(value, Sequence):
        value = Sequence("list", (Splice(value),))
    order = change.ev.volatile("random-order", change.place, change.frame)
    return Sequence(value.kind, value.items, order, value.place)


def _map_change(change: _Change, value: MapValue) -> Value:
    if change.op == "update":
        entries, rest = {**value.entries}, list(value.rest)
        if change.given(1):
            added = change.operand(1)
            if isinstance(added, MapValue):
                entries.update(added.entries)
                rest.extend(added.rest)
            else:
                rest.append(added)
        entries.update(change.keywords())
        return MapValue(entries, tuple(rest), value.place)
    if change.op == "clear":
        return MapValue({}, (), value.place)
    key = constant_key(change.operand(1)) if change.given(1) else ...
    if change.op == "setdefault" and key is not ... and key not in value.entries and change.given(2):
        return MapValue({**value.entries, key: change.operand(2)}, value.rest, value.place)
    if change.op == "pop" and key is not ...:
        return MapValue({k: v for k, v in value.entries.items() if k != key}, value.rest, value.place)
    return value


def _appended(change: _Change, value: Sequence) -> Items:
    return (*value.items, change.operand(1))


def _extended(change: _Change, value: Sequence) -> Items:
    return (*value.items, *spliced(change.operand(1), change.place))


def _prepended(change: _Change, value: Sequence) -> Items:
    return (change.operand(1), *value.items)


def _inserted(change: _Change, value: Sequence) -> Items:
    index = constant_key(change.operand(1))
    new = change.operand(2)
    run = value.items[:index] if isinstance(index, int) and index >= 0 else None
    if run is not None and all(isinstance(one, Value) for one in run):
        return (*run, new, *value.items[len(run) :])
    if index == -1 and value.items and isinstance(value.items[-1], Value):
        return (*value.items[:-1], new, value.items[-1])
    return (*value.items, new)


def _cleared(_change: _Change, _value: Sequence) -> Items:
    return ()


def _popped(change: _Change, value: Sequence) -> Items:
    first = change.op == "popleft" or (change.given(1) and constant_key(change.operand(1)) == 0)
    result = _without(value, 0 if first else -1)
    return result.items if isinstance(result, Sequence) else value.items


def _reversed(_change: _Change, value: Sequence) -> Items:
    return tuple(reversed(value.items))


def _updated(change: _Change, value: Sequence) -> Items:
    return (*value.items, *spliced(change.operand(1), change.place))


_ITEMS: Final[dict[str, Callable[[_Change, Sequence], Items]]] = {
    "append": _appended,
    "add": _appended,
    "extend": _extended,
    "update": _updated,
    "appendleft": _prepended,
    "insert": _inserted,
    "clear": _cleared,
    "pop": _popped,
    "popleft": _popped,
    "reverse": _reversed,
}
