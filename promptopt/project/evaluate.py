"""Evaluation of expressions on demand.

Nothing is computed until a request, a template or a rule asks for it. Values are memoised in frames;
a value cut off by a bound is not. `fuel` limits the work for one request.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project import calls, conditions, files, iteration, members, mutation, objects, operators, strings
from promptopt.project.flow import Flow, Thunk, flow_of, path_of
from promptopt.project.frames import IN_PROGRESS, Frame
from promptopt.project.values import (
    NONE,
    Alternatives,
    ClassValue,
    Constant,
    Derived,
    External,
    Function,
    Hole,
    Instance,
    Lazy,
    Literal,
    MapValue,
    Parameter,
    Pieces,
    Place,
    ScopeRef,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Variable,
    Volatile,
    alternatives,
    constant_key,
    literal,
    plain,
)
from promptopt.prompt import Volatility
from promptopt.readers.python import literal_segments

if TYPE_CHECKING:
    from promptopt.project.world import World
    from promptopt.readers.facts import Expression, Scope

MAX_DEPTH: Final = 220
"""Nested evaluations; each takes a handful of interpreter frames."""

FUEL: Final = 12_000
"""Evaluation steps for one request."""


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
        self._flows: dict[ScopeRef, Flow] = {}
        self._open: dict[ScopeRef, Frame] = {}
        self._declarations: dict[ScopeRef, tuple[str | None, bool]] = {}
        self._selves: dict[ScopeRef, Instance] = {}
        self.instance_frames: dict[tuple[int, ScopeRef], Frame] = {}
        self.instances: list[Instance] = []
        self.settled: dict[int, tuple[Value, Value]] = {}
        self.changes: dict[tuple[int, str], tuple[object, Value]] = {}
        self.setters: dict[tuple[ScopeRef, str], frozenset[str] | None] = {}
        self.active: dict[ScopeRef, int] = {}

    def refuel(self, amount: int = FUEL) -> None:
        """Start the work for another request."""
        self.fuel = amount
        self.exhausted = False

    def apart(self, fuel: int, expression: Expression, ref: ScopeRef, position: int) -> Value:
        """The value of an expression in an open frame, with fuel of its own."""
        before = self.fuel, self.exhausted
        self.refuel(fuel)
        try:
            return self.evaluate(expression, self.open_frame(ref), position)
        finally:
            self.fuel, self.exhausted = before

    # Scopes and frames

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
            value = self.evaluate(function, self.open_frame(parent), 1 << 60) if parent is not None else None
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

    # Expressions

    def evaluate(self, expression: Expression, frame: Frame, position: int) -> Value:
        """The value of an expression at a position of the frame's scope."""
        key = id(expression)
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
            value = _EVALUATE[expression[0]](self, expression, frame, position)
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
                values.append(self.thunk(thunk, self.open_frame(writer)))
        known = [v for v in values if v is not NONE and not (isinstance(v, Constant) and v.value is None)]
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
        frame.memo[key] = IN_PROGRESS
        self.depth += 1
        try:
            value = _THUNKS[thunk[0]](self, thunk, frame)
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
        return members.item(self, base, literal(key) if isinstance(key, str) else Constant(key), None)

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


def _literal(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    place = ev.place(e, frame)
    ev.world.literals[place] = e[3]
    return literal(e[3], place)


def _constant(_ev: Evaluator, e: Expression, _frame: Frame, _position: int) -> Value:
    return NONE if e[3] is None else Constant(e[3])


def _name(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    value = ev.name(e[3], frame, position)
    if isinstance(value, (Instance, Alternatives)):
        return objects.current(ev, value, e[3], _own(frame), position)
    if isinstance(value, Unknown) and value.name is None:
        return Unknown(value.why, (value,), e[3], ev.place(e, frame))
    if isinstance(value, External):
        return members.external(ev, value.dotted, ev.place(e, frame), frame)
    return value


def _own(frame: Frame) -> Frame:
    """The frame of a scope's statements, out of a comprehension in it."""
    while frame.outer is not None:
        frame = frame.outer
    return frame


def _attribute(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    path = path_of(e)
    while path is not None and frame.outer is not None and path.partition(".")[0] not in frame.locals:
        frame = frame.outer
    if path is not None and frame.outer is None:
        flow = ev.flow(frame.scope)
        found = flow.versions.get(path)
        if found is not None:
            thunk = flow.at(path, position)
            if thunk is not None and thunk[0] != "unset" and _newer(flow, path, position):
                return ev.thunk(thunk, frame)
    base = ev.evaluate(e[3], frame, position)
    return members.attribute(ev, base, e[4], ev.place(e, frame), frame)


def _newer(flow: Flow, path: str, position: int) -> bool:
    """Whether a dotted path was set after its root name was bound."""
    root = path.partition(".")[0]
    found = flow.versions.get(root)
    if found is None:
        return True
    mine = [p for p in flow.versions[path][0] if p <= position][-1]
    return not [p for p in found[0] if mine < p <= position]


def _call(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return calls.call(ev, e, frame, position)


def _fstring(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return strings.concatenate(_piece(ev, piece, frame, position) for piece in e[3])


def _piece(ev: Evaluator, piece: Expression, frame: Frame, position: int) -> Pieces:
    place = ev.place(piece, frame)
    if piece[0] == "lit":
        ev.world.literals[place] = piece[3]
        return (Literal(piece[3], place),)
    value = members.shown(ev, ev.evaluate(piece[3], frame, position))
    if piece[4] == "r" and isinstance(value, TextValue):
        return (Hole(Derived("repr", (value,), place), place, ev.text(ev.place(piece[3], frame))),)
    if piece[5]:
        spec = plain(strings.concatenate(_piece(ev, part, frame, position) for part in piece[5]))
        value = members.formatted(ev, value, "__format__", spec, place, frame)
    return strings.to_pieces(value, place, ev.text(ev.place(piece[3], frame)))


def _format_piece(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return TextValue(_piece(ev, e, frame, position))


def _binary(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    operator = e[3]
    if operator == "+":
        return _sum(ev, e, frame, position)
    left, right = ev.evaluate(e[4], frame, position), ev.evaluate(e[5], frame, position)
    if operator == "%":
        if isinstance(left, TextValue):
            return strings.format_percent(left, right, ev.place(e[5], frame), ev)
        return Derived("%", (left, right), ev.place(e, frame))
    if operator == "*":
        return operators.times(left, right, ev.place(e, frame))
    if operator == "/":
        return files.divided(ev, left, right, ev.place(e, frame))
    return members.union(ev, left, right, ev.place(e, frame))


def _sum(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    operands = []
    spine = e
    while spine[0] == "bin" and spine[3] == "+":
        operands.append(spine[5])
        spine = spine[4]
    operands.append(spine)
    operands.reverse()
    values = [(ev.evaluate(operand, frame, position), operand) for operand in operands]
    return operators.add(ev, values, frame)


def _or(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    chosen: list[Value] = []
    for operand in e[3]:
        value = ev.evaluate(operand, frame, position)
        truth = conditions.truth(value)
        if truth is not False:
            chosen.append(value)
        if truth is True:
            break
    if not chosen:
        return ev.evaluate(e[3][-1], frame, position)
    return alternatives(ev.text(ev.place(e, frame)), tuple(chosen))


def _and(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    for operand in e[3][:-1]:
        if conditions.decide(ev, operand, frame, position) is False:
            return ev.evaluate(operand, frame, position)
    return ev.evaluate(e[3][-1], frame, position)


def _test(_ev: Evaluator, e: Expression, _frame: Frame, _position: int) -> Value:
    return Unknown(e[0])


def _conditional(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    decided = conditions.decide(ev, e[3], frame, position)
    if decided is not None:
        return ev.evaluate(e[4] if decided else e[5], frame, position)
    values = (ev.evaluate(e[4], frame, position), ev.evaluate(e[5], frame, position))
    return alternatives(ev.text(ev.place(e[3], frame)), values)


def _sequence(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    items: list[object] = []
    for item in e[4]:
        if item[0] == "star":
            items.extend(iteration.spliced(ev.evaluate(item[3], frame, position), ev.place(item, frame)))
        else:
            items.append(ev.evaluate(item, frame, position))
    order = ev.volatile("set-order", ev.place(e, frame), frame) if e[3] == "set" and len(items) > 1 else None
    return Sequence(e[3], tuple(items), order, ev.place(e, frame))  # type: ignore[arg-type]  # items are Values and Splices


def _mapping(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    entries: dict[object, Value] = {}
    rest: list[Value] = []
    for key, value in e[3]:
        if key is None:
            spread = ev.evaluate(value, frame, position)
            if isinstance(spread, MapValue):
                entries.update(spread.entries)
                rest.extend(spread.rest)
            else:
                rest.append(spread)
            continue
        name = constant_key(ev.evaluate(key, frame, position))
        evaluated = ev.evaluate(value, frame, position)
        if name is ...:
            rest.append(evaluated)
        else:
            entries[name] = evaluated
    return MapValue(entries, tuple(rest), ev.place(e, frame))


def _comprehension(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return iteration.comprehension(ev, e, frame, position)


def _index(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    base = ev.evaluate(e[3], frame, position)
    return members.item(ev, base, ev.evaluate(e[4], frame, position), ev.place(e, frame))


def _slice(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    base = ev.evaluate(e[3], frame, position)
    bounds = tuple(None if part is None else ev.evaluate(part, frame, position) for part in e[4:7])
    return members.cut(ev, base, bounds, ev.place(e, frame))


def _inner(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return ev.evaluate(e[3], frame, position)


def _lambda(_ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    return Function(ScopeRef(frame.scope.path, e[3]), frame)


def _star(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return Sequence("list", (Splice(ev.evaluate(e[3], frame, position), ev.place(e, frame)),))


def _unknown(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    return Unknown(e[3] if len(e) > 3 and isinstance(e[3], str) else e[0], place=ev.place(e, frame))


_EVALUATE: Final[Mapping[str, Callable[[Evaluator, Expression, Frame, int], Value]]] = {
    "lit": _literal,
    "const": _constant,
    "name": _name,
    "attr": _attribute,
    "call": _call,
    "bin": _binary,
    "or": _or,
    "and": _and,
    "not": _test,
    "cmp": _test,
    "fstr": _fstring,
    "tstr": _fstring,
    "fmt": _format_piece,
    "seq": _sequence,
    "dict": _mapping,
    "star": _star,
    "ifexp": _conditional,
    "comp": _comprehension,
    "index": _index,
    "slice": _slice,
    "await": _inner,
    "lambda": _lambda,
    "yield": _unknown,
    "yieldfrom": _unknown,
    "unk": _unknown,
}


def _expr_thunk(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return ev.evaluate(thunk[1], frame, thunk[2])


def _parameter(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    fact = ev.scope(frame.scope).params[thunk[1]]
    bound = frame.bindings.get(fact.name)
    if bound is not None:
        return ev.force(bound)
    if thunk[1] == 0 and frame.receiver is not None:
        return frame.receiver
    default = None
    if fact.default is not None and frame.closure is not None:
        default = Lazy(fact.default, frame.closure, 1 << 60)
    place = Place(frame.scope.path, fact.start, fact.end)
    if fact.kind == "args":
        return Sequence("tuple", (Splice(Parameter(frame.scope, fact.name, None, None, place), place),))
    if fact.kind == "kwargs":
        return MapValue({}, (Parameter(frame.scope, fact.name, None, None, place),), place)
    return Parameter(frame.scope, fact.name, fact.annotation, default, place)


def _join(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    _, test, position, first, second = thunk
    decided = conditions.decide(ev, test, frame, position) if test is not None else None
    leaves = [leaf for leaf in (first, second) if not _stops(leaf)]
    if decided is not None:
        chosen = first if decided else second
        if not _stops(chosen):
            leaves = [chosen]
    values = [NONE if leaf is None else ev.thunk(leaf, frame) for leaf in leaves]
    if not values:
        return Unknown("unreachable")
    if test is None and len(values) > 1:
        values = [v for v in values if not _blank(v)] or values[:1]
    return alternatives(ev.text(ev.place(test, frame)) if test is not None else "", tuple(values))


def _blank(value: Value) -> bool:
    return isinstance(value, Unknown) or (isinstance(value, Constant) and value.value is None)


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
    return iteration.loop_head(ev, thunk, frame)


def _loop_exit(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return iteration.loop_exit(ev, thunk, frame)


def _enter(ev: Evaluator, thunk: Thunk, frame: Frame) -> Value:
    return members.entered(ev, ev.evaluate(thunk[1], frame, thunk[2]))


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


_THUNKS: Final[Mapping[str, Callable[[Evaluator, Thunk, Frame], Value]]] = {
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

__all__ = ["FUEL", "Evaluator", "lowered"]
