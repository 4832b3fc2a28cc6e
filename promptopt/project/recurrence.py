"""Whether an attribute that one method sets is set anew for each request that another method takes part in.

Methods of an object are called by anybody at any time. What is set in another phase, or in a branch, may stay the
same for many requests. It is set anew where the method that sets it always does so, and either reads it itself,
leads to the method that reads it, or is always called by one that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from promptopt.project.targets import holds, nested
from promptopt.project.values import (
    AgainItems,
    Alternatives,
    Derived,
    Either,
    EitherItems,
    Hole,
    Item,
    Literal,
    MapValue,
    Parameter,
    Piece,
    Place,
    ScopeRef,
    Sequence,
    Splice,
    TextValue,
    Value,
    Volatile,
    is_large,
)
from promptopt.prompt import Volatility

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Statement

MAX_HOPS: Final = 3
"""Callers of callers of a method that are looked at."""

MAX_SITES: Final = 40
"""Calls by one name that are looked at; a name that is called more often tells nothing."""

_TEXT: Final = re.compile(r"\s*(Optional\[\s*)?str(\s*\])?(\s*\|\s*None)?\s*")


class Recurrence:
    """Answers for the methods of one project; who calls whom goes by names."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        self._above: dict[ScopeRef, frozenset[ScopeRef]] = {}
        self._functions: dict[Place, ScopeRef | None] = {}
        self._lasting: dict[tuple[int, str], tuple[Value, Value]] = {}

    def forget(self) -> None:
        """Drop values."""
        self._lasting.clear()

    def lasting(self, value: Value, how: str) -> Value:
        """What a method has stored, so that it changes no more often than `how` says (see `Derived`)."""
        found = self._lasting.get((id(value), how))
        if found is None:
            found = self._lasting[id(value), how] = (value, _lasting(self.ev, value, how))
        return found[1]

    def recurs(self, read: Place, writer: ScopeRef, offsets: Iterable[int]) -> bool:
        """Whether what a method does at any of the offsets happens anew for each request that reads it at a place."""
        reader = self._function_at(read)
        if reader is None or not any(self._always(writer, offset) for offset in offsets):
            return False
        above = self._leading_to(reader)
        return writer in above or any(
            where in above and self._always(where, self.ev.scope(where).calls[call][0])
            for where, call in self._calls_of(writer)
        )

    def within(self, read: Place, writer: ScopeRef) -> bool:
        """Whether a place lies in a method itself."""
        return self._function_at(read) == writer

    def _function_at(self, place: Place) -> ScopeRef | None:
        """The innermost function around a place, out of lambdas."""
        if place not in self._functions:
            self._functions[place] = self._find_function(place)
        return self._functions[place]

    def _find_function(self, place: Place) -> ScopeRef | None:
        module = self.ev.world.modules.get(place.path)
        found = None
        for number, scope in enumerate(module.scopes if module is not None else ()):
            if scope.kind == "function" and scope.start <= place.start < scope.end:
                found = ScopeRef(place.path, number)
        return found

    def _leading_to(self, ref: ScopeRef) -> frozenset[ScopeRef]:
        """The function, those around it, and those that call one of them, in a few hops."""
        found = self._above.get(ref)
        if found is None:
            reached = dict.fromkeys(self._around(ref))
            latest = list(reached)
            for _ in range(MAX_HOPS):
                callers = (where for one in latest for where, _ in self._calls_of(one))
                latest = [one for where in callers for one in self._around(where) if one not in reached]
                reached.update(dict.fromkeys(latest))
            found = self._above[ref] = frozenset(reached)
        return found

    def _around(self, ref: ScopeRef) -> Iterator[ScopeRef]:
        at: ScopeRef | None = ref
        while at is not None:
            if self.ev.scope(at).kind == "function":
                yield at
            at = self.ev.parent(at)

    def _calls_of(self, ref: ScopeRef) -> tuple[tuple[ScopeRef, int], ...]:
        sites = self.ev.world.calls_named(self.ev.scope(ref).name.rpartition(".")[2])
        return sites if len(sites) <= MAX_SITES else ()

    def _always(self, ref: ScopeRef, offset: int) -> bool:
        """Whether a function that runs to its end takes an offset, whatever its branches decide."""
        return not _in_branch(self.ev.scope(ref).body, offset)


def _in_branch(body: tuple[Statement, ...], offset: int) -> bool:
    for statement in body:
        if statement[1] <= offset < statement[2]:
            return _in_branch_of(statement, offset)
    return False


def _in_branch_of(statement: Statement, offset: int) -> bool:
    if statement[0] == "if":
        return holds(statement[6], offset) or holds(statement[7], offset)
    if statement[0] == "try":
        body, handlers, orelse, final = statement[5:9]
        handled = any(holds(handler, offset) for _, handler in handlers)
        return handled or any(_in_branch(one, offset) for one in (body, orelse, final))
    if statement[0] == "match":
        return any(holds(case[1], offset) for case in statement[6])
    return any(_in_branch(one, offset) for one in nested(statement))


STORED: Final = {"request": Volatility.REQUEST, "session": Volatility.SESSION, "process": Volatility.PROCESS}
"""How often a clock or a random value changes that is read once for each of these and stored."""


def stored(level: Volatility, how: str) -> Volatility:
    """How often a value changes that is stored: at some time (`kept`, nobody knows how often), or once for each
    request, conversation or process, where that is rarer."""
    if how == "kept":
        return level if level < Volatility.REQUEST else Volatility.UNKNOWN
    return min(level, STORED[how]) if level is Volatility.CALL else level


def _lasting(ev: Evaluator, value: Value, how: str) -> Value:
    """The shape stays: texts, lists and mappings keep their parts, and what may be a list of messages stays itself."""
    if isinstance(value, TextValue) and not is_large(value.pieces):
        return TextValue(tuple(_piece(ev, piece, how) for piece in value.pieces))
    if isinstance(value, Sequence) and not is_large(value.items):
        return Sequence(value.kind, tuple(_item(ev, item, how) for item in value.items), value.order, value.place)
    if isinstance(value, MapValue):
        entries = {key: ev.recurrence.lasting(one, how) for key, one in value.entries.items()}
        return MapValue(entries, tuple(ev.recurrence.lasting(one, how) for one in value.rest), value.place)
    if isinstance(value, Alternatives):
        return value.over(lambda one: ev.recurrence.lasting(one, how))
    if isinstance(value, Volatile):
        return replace(value, volatility=stored(value.volatility, how))
    if isinstance(value, Derived) and value.how == "entry":
        return Derived("entry", tuple(ev.recurrence.lasting(one, how) for one in value.inputs), value.place)
    if isinstance(value, Derived) or (isinstance(value, Parameter) and _is_text(ev, value)):
        return Derived(how, (value,), value.place)
    return value


def _is_text(ev: Evaluator, parameter: Parameter) -> bool:
    """Whether a parameter holds text by its type or, without one, by its name."""
    if parameter.annotation is not None:
        return bool(_TEXT.fullmatch(parameter.annotation))
    source = ev.sources.name(parameter.name)
    return source is not None and source.volatility is Volatility.REQUEST


def _piece(ev: Evaluator, piece: Piece, how: str) -> Piece:
    if isinstance(piece, Literal):
        return piece
    if isinstance(piece, Hole):
        value = ev.recurrence.lasting(piece.value, how)
        return piece._replace(value=value if value is not piece.value else Derived(how, (value,), piece.place))
    if isinstance(piece, Either):
        runs = tuple(tuple(_piece(ev, one, how) for one in run) for run in piece.alternatives)
        return piece._replace(alternatives=runs)
    over = Derived(how, (piece.over,), piece.loop)
    return piece._replace(over=over, pieces=tuple(_piece(ev, one, how) for one in piece.pieces))


def _item(ev: Evaluator, item: Item, how: str) -> Item:
    if isinstance(item, Splice):
        return item
    if isinstance(item, EitherItems):
        runs = tuple(tuple(_item(ev, one, how) for one in run) for run in item.alternatives)
        return item._replace(alternatives=runs)
    if isinstance(item, AgainItems):
        return item._replace(items=tuple(_item(ev, one, how) for one in item.items))
    return ev.recurrence.lasting(item, how)
