"""Objects that a function makes, fills and hands on: `parts = Parts(); parts.system = ...; parts.add(...)`.

An object is followed only from where it is made, through local names, arguments and returned values, as
long as its changes can be read in order. One that is kept (an attribute, a global, `self` of a method
that somebody else calls) may have been changed by anybody; `settled` makes it so.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from promptopt.project import calls, classes, loops
from promptopt.project.frames import END
from promptopt.project.values import Alternatives, Function, Instance, Method, Place, Value, alternatives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Flow, Loop, Thunk, Touch
    from promptopt.project.frames import Frame
    from promptopt.project.values import ClassValue

MAX_TOUCHES: Final = 40
"""Method calls on one object that are carried out."""

MAX_CALLS: Final = 12
"""Calls in a method that is carried out for what it does to its object: builders are small, workers are not."""

_SAME: Final = frozenset({"mutate", "join", "loophead", "loopexit", "unset"})


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What happened to an object: attributes were assigned (`thunks`), or a method was called (`touch`).

    `names` are the attributes that it may have set. `loops` are those around it that are over for the
    reader, innermost first; `certain` says that every path to the reader takes it.
    """

    before: Instance
    frame: Frame
    names: frozenset[str]
    thunks: Mapping[str, Thunk]
    touch: Touch | None = None
    loops: tuple[Loop, ...] = ()
    certain: bool = True


FRESH: Final = "fresh"
"""State of an object that was just made."""


def current(ev: Evaluator, value: Value, name: str, frame: Frame, position: int) -> Value:
    """An object as the local name sees it at a position: with what was assigned to it and done to it."""
    if isinstance(value, Alternatives):
        return value.over(lambda one: current(ev, one, name, frame, position)) if _any_fresh(value) else value
    if not isinstance(value, Instance) or value.state is None:
        return value
    flow = ev.flow(frame.scope)
    touches, attributes = flow.touches.get(name, ()), flow.attributes.get(name, ())
    if not touches and not attributes:
        return value
    since = _made_at(ev, value, name, frame, position)
    seen = [one for one in touches if since <= one.position < position and flow.reaches(one.position, position)]
    if len(seen) > MAX_TOUCHES or _grows_around(flow, touches, since, position):
        return settled(ev, value)
    for touch in seen:
        names = _sets(ev, value.cls, touch.method)
        if names is None:
            return settled(ev, value)
        if names:
            value = _assigned(ev, value, name, attributes, frame, since, touch.position)
            value = _touched(ev, value, touch, names, frame, position)
            since = touch.position
    return _assigned(ev, value, name, attributes, frame, since, position)


def attribute(ev: Evaluator, instance: Instance, name: str) -> Value | None:
    """What an attribute of a followed object was set to since it was made; None where nothing did."""
    change = instance.state
    while isinstance(change, Change):
        if name in change.names:
            return _known(ev, change, name)
        change = change.before.state
    return None


def _known(ev: Evaluator, change: Change, name: str) -> Value:
    key = (id(change), name)
    found = ev.changes.get(key)
    if found is not None:
        return found[1]
    value = _value(ev, change, name)
    if not ev.exhausted:
        ev.changes[key] = (change, value)
    return value


def settled(ev: Evaluator, value: Value) -> Value:
    """An object that is kept: what other methods do to it counts from now on."""
    if isinstance(value, Alternatives):
        return value.over(lambda one: settled(ev, one)) if _any_fresh(value) else value
    if not isinstance(value, Instance) or value.state is None:
        return value
    found = ev.settled.get(id(value))
    if found is None:
        found = ev.settled[id(value)] = (value, replace(value, state=None))
    return found[1]


def _any_fresh(value: Alternatives) -> bool:
    return any(isinstance(one, Instance) and one.state is not None for one in value.values)


def _made_at(ev: Evaluator, value: Instance, name: str, frame: Frame, position: int) -> int:
    """Where the name was bound to the object. List methods of the same name, branches and loops around
    them define the name again without binding it to another."""
    positions, thunks = ev.flow(frame.scope).versions[name]
    index = bisect_right(positions, position) - 1
    while index > 0 and thunks[index][0] in _SAME and ev.thunk(thunks[index], frame) is value:
        index -= 1
    return positions[index] if index >= 0 else 0


def _grows_around(flow: Flow, touches: tuple[Touch, ...], since: int, position: int) -> bool:
    """Whether earlier rounds of a loop around the position did something to an object made before it."""
    loops = [(first, last) for first, last, _ in flow.loops if since < first <= position <= last]
    return any(first <= touch.position <= last for first, last in loops for touch in touches)


def _assigned(
    ev: Evaluator, value: Instance, name: str, attributes: tuple[str, ...], frame: Frame, after: int, upto: int
) -> Instance:
    """The object with the attributes that statements between two positions set."""
    flow = ev.flow(frame.scope)
    made: dict[str, Thunk] = {}
    for one in attributes:
        thunk = flow.at(f"{name}.{one}", upto)
        if thunk is not None and thunk[0] != "unset" and flow.defined_at(f"{name}.{one}", upto) > after:
            made[one] = thunk
    if not made:
        return value
    return _changed(frame, (id(value), *map(id, made.values())), Change(value, frame, frozenset(made), made))


def _touched(
    ev: Evaluator, value: Instance, touch: Touch, names: frozenset[str], frame: Frame, position: int
) -> Instance:
    """The object after a method was called on it."""
    flow = ev.flow(frame.scope)
    loops = tuple(loop for first, last, loop in flow.loops if first <= touch.position <= last < position)
    certain = flow.certain(touch.position, position)
    change = Change(value, frame, names, {}, touch, loops, certain)
    return _changed(frame, (id(value), touch.position, len(loops), certain), change)


def _changed(frame: Frame, key: tuple[object, ...], change: Change) -> Instance:
    """One object for each state, however often it is looked at."""
    found = frame.objects.get(key)
    if found is None:
        found = frame.objects[key] = replace(change.before, state=change)
    return found


def _sets(ev: Evaluator, cls: ClassValue, method: str) -> frozenset[str] | None:
    """Attributes that a method sets on its object, itself or through other methods of it; None where it
    does too much to be followed."""
    key = (cls.scope, method)
    if key not in ev.setters:
        ev.setters[key] = frozenset()
        ev.setters[key] = _find_sets(ev, cls, method)
    return ev.setters[key]


def _find_sets(ev: Evaluator, cls: ClassValue, method: str) -> frozenset[str] | None:
    found = classes.class_attribute(ev, cls, method, None, None)
    if not isinstance(found, Function) or not ev.scope(found.scope).params:
        return frozenset()
    scope, flow = ev.scope(found.scope), ev.flow(found.scope)
    name = scope.params[0].name
    names = set(flow.attributes.get(name, ()))
    for touch in flow.touches.get(name, ()):
        further = _sets(ev, cls, touch.method)
        if further is None:
            return None
        names |= further
    return None if names and (len(scope.calls) > MAX_CALLS or scope.is_generator) else frozenset(names)


def _value(ev: Evaluator, change: Change, name: str) -> Value:
    if change.touch is None:
        return ev.thunk(change.thunks[name], change.frame)
    before = classes.instance_attribute(ev, change.before, name, None)
    new = _after_call(ev, change.before, change.touch, change.frame, name)
    if new is None:
        return before
    for loop in change.loops:
        new = loops.fused(ev, before, new, loop, change.frame, grows=False)
    return new if change.certain else alternatives("branch", (new, before))


def _after_call(ev: Evaluator, value: Instance, touch: Touch, frame: Frame, name: str) -> Value | None:
    """An attribute at the end of a method of the object's class."""
    method = classes.instance_attribute(ev, value, touch.method, None)
    if not isinstance(method, Method) or not isinstance(method.function, Function):
        return None
    ref = method.function.scope
    if ev.active.get(ref, 0) > 1 or frame.depth >= calls.MAX_NESTING:
        return None
    inner = _entered(ev, method.function, value, touch, frame)
    ev.active[ref] = ev.active.get(ref, 0) + 1
    try:
        after = current(ev, value, ev.scope(ref).params[0].name, inner, END)
        return classes.instance_attribute(ev, after, name, None) if isinstance(after, Instance) else None
    finally:
        ev.active[ref] -= 1


def _entered(ev: Evaluator, function: Function, value: Instance, touch: Touch, frame: Frame) -> Frame:
    key = ("entered", id(value), touch.position)
    found = frame.frames.get(key)
    if found is None:
        fact = ev.scope(frame.scope).calls[touch.call]
        arguments = calls.arguments_of(ev, fact, frame, touch.position)
        place = Place(frame.scope.path, fact[0], fact[1])
        found = frame.frames[key] = calls.bound_frame(ev, function, arguments, value, place, frame, frame.depth + 1)
    return found
