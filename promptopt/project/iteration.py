"""Elements of sequences: spreading, unpacking, picking and comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from promptopt.project import conditions
from promptopt.project.values import (
    AgainItems,
    Alternatives,
    CallResult,
    Constant,
    Derived,
    EitherItems,
    Instance,
    Item,
    Items,
    MapValue,
    Member,
    Place,
    Sequence,
    Splice,
    Unknown,
    Value,
    Volatile,
    alternatives,
    constant_key,
    is_large,
    is_none,
    item_values,
    literal,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression

MAX_UNROLLED: Final = 40
"""Elements of a known sequence that a comprehension or loop is computed for one by one."""

MAX_RUNS: Final = 6
"""Lists that a list with choices is taken apart into."""

_RECORDS: Final = (MapValue, CallResult, Instance)
"""Elements that are told apart by what they hold, such as messages by their role: one of them is not any of them."""


def spliced(value: Value, place: Place | None) -> Items:
    """The items that `*value` contributes."""
    if isinstance(value, Sequence) and is_large(value.items):
        return (Splice(Unknown("bound", (value,)), place),)
    if isinstance(value, Sequence):
        return value.items if value.order is None else (Splice(value, place),)
    if isinstance(value, MapValue) and not value.rest:
        return tuple(literal(key) if isinstance(key, str) else Constant(key) for key in value.entries)
    if is_none(value):
        return ()
    if isinstance(value, Alternatives):
        return (EitherItems(value.condition, tuple(spliced(one, place) for one in value.values)),)
    return (Splice(value, place),)


def known_items(value: Value) -> list[Value] | None:
    """All elements, if each is known to be there."""
    if isinstance(value, MapValue) and not value.rest:
        return [literal(key) if isinstance(key, str) else Constant(key) for key in value.entries]
    if isinstance(value, Sequence) and value.order is None and len(value.items) <= MAX_UNROLLED:
        items = [item for item in value.items if isinstance(item, Value)]
        return items if len(items) == len(value.items) else None
    return None


def can_unroll(over: Sequence) -> bool:
    """Whether what is done for each element can be computed item by item, choices of items included."""
    return over.order is None and len(over.items) <= MAX_UNROLLED and not is_large(over.items)


def element(ev: Evaluator, value: Value, place: Place | None) -> Value:
    """One element of an iteration over `value`."""
    items = known_items(value)
    if items and not any(isinstance(item, _RECORDS) for item in items):
        return alternatives("element", tuple(items), limit=12)
    if isinstance(value, Sequence):
        found = [item for item in _flat(value.items) if isinstance(item, Value)]
        if found and value.order is None and len(found) <= 6 and not any(isinstance(one, _RECORDS) for one in found):
            return alternatives("element", tuple(found))
    if isinstance(value, Volatile):
        return value
    if isinstance(value, Alternatives) and any(isinstance(one, Sequence) for one in value.values):
        return value.over(lambda one: element(ev, one, place))
    part_of = _part_of(value)
    return element(ev, part_of, place) if part_of is not None else Member(value, "", "element", place)


def _part_of(value: Value) -> Sequence | None:
    """The list that a value is a part of: its elements are elements of that one."""
    is_part = isinstance(value, Member) and value.how in ("slice", "window")
    return value.base if is_part and isinstance(value, Member) and isinstance(value.base, Sequence) else None


def _flat(items: Items) -> list[Item]:
    result: list[Item] = []
    for item in items:
        if isinstance(item, EitherItems):
            for run in item.alternatives:
                result.extend(_flat(run))
        elif isinstance(item, AgainItems):
            result.extend(_flat(item.items))
        elif isinstance(item, Splice) and (part_of := _part_of(item.value)) is not None:
            result.extend(_flat(part_of.items))
        elif isinstance(item, Splice):
            result.append(Member(item.value, "", "element", item.place))
        else:
            result.append(item)
    return result


def unpacked(ev: Evaluator, value: Value, index: int, starred: int | None) -> Value:
    """Target `index` of `a, b = value`; `starred` targets take all but `starred` later ones."""
    if isinstance(value, Sequence) and all(isinstance(item, Value) for item in value.items):
        if starred is not None:
            stop = len(value.items) - starred
            return Sequence("list", value.items[index:stop], value.order, value.place)
        if -len(value.items) <= index < len(value.items):
            item = value.items[index]
            return item if isinstance(item, Value) else Unknown("unpack")
    if isinstance(value, Sequence) and value.order is None:
        runs = _runs(value.items)
        if runs is not None and len(runs) > 1:
            sides = (unpacked(ev, Sequence(value.kind, run, None, value.place), index, starred) for run in runs)
            return alternatives("unpack", tuple(sides))
    if isinstance(value, Alternatives):
        return alternatives(value.condition, tuple(unpacked(ev, one, index, starred) for one in value.values))
    if isinstance(value, Volatile):
        return value
    return Member(value, str(index), "slice" if starred is not None else "item")


def _runs(items: Items) -> list[Items] | None:
    """Each list that items with choices among them may be; None where there are too many."""
    runs: list[Items] = [()]
    for item in items:
        inner: list[Items] = [(item,)]
        if isinstance(item, EitherItems):
            inner = [run for option in item.alternatives for run in _runs(option) or ()]
        runs = [(*run, *option) for run in runs for option in inner]
        if len(runs) > MAX_RUNS or not inner:
            return None
    return runs


def comprehension(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """A list, set, dict or generator comprehension."""
    _, _, _, kind, body, key, generators = e
    items, order = _generate(ev, (body, key), generators, frame, position)
    if kind == "dict":
        return _mapped(items, ev.place(e, frame))
    if kind == "set" and order is None and (len(items) > 1 or not all(isinstance(i, Value) for i in items)):
        order = ev.volatile("set-order", ev.place(e, frame), frame)
    return Sequence("set" if kind == "set" else "list", items, order, ev.place(e, frame))


def _mapped(items: Items, place: Place) -> MapValue:
    """A mapping of pairs; one entry for all of them where they or their keys are not known."""
    entries: dict[object, Value] = {}
    for pair in items:
        key, value = pair.items if isinstance(pair, Sequence) else (None, None)
        name = constant_key(key) if isinstance(key, Value) else ...
        if name is ... or not isinstance(value, Value):
            return MapValue({}, (Derived("dict", tuple(item_values(items))),), place)
        entries[name] = value
    return MapValue(entries, (), place)


def _generate(
    ev: Evaluator,
    body: tuple[Expression, Expression | None],
    generators: tuple[tuple[Expression, Expression, tuple[Expression, ...]], ...],
    frame: Frame,
    position: int,
) -> tuple[Items, Volatile | None]:
    if not generators:
        value = ev.evaluate(body[0], frame, position)
        if body[1] is None:
            return (value,), None
        return (Sequence("tuple", (ev.evaluate(body[1], frame, position), value)),), None
    comprised = _Comprised(ev, body, generators, frame, position)
    over = ev.evaluate(generators[0][1], frame, position)
    order = over.order if isinstance(over, Sequence) else None
    items = known_items(over)
    if items is None and isinstance(over, Sequence) and can_unroll(over):
        made = comprised.items(over.items)
    else:
        made = comprised.items(tuple(items) if items is not None else (Splice(over, comprised.place),))
    return made, order or comprised.order


def picked(ev: Evaluator, value: Value, passes: Callable[[Value], bool | None], place: Place) -> Items:
    """The elements of a value that pass a test."""
    items = value.items if isinstance(value, Sequence) and can_unroll(value) else (Splice(value, place),)

    def made(one: Value, each: bool) -> tuple[bool | None, Items]:  # noqa: FBT001
        kept = passes(one)
        return kept, either_side((one,)) if kept is None and is_record(one) and not each else (one,)

    return _each_of(ev, items, made, "", place)


def _each_of(ev: Evaluator, items: Items, made: _Made, variable: str, place: Place) -> Items:
    """What items become, where `made` tells of an element whether it is kept and what becomes of it; it is told
    whether the element stands for each of many, such as the turns of a conversation."""

    def of(item: Item, each: bool) -> Items:  # noqa: FBT001
        if isinstance(item, EitherItems):
            return (item._replace(alternatives=tuple(of_all(run, each) for run in item.alternatives)),)
        if isinstance(item, AgainItems):
            return (item._replace(items=of_all(item.items, True)),)  # noqa: FBT003
        if isinstance(item, Splice):
            return repeated(item)
        kept, run = made(item, each)
        return run if kept else () if kept is False else (EitherItems("filter", (run, ())),)

    def of_all(run: Items, each: bool) -> Items:  # noqa: FBT001
        return tuple(one for item in run for one in of(item, each))

    def repeated(item: Splice) -> Items:
        where = item.place or place
        kept, run = made(element(ev, item.value, where), True)  # noqa: FBT003
        # what passes a test that cannot be decided may be the same elements every time
        over = item.value if kept else Unknown("filter", (item.value,))
        return () if kept is False else (AgainItems(variable, over, ev.text(where), run),)

    return of_all(items, False)  # noqa: FBT003


_Made: TypeAlias = Callable[[Value, bool], tuple[bool | None, Items]]


class _Comprised:
    """The outermost `for` of a comprehension, computed item by item."""

    def __init__(
        self,
        ev: Evaluator,
        body: tuple[Expression, Expression | None],
        generators: tuple[tuple[Expression, Expression, tuple[Expression, ...]], ...],
        frame: Frame,
        position: int,
    ) -> None:
        self.ev = ev
        self.body = body
        (self.target, iterable, self.tests), *inner = generators
        self.inner = tuple(inner)
        self.frame = frame
        self.position = position
        self.place = ev.place(iterable, frame)
        self.order: Volatile | None = None

    def items(self, items: Items) -> Items:
        """What the items of the iterable become."""
        return _each_of(self.ev, items, self._round, self.ev.text(self.ev.place(self.target, self.frame)), self.place)

    def _round(self, value: Value, each: bool) -> tuple[bool | None, Items]:  # noqa: FBT001
        """Whether an element passes the tests, and what the body makes of it."""
        frame = _bound(self.ev, self.target, value, self.frame)
        kept = _kept(self.ev, self.tests, frame, self.position)
        if kept is False:
            return kept, ()
        run, order = _generate(self.ev, self.body, self.inner, frame, self.position)
        self.order = self.order or order
        if kept is None and not each and is_record(value) and any(self._sorts(test, frame) for test in self.tests):
            run = either_side(run)
        return kept, run

    def _sorts(self, test: Expression, frame: Frame) -> bool:
        return conditions.sorts(self.ev, test, frame, self.position)


def _kept(ev: Evaluator, tests: tuple[Expression, ...], frame: Frame, position: int) -> bool | None:
    answers = [conditions.decide(ev, test, frame, position) for test in tests]
    return False if False in answers else None if None in answers else True


def _bound(ev: Evaluator, target: Expression, value: Value, frame: Frame) -> Frame:
    """A frame of the same scope in which the comprehension's variables are bound."""
    return frame.bound(dict(_bindings(ev, target, value)))


def _bindings(ev: Evaluator, target: Expression, value: Value) -> list[tuple[str, Value]]:
    if target[0] == "name":
        return [(target[3], value)]
    if target[0] == "seq":
        return [
            pair
            for index, item in enumerate(target[4])
            for pair in _bindings(ev, item[3] if item[0] == "star" else item, unpacked(ev, value, index, None))
        ]
    return []


def is_record(value: Value) -> bool:
    """Whether a value is told apart by what it holds: a message, or a pair of a role and a text."""
    return isinstance(value, _RECORDS) or (isinstance(value, Sequence) and value.kind == "tuple")


def either_side(items: Items) -> Items:
    """What a test that cannot be decided sorts to this side or another: nothing is known of it."""
    return tuple(Unknown("sorted", place=getattr(one, "place", None)) for one in items)
