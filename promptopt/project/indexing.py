"""Items and slices of lists, mappings and texts, and the union of two of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from promptopt.project import strings
from promptopt.project.iteration import element, known_items
from promptopt.project.members import kept_under, named_member, narrowed, printed_day
from promptopt.project.values import (
    Alternatives,
    ClassValue,
    Derived,
    EitherItems,
    External,
    Function,
    Grown,
    Hole,
    Item,
    MapValue,
    Member,
    Pipe,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Volatile,
    alternatives,
    constant_key,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator

MAX_DISPATCH: Final = 16
"""Entries of a mapping of which one is looked up by a key that is not known."""


def item(ev: Evaluator, base: Value, key: Value, place: Place | None) -> Value:
    """`base[key]`."""
    name = constant_key(key)
    if isinstance(base, MapValue):
        return _map_item(ev, base, name, key, place)
    if isinstance(base, Sequence) and isinstance(name, int):
        found = _sequence_item(base, name, ev.text(place))
        return found if found is not None else element(ev, base, place)
    if isinstance(base, Alternatives):
        return base.reached(lambda one: item(ev, one, key, place))
    if isinstance(base, Volatile) and isinstance(name, str):
        return narrowed(ev, base, name, place)
    if isinstance(base, (Volatile, External, ClassValue, Function, TextValue)):
        return base if not isinstance(base, TextValue) else Derived("index", (base, key), place)
    if isinstance(base, Derived) and base.how in ("item", "entry") and isinstance(name, str):
        return Derived("item", tuple(item(ev, one, key, place) for one in base.inputs), place)
    if isinstance(base, Grown):
        return Member(base, "", "item", place)
    if isinstance(name, str):
        return named_member(ev, base, name, "item", place)
    found = kept_under(ev, base, (key,), place) if name is ... else None
    return found or Member(base, "" if name is ... else str(name), "item", place)


def _map_item(ev: Evaluator, base: MapValue, name: object, key: Value, place: Place | None) -> Value:
    if name is not ... and name in base.entries:
        return base.entries[name]
    if name is ...:
        values = tuple(base.entries.values())
        if values and len(values) <= MAX_DISPATCH and not base.rest:
            return alternatives(ev.text(place), values, limit=MAX_DISPATCH)
        # which entry is chosen changes with the key, but not what the entries say
        return Derived("item", (*values[:6], *base.rest), place)
    return Member(base.rest[0], str(name), "item", place) if base.rest else Unknown("key", name=str(name))


def _sequence_item(base: Sequence, index: int, label: str) -> Value | None:
    """The element at an index; None where what stands before it is not known to the element."""
    if base.order is not None:
        return None
    backwards = index < 0
    ways = _at(base.items[::-1] if backwards else base.items, -1 - index if backwards else index, backwards=backwards)
    found = list(islice(ways, MAX_DISPATCH + 1))
    known = tuple(one for one in found if one is not None)
    if not known or len(found) > MAX_DISPATCH or len(known) < len(found):
        return None
    return alternatives(label, known)


def _at(items: tuple[Item, ...], index: int, *, backwards: bool) -> Iterator[Value | None]:
    """What may stand `index` elements on: one value for each way through the choices; a way that ends early has
    none, and one that meets items of unknown number gives None."""
    for place, one in enumerate(items):
        if isinstance(one, EitherItems):
            for run in one.alternatives:
                yield from _at(((run[::-1] if backwards else run) + items[place + 1 :]), index, backwards=backwards)
            return
        if not isinstance(one, Value):
            yield None
            return
        if index == 0:
            yield one
            return
        index -= 1


def cut(ev: Evaluator, base: Value, bounds: tuple[Value | None, ...], place: Place | None) -> Value:
    """`base[lo:hi:step]`."""
    keys = tuple(None if one is None else constant_key(one) for one in bounds)
    how = "window" if _is_window(keys) else "slice"
    stamp = _sole(base)
    if stamp is not None and keys[0] in (None, 0) and isinstance(keys[1], int) and keys[1] > 0:
        return printed_day(ev, stamp, keys[1], place)
    if isinstance(base, Sequence):
        items = known_items(base)
        if items is not None and all(key is None or isinstance(key, int) for key in keys):
            return Sequence(base.kind, tuple(items[slice(*keys)]), None, base.place)
        if keys == (None, None, None):
            return base
        kept = (base.items[0],) if keys[0] in (None, 0) and base.items and isinstance(base.items[0], Value) else ()
        rest = Sequence(base.kind, base.items[len(kept) :], base.order, base.place)
        return Sequence(base.kind, (*kept, Splice(Member(rest, "", how, place), place)), base.order, base.place)
    if isinstance(base, TextValue):
        whole = plain(base)
        if whole is not None and all(key is None or isinstance(key, int) for key in keys):
            return literal(whole[slice(*keys)], place)
        if keys[0] in (None, 0) and len(keys) > 1 and keys[1] is not None and keys[2:] in ((), (None,)):
            return strings.shortened(base, keys[1] if isinstance(keys[1], int) else None)
        return Derived("slice", (base,), place)
    if isinstance(base, Alternatives):
        return base.reached(lambda one: cut(ev, one, bounds, place))
    listed = isinstance(base, Volatile) and base.kind == "conversation-history" and how == "window"
    if (isinstance(base, Volatile) and not listed) or (isinstance(base, Derived) and base.how == "tokens"):
        return base
    return Member(base, "", how, place)


def _is_window(keys: tuple[object, ...]) -> bool:
    """Whether a slice keeps the last elements, however many there are: `[-10:]`, `[-n:]`, `[len(items) - n:]`."""
    low, high = keys[:2]
    return high is None and (low is ... or (isinstance(low, int) and low < 0))


def _sole(value: Value) -> Volatile | None:
    """The volatile value that a text consists of."""
    if isinstance(value, TextValue) and len(value.pieces) == 1 and isinstance(value.pieces[0], Hole):
        value = value.pieces[0].value
    return value if isinstance(value, Volatile) else None


def union(ev: Evaluator, left: Value, right: Value, place: Place) -> Value:
    """`left | right`: mappings merged, sets united, runnables composed."""
    if isinstance(left, MapValue) and isinstance(right, MapValue) and not ev.world.runnable(right):
        return MapValue({**left.entries, **right.entries}, (*left.rest, *right.rest), left.place)
    sides = [side for side in (left, right) if isinstance(side, Sequence) and side.kind == "set"]
    if sides:
        items = tuple(
            one
            for side in (left, right)
            for one in (side.items if isinstance(side, Sequence) else (Splice(side, place),))
        )
        return Sequence("set", items, sides[0].order or ev.volatile("set-order", place, None), place)
    return Pipe((*_steps(left), *_steps(right)))


def _steps(value: Value) -> tuple[Value, ...]:
    return value.steps if isinstance(value, Pipe) else (value,)
