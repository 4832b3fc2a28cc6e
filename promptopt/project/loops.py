"""What loops make of values: what each round adds to a list or a text, or puts in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from promptopt.project import conditions
from promptopt.project.iteration import can_unroll, either_side, is_record
from promptopt.project.values import (
    Again,
    AgainItems,
    Either,
    EitherItems,
    Grown,
    Hole,
    Item,
    Items,
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
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Loop, Thunk
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression

MAX_ADDED: Final = 200
"""Items or pieces that a loop computed element by element may add."""


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
        if isinstance(over, Sequence) and can_unroll(over):
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
        return self.ev.thunk(self.after, self._round(before, element))

    def _round(self, before: Value, element: Value) -> Frame:
        return self.frame.fork({self.head: before, id(self.loop.each): element}, self.loop.first)

    def _sorted_by(self, element: Value) -> set[str]:
        """Tests, as they are written, that sort an element to one side or another and cannot be decided."""
        if not is_record(element):
            return set()
        frame = self._round(self.first, element)
        return {
            self.ev.text(self.ev.place(test, frame))
            for test, position in _tests(self.after)
            if conditions.sorts(self.ev, test, frame, position)
        }

    def _items(self, items: Items, *, each: bool = False) -> Items | None:
        """What items add; `each` says that they stand for the turns of a conversation, of every kind."""
        result: list[Item] = []
        for item in items:
            added = self._of(item, each=each)
            if added is None or len(result) + len(added) > MAX_ADDED:
                return None
            result.extend(added)
        return tuple(result)

    def _of(self, item: Item, *, each: bool) -> Items | None:
        if isinstance(item, EitherItems):
            runs = [self._items(run, each=each) for run in item.alternatives]
            return None if None in runs else (EitherItems(item.condition, tuple(run or () for run in runs)),)
        if isinstance(item, AgainItems):
            inner = self._items(item.items, each=True)
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
        return self._added(item, each=each)

    def _added(self, element: Value, *, each: bool = False) -> tuple[Any, ...] | None:
        last = self._after(self.first, element)
        if isinstance(self.first, Sequence) and isinstance(last, Sequence):
            head = _common(self.first.items, last.items)
            added = last.items[head:] if head == len(self.first.items) else None
            return added and (added if each else _parted(added, self._sorted_by(element)))
        if isinstance(self.first, TextValue) and isinstance(last, TextValue):
            head = _common(self.first.pieces, last.pieces)
            pieces = last.pieces[head:] if head == len(self.first.pieces) else None
            return pieces and _parted_text(pieces, self._sorted_by(element))
        return None


def _tests(thunk: Thunk) -> Iterator[tuple[Expression, int]]:
    """The tests that a round's value depends on, with their positions."""
    stack, seen = [thunk], set()
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen or one[0] not in ("join", "mutate"):
            continue
        seen.add(id(one))
        if one[0] == "join":
            if one[1] is not None:
                yield one[1], one[2]
            stack += one[3:5]
        else:
            stack.append(one[1])


def _parted(items: Items, tests: set[str]) -> Items:
    """Items without what the tests sort to this side or another."""
    if not tests:
        return items
    return tuple(
        one._replace(
            alternatives=tuple(either_side(run) if one.condition in tests else _parted(run, tests) for run in one[1])
        )
        if isinstance(one, EitherItems)
        else one
        for one in items
    )


def _parted_text(pieces: Pieces, tests: set[str]) -> Pieces:
    """Pieces of text, likewise."""
    if not tests:
        return pieces
    return tuple(
        one._replace(alternatives=tuple(_unknown_text(run, one.condition in tests, tests) for run in one.alternatives))
        if isinstance(one, Either)
        else one
        for one in pieces
    )


def _unknown_text(run: Pieces, is_sorted: bool, tests: set[str]) -> Pieces:  # noqa: FBT001
    return (Hole(Unknown("sorted"), None),) if run and is_sorted else _parted_text(run, tests)


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
