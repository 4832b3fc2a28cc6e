"""What each form of definition (thunk) gives the name that it binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, conditions, iteration, jinja, loops, memo, mutation, operators
from promptopt.project.frames import END, Frame
from promptopt.project.values import (
    NONE,
    ClassValue,
    Function,
    Lazy,
    MapValue,
    Parameter,
    Place,
    ScopeRef,
    Sequence,
    Splice,
    Unknown,
    Value,
    is_none,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Thunk


def _expr_thunk(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return ev.evaluate(thunk[1], frame, thunk[2])


def _parameter(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    scope = ev.scope(frame.scope)
    fact = scope.params[thunk[1]]
    if scope.kind == "template":
        return jinja.variable(ev, frame, fact)
    bound = frame.bindings.get(fact.name)
    if bound is not None:
        return ev.force(bound)
    if thunk[1] == 0 and frame.receiver is not None:
        return frame.receiver
    default = None
    if fact.default is not None and frame.closure is not None:
        default = Lazy(fact.default, frame.closure, END)
    place = Place(frame.scope.path, fact.start, fact.end)
    if fact.kind == "args":
        return Sequence("tuple", (Splice(Parameter(frame.scope, fact.name, None, None, place), place),))
    if fact.kind == "kwargs":
        return MapValue({}, (Parameter(frame.scope, fact.name, None, None, place),), place)
    return Parameter(frame.scope, fact.name, fact.annotation, default, place)


def _join(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    _, test, position, first, second = thunk
    decided = conditions.decide(ev, test, frame, position) if test is not None else None
    made = memo.made_once(ev.scope(frame.scope), ev.flow(frame.scope), thunk)
    leaves = [leaf for leaf in (first, second) if not _stops(leaf)]
    if decided is not None:
        chosen = first if decided else second
        if not _stops(chosen):
            leaves = [chosen]
    values = [NONE if leaf is None else ev.thunk(leaf, frame) for leaf in leaves]
    if made is not None:
        values = [
            ev.recurrence.lasting(value, made.how) if leaf is made.leaf else value
            for leaf, value in zip(leaves, values, strict=True)
        ]
    if not values:
        return Unknown("unreachable")
    if test is None and len(values) > 1:
        values = [v for v in values if not _blank(v)] or values[:1]
    return operators.either(ev.text(ev.place(test, frame)) if test is not None else "", tuple(values))


def _blank(value: Value) -> bool:
    return isinstance(value, Unknown) or is_none(value)


def _stops(thunk: Thunk) -> bool:
    return thunk is not None and thunk[0] == "stop"


def _unpack(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return iteration.unpacked(ev, ev.thunk(thunk[1], frame), thunk[2], thunk[3])


def _each(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    value = ev.evaluate(thunk[1], frame, thunk[2])
    return iteration.element(ev, value, ev.place(thunk[1], frame))


def _mutate(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return mutation.mutate(ev, thunk, frame)


def _loop_head(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return loops.loop_head(ev, thunk, frame)


def _loop_exit(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return loops.loop_exit(ev, thunk, frame)


def _enter(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return classes.entered(ev, ev.evaluate(thunk[1], frame, thunk[2]))


def _import(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return ev.world.imported(frame.scope.path, thunk[1], ev)


def _definition(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return Function(ScopeRef(frame.scope.path, thunk[1]), frame)


def _class(_ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return ClassValue(ScopeRef(frame.scope.path, thunk[1]))


def _free(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return ev.free(thunk[1], frame.closure)


def _no_value(_ev: Evaluator, thunk: Thunk, _frame: Frame) -> Value:
    return NONE if thunk[0] == "none" else Unknown(thunk[0])


THUNKS: Final[Mapping[str, Callable[[Evaluator, Thunk, Frame], Value]]] = {
    "expr": _expr_thunk,
    "param": _parameter,
    "join": _join,
    "unpack": _unpack,
    "each": _each,
    "mutate": _mutate,
    "loophead": _loop_head,
    "loopexit": _loop_exit,
    "enter": _enter,
    "import": _import,
    "def": _definition,
    "class": _class,
    "free": _free,
    "none": _no_value,
    "unset": _no_value,
    "caught": _no_value,
    "stop": _no_value,
}
