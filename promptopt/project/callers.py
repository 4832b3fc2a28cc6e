"""Who calls a function: exactly, through a class hierarchy, or by an unusual method name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from promptopt.project import calls, classes, closures, objects
from promptopt.project.targets import last_name
from promptopt.project.values import (
    Alternatives,
    Arguments,
    CallResult,
    ClassValue,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    ModuleValue,
    Parameter,
    Place,
    ScopeRef,
    Unknown,
    Value,
)
from promptopt.source import is_test_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import CallFact, Expression

MAX_CANDIDATES: Final = 200
MAX_SITES: Final = 32
CHECK_FUEL: Final = 4_000
"""Evaluation steps for finding out what one call calls."""

FIND_STEPS: Final = 20_000
"""Evaluation steps for finding the callers of one function; candidates that are left then are no callers."""

MAX_DEFINERS: Final = 3
"""Class hierarchies that may define a method for it to be recognised by name alone."""

COMMON_NAMES: Final = frozenset(
    {"get", "run", "call", "create", "invoke", "ainvoke", "execute", "process", "handle", "send", "start", "load"}
    | {"update", "add", "append", "format", "render", "build", "parse", "read", "write", "save", "open", "close"}
    | {"__init__", "__call__", "main", "forward", "predict", "generate", "query", "search", "stream", "setup", "step"}
)

_PASSING: Final = {"partial": 0, "to_thread": 0, "submit": 0, "run_in_executor": 1, "run_sync": 0, "apply_async": 0}


class Confidence(IntEnum):
    """How sure a hop from a function to a caller is."""

    NAME = 0
    HIERARCHY = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of a function. `shift` positional arguments come before the function's own. `around` says that the
    function is defined here, and called here or by whoever it is handed to; `call` is then the call that it stands in
    or is named in, -1 without one."""

    scope: ScopeRef
    call: int
    place: Place
    confidence: Confidence
    shift: int = 0
    around: bool = False


class Callers:
    """Finds call sites by name, then checks what the called expression resolves to."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        self._is_indexed = False
        self._passed: dict[str, list[tuple[ScopeRef, int, int]]] = {}
        self._definers: dict[str, list[ScopeRef]] = {}
        self._families: dict[str, int] = {}
        self._roots: dict[ScopeRef, ScopeRef] = {}
        self._sites: dict[ScopeRef, tuple[CallSite, ...]] = {}
        self._switched_off: dict[ScopeRef, list[CallSite]] = {}
        self._passing: dict[tuple[ScopeRef, str, ScopeRef, int], Value | None] = {}

    def forget(self) -> None:
        """Drop what callers were found to pass; who calls whom stays known."""
        self._passing.clear()

    def of(self, ref: ScopeRef) -> tuple[CallSite, ...]:
        """Call sites of a function; of a constructor, the places that make objects of its class."""
        found = self._sites.get(ref)
        if found is None:
            self._sites[ref] = ()
            found = self._sites[ref] = self._find(ref)
        return found

    def around(self, ref: ScopeRef) -> CallSite | None:
        """The function that a nested function or a lambda is defined in, as its caller."""
        parent = self.ev.parent(ref)
        if parent is None or self.ev.scope(parent).kind not in ("function", "lambda"):
            return None
        inner, outer = self.ev.scope(ref), self.ev.scope(parent)
        call = closures.naming_call(inner, outer)
        span = outer.calls[call][:2] if call >= 0 else (inner.start, inner.end)
        return CallSite(parent, call, Place(parent.path, *span), Confidence.EXACT, around=True)

    def is_switched_off(self, ref: ScopeRef) -> bool:
        """Whether all calls of a function stand in branches whose test is literally false."""
        return not self.of(ref) and bool(self._switched_off.get(ref))

    def making(self, ref: ScopeRef, cls: ClassValue) -> Iterator[tuple[CallSite, ClassValue]]:
        """Calls of a constructor that make objects with the methods of `cls`, and the classes that they make."""
        return ((site, made) for site in self.of(ref) for made in self._made(site, cls))

    def is_never_made(self, ref: ScopeRef, cls: ClassValue) -> bool:
        """Whether all calls of a constructor that make objects with the methods of `cls` are switched off."""
        self.of(ref)
        off = any(True for site in self._switched_off.get(ref, ()) for _ in self._made(site, cls))
        return off and not any(True for _ in self.making(ref, cls))

    def _made(self, site: CallSite, cls: ClassValue) -> Iterator[ClassValue]:
        """Classes of the objects that a call makes, those with the methods of `cls`; a `cls()` may make any."""
        function = self.ev.scope(site.scope).calls[site.call][2]
        value = self.ev.apart(CHECK_FUEL, function, site.scope, self.ev.flow(site.scope).call_position(site.call))
        for one in value.values if isinstance(value, Alternatives) else (value,):
            if isinstance(one, ClassValue) and any(base.scope == cls.scope for base in classes.ancestry(self.ev, one)):
                yield one
            elif function[0] == "name" and function[3] == "cls":
                yield cls

    def arguments(self, site: CallSite, frame: Frame) -> Arguments:
        """The arguments that the function receives at a site, in the caller's frame."""
        fact = self.ev.scope(site.scope).calls[site.call]
        position = self.ev.flow(site.scope).call_position(site.call)
        given = calls.arguments_of(self.ev, fact, frame, position)
        if not site.shift:
            return given
        return Arguments(given.positional[site.shift :], given.keywords, given.rest, given.open)

    def passed(self, parameter: Parameter, site: CallSite) -> Value | None:
        """What a site passes for a parameter; None where that cannot be told."""
        key = (parameter.scope, parameter.name, site.scope, site.call)
        if key not in self._passing:
            self._passing[key] = self._pass(parameter, site)
        return self._passing[key]

    def _pass(self, parameter: Parameter, site: CallSite) -> Value | None:
        frame = self.ev.open_frame(site.scope)
        skip = 1 if self.ev.self_of(parameter.scope) is not None else 0
        bound = calls.bind(self.ev, parameter.scope, self.arguments(site, frame), skip=skip).get(parameter.name)
        return None if bound is None else self.ev.force(bound)

    def receiver(self, site: CallSite, frame: Frame, ref: ScopeRef) -> Value | None:
        """`self` inside the called function, as far as the call tells."""
        ev = self.ev
        fact = ev.scope(site.scope).calls[site.call]
        if ev.self_of(ref) is None:
            return None
        if ev.scope(ref).name.endswith("__init__"):
            parent = ev.parent(ref)
            arguments = self.arguments(site, frame)
            at_import = frame.level == "process"
            return Instance(ClassValue(parent), arguments, site.place, at_import) if parent is not None else None
        function = fact[2] if not site.shift else fact[3][site.shift - 1]
        if function[0] == "attr":
            position = ev.flow(site.scope).call_position(site.call)
            value = ev.evaluate(function[3], frame, position)
            for one in value.values if isinstance(value, Alternatives) else (value,):
                if isinstance(one, Instance) and self._inherits(one, ref):
                    return objects.settled(ev, one)
        return ev.self_of(ref)

    def _inherits(self, instance: Instance, ref: ScopeRef) -> bool:
        """Whether a method is one that the object's own class has: an object known by its base class says nothing
        of the subclass whose method is called."""
        owner = self.ev.parent(ref)
        return any(cls.scope == owner for cls in classes.ancestry(self.ev, instance.cls))

    def _index(self) -> None:
        """List the project's functions by name, and where functions are handed to others to be called."""
        if self._is_indexed:
            return
        self._is_indexed = True
        for path, module in self.ev.world.modules.items():
            for number, scope in enumerate(module.scopes):
                if scope.kind == "function":
                    self._definers.setdefault(scope.name.rpartition(".")[2], []).append(ScopeRef(path, number))
        for name, index in _PASSING.items():
            for ref, call in self.ev.world.calls_named(name):
                arguments = self.ev.scope(ref).calls[call][3]
                if index < len(arguments) and arguments[index][0] in ("name", "attr"):
                    passed = last_name(arguments[index])
                    self._passed.setdefault(passed, []).append((ref, call, index + 1))

    def _find(self, ref: ScopeRef) -> tuple[CallSite, ...]:
        scope = self.ev.scope(ref)
        if scope.kind != "function":
            return ()
        name = scope.name.rpartition(".")[2]
        names = self._class_names(ref) if name == "__init__" else [name]
        self._index()
        found: list[CallSite] = []
        begun, limit = self.ev.steps, self.ev.allowed(FIND_STEPS)
        for where, call, shift in self._candidates(names):
            if self.ev.steps - begun > limit:
                self.ev.bounds_hit += 1
                break
            fact = self.ev.scope(where).calls[call]
            site = self._check(ref, where, call, fact[3][shift - 1] if shift else fact[2], shift)
            if site is not None:
                found.append(site)
        off = [site for site in found if self.ev.flow(site.scope).is_dead(site.place.start)]
        if off:
            self._switched_off[ref] = off
        sites = [site for site in found if site not in off]
        best = [site for site in sites if site.confidence > Confidence.NAME] or sites
        best.sort(key=lambda site: is_test_code(site.scope.path))
        return tuple(best[:MAX_SITES])

    def _candidates(self, names: list[str]) -> Iterator[tuple[ScopeRef, int, int]]:
        """Calls by these names, and calls that are handed a function by one of them (see `CallSite.shift`)."""
        for name in names:
            for where, call in self.ev.world.calls_named(name)[:MAX_CANDIDATES]:
                yield where, call, 0
            yield from self._passed.get(name, ())[:MAX_CANDIDATES]

    def _class_names(self, ref: ScopeRef) -> list[str]:
        parent = self.ev.parent(ref)
        if parent is None:
            return []
        refs = [parent, *self.ev.world.subclasses(parent, self.ev)]
        return list(dict.fromkeys([*(self.ev.scope(one).name.rpartition(".")[2] for one in refs), "cls"]))

    def _check(self, ref: ScopeRef, where: ScopeRef, call: int, function: Expression, shift: int) -> CallSite | None:
        ev = self.ev
        if where == ref:
            return None
        value = ev.apart(CHECK_FUEL, function, where, ev.flow(where).call_position(call))
        confidence = self._matches(ref, value, function)
        facts = ev.scope(where).calls
        if confidence is None or (confidence is Confidence.HIERARCHY and _is_super(function, facts)):
            return None
        fact = facts[call]
        if confidence is Confidence.NAME and not self._arity(ref, fact):
            return None
        return CallSite(where, call, Place(where.path, fact[0], fact[1]), confidence, shift)

    def _matches(self, ref: ScopeRef, value: Value, function: Expression) -> Confidence | None:
        if isinstance(value, Alternatives):
            found = [self._matches(ref, one, function) for one in value.values]
            return max((one for one in found if one is not None), default=None)
        if isinstance(value, Method):
            if value.function.scope == ref:
                return Confidence.EXACT
            return self._overrides(ref, value.function.scope, value.receiver)
        if isinstance(value, Function):
            return Confidence.EXACT if value.scope == ref else self._overrides(ref, value.scope, None)
        if isinstance(value, ClassValue):
            return self._constructs(ref, value)
        if isinstance(value, (Unknown, Member, Parameter)) and function[0] == "attr":
            return self._by_method_name(ref, value)
        return None

    def _overrides(self, ref: ScopeRef, base: ScopeRef, receiver: Value | None) -> Confidence | None:
        """A call of a base class's method may reach an override, one of the class of its object or below."""
        mine, theirs = self.ev.parent(ref), self.ev.parent(base)
        if mine is None or theirs is None or mine == theirs or self.ev.scope(mine).kind != "class":
            return None
        related = {one.scope for one in classes.ancestry(self.ev, ClassValue(mine))}
        if isinstance(receiver, Instance) and receiver.cls.scope not in related:
            return None
        return Confidence.HIERARCHY if theirs in related else None

    def _constructs(self, ref: ScopeRef, cls: ClassValue) -> Confidence | None:
        if not self.ev.scope(ref).name.endswith("__init__"):
            return None
        return Confidence.EXACT if classes.constructor(self.ev, cls) == ref else None

    def _by_method_name(self, ref: ScopeRef, value: Value) -> Confidence | None:
        """A method of a receiver of unknown type. Where one class hierarchy alone has a method of that
        name, the call goes through its interface."""
        name = self.ev.scope(ref).name.rpartition(".")[2]
        if name in COMMON_NAMES or self.ev.self_of(ref) is None:
            return None
        families = self._hierarchies(name)
        base = value.base if isinstance(value, Member) else value
        known = (ModuleValue, External, CallResult, Constant, ClassValue)
        if families > MAX_DEFINERS or isinstance(base, known):
            return None
        return Confidence.HIERARCHY if families == 1 else Confidence.NAME

    def implementations(self, ref: ScopeRef) -> int:
        """How many classes of a method's hierarchy define it."""
        self._index()
        name, root = self.ev.scope(ref).name.rpartition(".")[2], self._root(ref)
        if root == ref:
            return 1
        family = {root, *self.ev.world.subclasses(root, self.ev)}
        definers = (one for one in self._definers.get(name, ()) if self.ev.parent(one) in family)
        return sum(1 for one in definers if self._root(one) == root)

    def _hierarchies(self, name: str) -> int:
        """How many unrelated classes and functions define a name; counted to one more than `MAX_DEFINERS`."""
        if name not in self._families:
            roots: set[ScopeRef] = set()
            for ref in self._definers.get(name, ()):
                roots.add(self._root(ref))
                if len(roots) > MAX_DEFINERS:
                    break
            self._families[name] = len(roots)
        return self._families[name]

    def _root(self, ref: ScopeRef) -> ScopeRef:
        """The topmost class of the hierarchy that a method belongs to; the function itself elsewhere."""
        found = self._roots.get(ref)
        if found is None:
            parent = self.ev.parent(ref)
            is_method = parent is not None and self.ev.scope(parent).kind == "class"
            found = classes.ancestry(self.ev, ClassValue(parent))[-1].scope if parent and is_method else ref
            self._roots[ref] = found
        return found

    def _arity(self, ref: ScopeRef, fact: CallFact) -> bool:
        params = self.ev.scope(ref).params[1:]
        if any(param.kind in ("args", "kwargs") for param in params):
            return True
        positional, keywords = fact[3], fact[4]
        names = {param.name for param in params}
        if len(positional) > len(params) or any(name is not None and name not in names for name, _ in keywords):
            return False
        required = sum(1 for param in params if param.default is None)
        spread = any(a[0] == "star" for a in positional) or any(name is None for name, _ in keywords)
        return spread or len(positional) + len(keywords) >= required


def _is_super(function: Expression, facts: tuple[CallFact, ...]) -> bool:
    """Whether a method is called on `super()`: that is the base class's, whatever overrides it elsewhere."""
    if function[0] != "attr" or function[3][0] != "call":
        return False
    called = facts[function[3][3]][2]
    return bool(called[0] == "name" and called[3] == "super")
