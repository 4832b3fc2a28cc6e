"""Elements of sequences: spreading, unpacking, comprehensions, and what loops add to lists and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from promptopt.project import conditions
from promptopt.project.values import (
    Again,
    AgainItems,
    Alternatives,
    CallResult,
    Constant,
    Derived,
    Either,
    EitherItems,
    Grown,
    Hole,
    Instance,
    Item,
    Items,
    MapValue,
    Member,
    Parameter,
    Piece,
    Pieces,
    Place,
    Sequence,
    Splice,
    TextValue,
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
    from promptopt.project.flow import Loop, Thunk
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression

MAX_UNROLLED: Final = 40
"""Elements of a known sequence that a comprehension or loop is computed for one by one."""

MAX_RUNS: Final = 6
"""Lists that a list with choices is taken apart into."""

_RECORDS: Final = (MapValue, CallResult, Instance)
"""Elements that are told apart by what they hold, such as messages by their role: one of them is not any of them."""

MAX_ADDED: Final = 200
"""Items or pieces that a loop computed element by element may add."""


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


def _can_unroll(over: Sequence) -> bool:
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
    return Member(value, "", "element", place)


def _flat(items: Items) -> list[Item]:
    result: list[Item] = []
    for item in items:
        if isinstance(item, EitherItems):
            for run in item.alternatives:
                result.extend(_flat(run))
        elif isinstance(item, AgainItems):
            result.extend(_flat(item.items))
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
    if items is None and isinstance(over, Sequence) and _can_unroll(over):
        made = comprised.items(over.items)
    else:
        made = comprised.items(tuple(items) if items is not None else (Splice(over, comprised.place),))
    return made, order or comprised.order


def picked(ev: Evaluator, value: Value, passes: Callable[[Value], bool | None], place: Place) -> Items:
    """The elements of a value that pass a test."""
    items = value.items if isinstance(value, Sequence) and _can_unroll(value) else (Splice(value, place),)
    return _each_of(ev, items, lambda one: (passes(one), (one,)), "", place)


def _each_of(ev: Evaluator, items: Items, made: _Made, variable: str, place: Place) -> Items:
    """What items become, where `made` tells of an element whether it is kept and what becomes of it."""

    def of(item: Item) -> Items:
        if isinstance(item, EitherItems):
            return (item._replace(alternatives=tuple(of_all(run) for run in item.alternatives)),)
        if isinstance(item, AgainItems):
            return (item._replace(items=of_all(item.items)),)
        if isinstance(item, Splice):
            return repeated(item)
        kept, run = made(item)
        return run if kept else () if kept is False else (EitherItems("filter", (run, ())),)

    def of_all(run: Items) -> Items:
        return tuple(one for item in run for one in of(item))

    def repeated(item: Splice) -> Items:
        where = item.place or place
        kept, run = made(element(ev, item.value, where))
        # what passes a test that cannot be decided may be the same elements every time
        over = item.value if kept else Unknown("filter", (item.value,))
        return () if kept is False else (AgainItems(variable, over, ev.text(where), run),)

    return of_all(items)


_Made: TypeAlias = Callable[[Value], tuple[bool | None, Items]]


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

    def _round(self, value: Value) -> tuple[bool | None, Items]:
        """Whether an element passes the tests, and what the body makes of it."""
        frame = _bound(self.ev, self.target, value, self.frame)
        kept = _kept(self.ev, self.tests, frame, self.position)
        if kept is False:
            return kept, ()
        run, order = _generate(self.ev, self.body, self.inner, frame, self.position)
        self.order = self.order or order
        return kept, run


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


def loop_head(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    """A name as a loop's body sees it: its value before, and what earlier rounds added to it."""
    _, before, after, loop = thunk
    first = ev.thunk(before, frame)
    if after is None:
        return first
    last = ev.thunk(after, frame.fork({id(thunk): first}, loop.first))
    return fused(ev, first, last, loop, frame, grows=True)


def loop_exit(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    """A name after a loop: over a known sequence, what each element adds to it."""
    _, before, after, loop, head = thunk
    first = ev.thunk(before, frame)
    if loop.each is not None:
        over = ev.evaluate(loop.iterable, frame, loop.first)
        if isinstance(over, Sequence) and not over.items:
            return first
        if isinstance(over, Sequence) and _can_unroll(over):
            unrolled = _Unrolled(ev, first, after, loop, id(head), frame).value(over)
            if unrolled is not None:
                return unrolled
    last = ev.thunk(after, frame)
    return fused(ev, first, last, loop, frame, grows=False)


class _Unrolled:
    """A loop over known elements, computed one by one."""

    def __init__(self, ev: Evaluator, first: Value, after: Thunk, loop: Loop, head: int, frame: Frame) -> None:
        self.ev = ev
        self.first = first
        self.after = after
        self.loop = loop
        self.head = head
        self.frame = frame

    def value(self, over: Sequence) -> Value | None:
        """The name's value after the loop; None where that cannot be told round by round."""
        if isinstance(self.first, Sequence):
            items = self._items(over.items)
            return None if items is None else Sequence(self.first.kind, (*self.first.items, *items), self.first.order)
        if not isinstance(self.first, TextValue):
            return self._rewritten(over)
        pieces: list[Piece] = []
        for item in over.items:
            added = self._added(item) if isinstance(item, Value) else None
            if added is None:
                return self._rewritten(over)
            pieces.extend(added)
        return TextValue((*self.first.pieces, *pieces)) if len(pieces) < MAX_ADDED else None

    def _rewritten(self, over: Sequence) -> Value | None:
        """A value that rounds make anew from the one before (`text = text.replace(name, value)`), or replace."""
        value = self.first
        for item in over.items:
            if not isinstance(item, Value) or (isinstance(value, TextValue) and len(value.pieces) > MAX_ADDED):
                return None
            value = self._after(value, item)
        return value

    def _after(self, before: Value, element: Value) -> Value:
        """What one round makes of a value."""
        heads = {self.head: before, id(self.loop.each): element}
        return self.ev.thunk(self.after, self.frame.fork(heads, self.loop.first))

    def _items(self, items: Items) -> Items | None:
        result: list[Item] = []
        for item in items:
            added = self._of(item)
            if added is None or len(result) + len(added) > MAX_ADDED:
                return None
            result.extend(added)
        return tuple(result)

    def _of(self, item: Item) -> Items | None:
        if isinstance(item, EitherItems):
            runs = [self._items(run) for run in item.alternatives]
            return None if None in runs else (EitherItems(item.condition, tuple(run or () for run in runs)),)
        if isinstance(item, AgainItems):
            inner = self._items(item.items)
            return None if inner is None else (item._replace(items=inner),)
        if isinstance(item, Splice):
            inner = self._added(Member(item.value, "", "element", item.place))
            place = Place(self.frame.scope.path, self.loop.start, self.loop.end)
            if inner is None:
                return None
            # where only some elements add something, the same ones may do so every time
            always = any(not isinstance(one, EitherItems) or sum(map(bool, one.alternatives)) > 1 for one in inner)
            over = item.value if always else Unknown("filter", (item.value,))
            return (AgainItems("", over, self.ev.text(item.place), inner, place),)
        return self._added(item)

    def _added(self, element: Value) -> tuple[Any, ...] | None:
        last = self._after(self.first, element)
        if isinstance(self.first, Sequence) and isinstance(last, Sequence):
            head = _common(self.first.items, last.items)
            return last.items[head:] if head == len(self.first.items) else None
        if isinstance(self.first, TextValue) and isinstance(last, TextValue):
            head = _common(self.first.pieces, last.pieces)
            return last.pieces[head:] if head == len(self.first.pieces) else None
        return None


def fused(ev: Evaluator, first: Value, last: Value, loop: Loop, frame: Frame, *, grows: bool) -> Value:
    """A value after any number of rounds, from what it was before and what one round makes of it."""
    if last is first:
        return first
    place = Place(frame.scope.path, loop.start, loop.end)
    over, variable, label = _iterated(ev, loop, frame)
    if isinstance(first, Sequence) and isinstance(last, Sequence):
        return _fused_items(first, last, (variable, over, label), place, grows=grows)
    if isinstance(first, TextValue) and isinstance(last, TextValue):
        head = _common(first.pieces, last.pieces)
        if head == len(first.pieces):
            added = tuple(one for one in last.pieces[head:] if not (isinstance(one, Again) and one.loop == place))
            if not added:
                return first
            if all(isinstance(piece, Either) and _filters(piece) for piece in added):
                over = Unknown("filter", (over,))
            return TextValue((*first.pieces, Again(variable, over, label, _guarded(added), place)))
        return alternatives("loop", (first, last))
    if isinstance(first, Unknown) and first.why in ("unset", "unbound", "undefined"):
        return last
    if isinstance(first, (Parameter, Member, Volatile, Unknown)):
        return first
    return alternatives("loop", (last, first))


def _guarded(pieces: Pieces) -> Pieces:
    """Pieces of a loop's body: what is added only for some elements may stand for none of those known."""
    return tuple(
        piece._replace(alternatives=tuple(_unknown(run) for run in piece.alternatives))
        if isinstance(piece, Either) and _filters(piece)
        else piece
        for piece in pieces
    )


def _filters(choice: Either) -> bool:
    """Whether a choice adds something for some elements and nothing for all others; a branch for each kind
    of element (`if` user, `elif` assistant) is no filter."""
    filled = [run for run in choice.alternatives if run]
    if len(filled) == len(choice.alternatives) or len(filled) > 1:
        return False
    return not filled or not isinstance(filled[0][0], Either) or _filters(filled[0][0])


def _unknown(pieces: Pieces) -> Pieces:
    return tuple(
        piece._replace(value=Unknown("filter", (piece.value,))) if isinstance(piece, Hole) else piece
        for piece in _guarded(pieces)
    )


def _fused_items(
    first: Sequence, last: Sequence, source: tuple[str, Value, str], place: Place, *, grows: bool
) -> Value:
    kept = _aligned(first.items, last.items)
    if kept is None:
        return alternatives("loop", (last, first))
    head = len(first.items)
    added = tuple(item for item in last.items[head:] if not (isinstance(item, AgainItems) and item.loop == place))
    # what only some elements add, the same ones may add every time
    over = source[1] if any(not _is_filter(item) for item in added) else Unknown("filter", (source[1],))
    added = tuple(_picked(item) for item in added)
    again = (AgainItems(source[0], over, source[2], added, place, grows),) if added else ()
    return Sequence(first.kind, (*kept, *again), first.order or last.order, first.place)


def _is_filter(item: Item) -> bool:
    """Whether an item is added for some elements and nothing for all others."""
    if not isinstance(item, EitherItems):
        return False
    filled = [run for run in item.alternatives if run]
    if len(filled) == len(item.alternatives) or len(filled) > 1:
        return False
    return not filled or not isinstance(filled[0][0], EitherItems) or _is_filter(filled[0][0])


def _picked(item: Item) -> Item:
    """An item of a loop's body: a part of an element that is added only for some may be that of none of those known."""
    if not isinstance(item, EitherItems) or not _is_filter(item):
        return item
    runs = (tuple(Unknown("filter", (one,)) if isinstance(one, Member) else one for one in run) for run in item[1])
    return item._replace(alternatives=tuple(runs))


def _aligned(first: Items, last: Items) -> Items | None:
    """The items of before the loop, each either as it was or as a round has replaced it; None where a
    round does more than replace elements and add some."""
    if len(last) < len(first):
        return None
    kept: list[Item] = []
    for before, after in zip(first, last, strict=False):
        if before is after or before == after:
            kept.append(before)
        elif isinstance(before, Value) and isinstance(after, Value):
            kept.append(alternatives("loop", (after, before)))
        else:
            return None
    return tuple(kept)


def _common(a: tuple[object, ...], b: tuple[object, ...]) -> int:
    count = 0
    while count < min(len(a), len(b)) and (a[count] is b[count] or a[count] == b[count]):
        count += 1
    return count


def _iterated(ev: Evaluator, loop: Loop, frame: Frame) -> tuple[Value, str, str]:
    if loop.iterable is None or loop.target is None:
        return Grown("loop", Place(frame.scope.path, loop.start, loop.end)), "", "while"
    over = ev.evaluate(loop.iterable, frame, loop.first)
    return over, ev.text(ev.place(loop.target, frame)), ev.text(ev.place(loop.iterable, frame))
