"""Evaluation of expressions on demand.

Nothing is computed until a request, a template or a rule asks for it. Values are memoised in frames;
a value cut off by a bound is not. `fuel` limits the work for one request.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Final

from promptopt.project import closures, indexing, members, objects
from promptopt.project.definitions import THUNKS
from promptopt.project.expressions import EXPRESSIONS
from promptopt.project.flow import Flow, Thunk, flow_of
from promptopt.project.frames import END, IN_PROGRESS, Frame
from promptopt.project.recurrence import Recurrence
from promptopt.project.targets import path_of
from promptopt.project.values import (
    NONE,
    ClassValue,
    Constant,
    External,
    Instance,
    Lazy,
    Literal,
    Place,
    ScopeRef,
    Unknown,
    Value,
    Variable,
    Volatile,
    alternatives,
    is_none,
    literal,
)
from promptopt.prompt import Volatility
from promptopt.readers.packing import release
from promptopt.readers.python import literal_segments

if TYPE_CHECKING:
    from promptopt.project.world import World
    from promptopt.readers.facts import Expression, Scope

MAX_DEPTH: Final = 220
"""Nested evaluations; each takes a handful of interpreter frames."""

KEPT_STEPS: Final = 150_000
"""Evaluation steps whose values are kept in memory at most."""

KEPT_FLOWS: Final = 3_000
"""Scopes whose facts and definitions are kept in memory at most."""

FUEL: Final = 20_000
"""Evaluation steps for one request."""

PROJECT_STEPS: Final = 200_000
STEPS_PER_MODULE: Final = 400
"""Evaluation steps for a whole project: so many, and so many more for each module; about 10 microseconds each."""

_SCARCE: Final = 10
"""What is given for one purpose is divided by this when the project's steps are spent."""


class Evaluator:
    """Evaluates expressions of the project's modules."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sources = world.sources
        self.sdks = world.sdks
        self.fuel = FUEL
        self.depth = 0
        self.exhausted = False
        self.bounds_hit = 0
        self.choosing = 0
        self.spent = 0
        self._given = self._granted = FUEL
        self._steps = 0
        self._budget = PROJECT_STEPS + STEPS_PER_MODULE * len(world.modules)
        self._flows: dict[ScopeRef, Flow] = {}
        self._open: dict[ScopeRef, Frame] = {}
        self._declarations: dict[ScopeRef, tuple[str | None, bool]] = {}
        self._selves: dict[ScopeRef, Instance] = {}
        self.instance_frames: dict[tuple[int, ScopeRef], Frame] = {}
        self.instances: list[Instance] = []
        self.settled: dict[int, tuple[Value, Value]] = {}
        self.changes: dict[tuple[int, str], tuple[object, Value]] = {}
        self.singles: dict[ScopeRef, bool] = {}
        self.setters: dict[tuple[ScopeRef, str], frozenset[str] | None] = {}
        self.active: dict[ScopeRef, int] = {}
        self.recurrence = Recurrence(self)

    def refuel(self, amount: int = FUEL) -> None:
        """Start the work for another request."""
        self._account()
        self.fuel = self._given = self._granted = self.allowed(amount)
        self.exhausted = False

    def allowed(self, steps: int) -> int:
        """So many steps, or few where the project has taken more than its share: what is left is then looked at
        briefly, and unknown where that is not enough."""
        return steps if self.steps < self._budget else steps // _SCARCE

    @property
    def used(self) -> int:
        """Evaluation steps for this request so far, without those taken apart."""
        return self._granted - self.fuel

    @property
    def steps(self) -> int:
        """Evaluation steps of the run so far."""
        return self._steps + self._given - self.fuel

    def _account(self) -> None:
        """Count what was used of the fuel given last."""
        used = self._given - self.fuel
        self._steps += used
        self.spent += used
        self._given = self.fuel

    def is_full(self) -> bool:
        """Whether what is kept in memory is worth forgetting between two requests."""
        return self.spent > KEPT_STEPS or len(self._flows) > KEPT_FLOWS

    def forget(self) -> None:
        """Drop all values, frames and unpacked facts.

        Memos go by the identity of facts: frames that somebody still holds start anew.
        """
        self.spent = 0
        for frame in self._open.values():
            frame.memo.clear()
        self._open.clear()
        self._flows.clear()
        for module in self.world.modules.values():
            release(module)
        self._selves.clear()
        self.instance_frames.clear()
        self.instances.clear()
        self.settled.clear()
        self.changes.clear()
        self.recurrence.forget()

    def apart(self, fuel: int, expression: Expression, ref: ScopeRef, position: int) -> Value:
        """The value of an expression in an open frame, with fuel of its own."""
        before = self.fuel, self._granted, self.exhausted
        self.refuel(fuel)
        try:
            return self.evaluate(expression, self.open_frame(ref), position)
        finally:
            self._account()
            self.fuel, self._granted, self.exhausted = before
            self._given = self.fuel

    def scope(self, ref: ScopeRef) -> Scope:
        """The facts of a scope."""
        return self.world.modules[ref.path].scopes[ref.number]

    def flow(self, ref: ScopeRef) -> Flow:
        """The definitions of a scope."""
        found = self._flows.get(ref)
        if found is None:
            found = self._flows[ref] = flow_of(self.scope(ref))
        return found

    def parent(self, ref: ScopeRef) -> ScopeRef | None:
        """The enclosing scope."""
        index = self.scope(ref).parent
        return ScopeRef(ref.path, index) if index >= 0 else None

    def open_frame(self, ref: ScopeRef) -> Frame:
        """The frame of a scope with no parameter bound."""
        frame = self._open.get(ref)
        if frame is None:
            parent = self.parent(ref)
            closure = self.open_frame(parent) if parent is not None else None
            if closure is not None and closures.is_kept(self.scope(ref), self.scope(closure.scope)):
                closure = closure.kept()
            level = "process" if self.scope(ref).kind in ("module", "class") else None
            frame = Frame(ref, receiver=self.self_of(ref), closure=closure, level=level)
            self._open[ref] = frame
        return frame

    def self_of(self, ref: ScopeRef) -> Value | None:
        """`self` in a method nobody was traced to; None outside classes."""
        parent = self.parent(ref)
        if parent is None or self.scope(parent).kind != "class" or self.scope(ref).kind != "function":
            return None
        if any(self._decorator_name(d) == "staticmethod" for d in self.scope(ref).decorators):
            return None
        if any(self._decorator_name(d) == "classmethod" for d in self.scope(ref).decorators):
            return ClassValue(parent)
        return self.instance_of(ClassValue(parent))

    def instance_of(self, cls: ClassValue) -> Instance:
        """An object of the class of which nothing else is known."""
        found = self._selves.get(cls.scope)
        if found is None:
            found = self._selves[cls.scope] = Instance(cls, None)
        return found

    def _decorator_name(self, decorator: Expression) -> str:
        path = path_of(decorator)
        return path.rpartition(".")[2] if path else ""

    def decorators(self, ref: ScopeRef) -> list[str]:
        """Dotted names or last names of a function's decorators."""
        parent = self.parent(ref)
        names = []
        for decorator in self.scope(ref).decorators:
            function = decorator
            if decorator[0] == "call" and parent is not None:
                function = self.scope(parent).calls[decorator[3]][2]
            value = self.evaluate(function, self.open_frame(parent), END) if parent is not None else None
            names.append(value.dotted if isinstance(value, External) else self._decorator_name(function))
        return names

    def declaration(self, ref: ScopeRef) -> tuple[str | None, bool]:
        """The kind of value that a function yields by the project's configuration, if any, and whether a
        decorator keeps its value for the whole process."""
        found = self._declarations.get(ref)
        if found is None:
            source = self.sources.function(self.world.dotted(ref, self.scope(ref).name))
            is_cached = any(self.sources.caching_decorator(name) for name in self.decorators(ref))
            found = self._declarations[ref] = (source.kind if source is not None else None, is_cached)
        return found

    def evaluate(self, expression: Expression, frame: Frame, position: int) -> Value:
        """The value of an expression at a position of the frame's scope."""
        key = id(expression)
        found = frame.memo.get(key)
        if found is None and frame.origin is not None:
            found = frame.known(key, position)
        if found is not None:
            return found
        if self.exhausted or self.depth > MAX_DEPTH:
            return self.bound()
        self.fuel -= 1
        if self.fuel <= 0:
            return self.bound()
        frame.memo[key] = IN_PROGRESS
        self.depth += 1
        try:
            value = EXPRESSIONS[expression[0]](self, expression, frame, position)
        finally:
            self.depth -= 1
            del frame.memo[key]
        if not self.exhausted:
            frame.memo[key] = value
        return value

    def bound(self) -> Value:
        """The value of what was cut off."""
        if not self.exhausted:
            self.exhausted = True
            self.bounds_hit += 1
        return Unknown("bound")

    def force(self, value: Lazy | Value) -> Value:
        """The value of an argument."""
        return self.evaluate(value.expression, value.frame, value.position) if isinstance(value, Lazy) else value

    def place(self, expression: Expression, frame: Frame) -> Place:
        """Where an expression stands."""
        return Place(frame.scope.path, expression[1], expression[2])

    def text(self, place: Place | None) -> str:
        """Source text of a place, on one line and shortened."""
        if place is None:
            return ""
        source = self.world.files.get(place.path)
        words = " ".join(source.text[place.start : place.end].split()) if source else ""
        return words if len(words) <= 80 else words[:77] + "..."

    def locate(self, piece: Literal, start: int, end: int) -> Place | None:
        """Source place of a stretch of a literal; the whole literal where characters do not correspond."""
        origin = piece.origin
        if origin is None or piece.offset < 0:
            return origin
        source = self.world.files.get(origin.path)
        if source is None:
            return origin
        first, last = piece.offset + start, piece.offset + end
        inside = [
            (
                at + max(first - offset, 0) if length == stop - at else at,
                stop if last >= offset + length else at + last - offset,
            )
            for offset, length, at, stop in self.world.segments(origin, literal_segments)
            if offset < last and offset + length > first
        ]
        return Place(origin.path, inside[0][0], max(inside[-1][1], inside[0][0])) if inside else origin

    def name(self, name: str, frame: Frame, position: int) -> Value:
        """The value of a name."""
        while frame.outer is not None:
            if name in frame.locals:
                return frame.locals[name]
            frame = frame.outer
        flow = self.flow(frame.scope)
        if name in flow.versions and name not in flow.outer_names:
            thunk = flow.at(name, position)
            if thunk is not None and thunk[0] != "unset":
                return self.thunk(thunk, frame)
            if self.scope(frame.scope).kind == "function":
                late = flow.last(name)
                return (
                    self.thunk(late, frame)
                    if late is not None and late[0] != "unset"
                    else Unknown("unbound", name=name)
                )
        return self.free(name, frame.closure)

    def free(self, name: str, frame: Frame | None) -> Value:
        """The value of a name of an enclosing scope or a builtin."""
        while frame is not None:
            while frame.outer is not None:
                if name in frame.locals:
                    return frame.locals[name]
                frame = frame.outer
            if self.scope(frame.scope).kind != "class":
                flow = self.flow(frame.scope)
                if name in flow.versions:
                    return self.final(name, frame)
                if frame.closure is None:
                    found = self.world.star(frame.scope.path, name, self)
                    if found is not None:
                        return found
                    if self.scope(frame.scope).kind == "module":
                        break
            frame = frame.closure
        if hasattr(builtins, name):
            return External(f"builtins.{name}")
        # a framework may put the SDK's module into a function's globals without an import statement
        return External(name) if name in self.sdks.packages else Unknown("undefined", name=name)

    def final(self, name: str, frame: Frame) -> Value:
        """The value a name has at the end of its scope; what functions assign through `global` joins in."""
        flow = self.flow(frame.scope)
        value = self.thunk(flow.last(name), frame)
        writers = self.world.global_writers(frame.scope.path).get(name, ()) if frame.closure is None else ()
        values = [value]
        for writer in writers[:4]:
            thunk = self.flow(writer).last(name)
            if thunk is not None:
                values.append(self.recurrence.lasting(self.thunk(thunk, self.open_frame(writer)), "kept"))
        known = [v for v in values if not is_none(v)]
        return objects.settled(self, alternatives("global", tuple(known)) if known else value)

    def thunk(self, thunk: Thunk, frame: Frame) -> Value:
        """The value of a definition."""
        key = id(thunk)
        fixed = frame.heads.get(key)
        if fixed is not None:
            return fixed
        found = frame.memo.get(key)
        if found is not None:
            return found
        if self.exhausted or self.depth > MAX_DEPTH:
            return self.bound()
        self.fuel -= 1
        if self.fuel <= 0:
            return self.bound()
        frame.memo[key] = IN_PROGRESS
        self.depth += 1
        try:
            value = THUNKS[thunk[0]](self, thunk, frame)
        finally:
            self.depth -= 1
            del frame.memo[key]
        if not self.exhausted:
            frame.memo[key] = value
        return value

    def result(self, frame: Frame) -> Value:
        """What the frame's function returns."""
        outcome = self.flow(frame.scope).result
        return NONE if outcome is None else self.thunk(outcome, frame)

    def variable(self, name: str, place: Place | None) -> Value:
        """A template variable that nothing fills in."""
        return Variable(name, place)

    def attribute(self, base: Value, name: str, place: Place | None) -> Value:
        """`base.name`."""
        return members.attribute(self, base, name, place)

    def item(self, base: Value, key: str | int) -> Value:
        """`base[key]`."""
        return indexing.item(self, base, literal(key) if isinstance(key, str) else Constant(key), None)

    def volatile(self, kind: str, place: Place | None, frame: Frame | None, *, by_name: bool = False) -> Volatile:
        """A value of the source catalogue, made in `frame`."""
        source = self.sources.kind(kind)
        volatility = lowered(source.volatility, frame.level if frame is not None else None)
        return Volatile(kind, source.label, volatility, self.text(place), place, by_name)


def lowered(volatility: Volatility, level: str | None) -> Volatility:
    """Volatility of a time or random value that is made once per process or long-lived object."""
    if level is None or volatility not in (Volatility.CALL, Volatility.DAY):
        return volatility
    return Volatility.PROCESS if level == "process" else Volatility.SESSION
