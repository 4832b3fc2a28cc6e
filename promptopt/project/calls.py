"""Calls: the project's own functions are entered, libraries' are looked up, methods of texts, lists and
mappings are carried out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, indexing, library, members, methods, objects, templates, templating
from promptopt.project.frames import END, Frame
from promptopt.project.values import (
    NONE,
    Alternatives,
    Arguments,
    CallResult,
    ClassValue,
    Derived,
    External,
    Function,
    Instance,
    JinjaTemplate,
    Lazy,
    MapValue,
    Member,
    Method,
    ModuleValue,
    Namespace,
    Parameter,
    Pipe,
    Place,
    ScopeRef,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Volatile,
    alternatives,
    is_none,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import CallFact, Expression

_OBJECT_KINDS: Final = frozenset({"chat-message", "run-context", "session-id"})
"""Kinds of volatile values that are objects: what their methods return may be anything."""

MAX_NESTING: Final = 12
"""Calls within calls that are entered."""

_OBJECTS = (Instance, ClassValue, ModuleValue, Namespace, External)
_OWN = (Instance, ClassValue, ModuleValue, Namespace)
"""What the project itself defines: what its methods do is followed."""
_TRANSPARENT = frozenset({"asyncio.to_thread", "anyio.to_thread.run_sync", "starlette.concurrency.run_in_threadpool"})


def call(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """The value of a call expression."""
    fact = ev.scope(frame.scope).calls[e[3]]
    place = Place(frame.scope.path, fact[0], fact[1])
    function = fact[2]
    if function[0] == "name" and function[3] == "super":
        return _super(ev, frame)
    arguments = arguments_of(ev, fact, frame, position)
    if function[0] != "attr":
        return call_value(ev, ev.evaluate(function, frame, position), arguments, place, frame)
    base = ev.evaluate(function[3], frame, position)
    if not isinstance(base, _OWN):
        search = ev.world.sdks.search(function[4], arguments.keywords)
        if search is not None and search.gives != "engine":
            return ev.volatile("retrieved-passages", place, frame, by_name=True)
    if isinstance(base, _OBJECTS):
        return call_value(ev, ev.evaluate(function, frame, position), arguments, place, frame)
    return call_method(ev, base, function[4], arguments, place, frame)


def arguments_of(ev: Evaluator, fact: CallFact, frame: Frame, position: int) -> Arguments:
    """The arguments of a call, unevaluated; only spreads are looked into."""
    positional: list[Lazy | Value] = []
    keywords: dict[str, Lazy | Value] = {}
    rest: list[Lazy | Value] = []
    is_open = False
    for argument in fact[3]:
        if argument[0] != "star":
            positional.append(Lazy(argument, frame, position))
            continue
        spread = ev.evaluate(argument[3], frame, position)
        if isinstance(spread, Sequence) and all(isinstance(item, Value) for item in spread.items):
            positional.extend(item for item in spread.items if isinstance(item, Value))
        else:
            is_open = True
            break
    for name, value in fact[4]:
        if name is not None:
            keywords[name] = Lazy(value, frame, position)
            continue
        spread = ev.evaluate(value, frame, position)
        if isinstance(spread, MapValue):
            keywords.update({key: item for key, item in spread.entries.items() if isinstance(key, str)})
            rest.extend(spread.rest)
        else:
            rest.append(spread)
    return Arguments(tuple(positional), keywords, tuple(rest), is_open)


def _super(ev: Evaluator, frame: Frame) -> Value:
    while frame.outer is not None:
        frame = frame.outer
    parent = ev.parent(frame.scope)
    if parent is None or ev.scope(parent).kind != "class":
        return Unknown("super")
    bases = classes.ancestry(ev, ClassValue(parent))[1:]
    if not bases:
        return Unknown("super")
    receiver = frame.receiver
    if isinstance(receiver, Instance):
        return Instance(bases[0], receiver.arguments, receiver.place, receiver.at_import, receiver.state)
    return bases[0]


def call_value(ev: Evaluator, function: Value, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    """Call a value."""
    if isinstance(function, Function):
        return enter(ev, function, arguments, None, place, frame)
    if isinstance(function, Method):
        return enter(ev, function.function, arguments, function.receiver, place, frame)
    if isinstance(function, ClassValue):
        return _constructed(ev, function, arguments, place, frame)
    if isinstance(function, External):
        return _external(ev, function, arguments, place, frame)
    if isinstance(function, Alternatives):
        values = [one for one in function.values if not is_none(one)]
        values = [one for one in values if accepts(ev, one, arguments)] or values
        results = tuple(call_value(ev, one, arguments, place, frame) for one in values)
        return alternatives(function.condition, results, limit=indexing.MAX_DISPATCH)
    if isinstance(function, Volatile):
        return function
    if isinstance(function, Instance):
        bound = classes.class_attribute(ev, function.cls, "__call__", None, function)
        if isinstance(bound, Method):
            return call_value(ev, bound, arguments, place, frame)
    if isinstance(function, CallResult):
        if function.dotted in ("functools.partial", "functools.partialmethod"):
            return _partial(ev, function, arguments, place, frame)
        return call_method(ev, function, "__call__", arguments, place, frame)
    return Member(function, "", "call", place)


def _external(ev: Evaluator, function: External, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    if function.dotted in _TRANSPARENT and arguments.positional:
        inner = Arguments(arguments.positional[1:], arguments.keywords, arguments.rest, arguments.open)
        return call_value(ev, ev.force(arguments.positional[0]), inner, place, frame)
    return library.call(ev, function.dotted, arguments, place, frame)


def accepts(ev: Evaluator, function: Value, arguments: Arguments) -> bool:
    """Whether a function of the project can be called with these arguments; true of anything else."""
    skip = 0
    if isinstance(function, Method):
        function, skip = function.function, 1
    if not isinstance(function, Function) or arguments.open or arguments.rest:
        return True
    params = ev.scope(function.scope).params[skip:]
    kinds = {fact.kind for fact in params}
    positional = [fact.name for fact in params if fact.kind == "positional"]
    taken = set(positional[: len(arguments.positional)])
    if len(arguments.positional) > len(positional) and "args" not in kinds:
        return False
    names = {fact.name for fact in params if fact.kind in ("positional", "keyword")}
    if taken & arguments.keywords.keys() or ("kwargs" not in kinds and not arguments.keywords.keys() <= names):
        return False
    given = taken | arguments.keywords.keys()
    return all(fact.name in given or fact.default is not None for fact in params if fact.name in names)


def _constructed(ev: Evaluator, cls: ClassValue, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    names = {base.dotted for base in _external_bases(ev, cls)}
    if any(name.endswith(("TypedDict", "typing_extensions.TypedDict")) for name in names):
        entries = {key: ev.force(value) for key, value in arguments.keywords.items()}
        return MapValue(entries, tuple(ev.force(value) for value in arguments.rest), place)
    if any(name.rpartition(".")[2] in ("Enum", "StrEnum", "IntEnum") for name in names):
        return Unknown("enumeration")
    at_import = frame is not None and frame.level == "process"
    return Instance(
        cls, arguments, place, at_import, objects.FRESH if frame is not None and frame.level is None else None
    )


def _external_bases(ev: Evaluator, cls: ClassValue) -> list[External]:
    found = []
    for one in classes.ancestry(ev, cls):
        found += [base for base in classes.bases(ev, one) if isinstance(base, External)]
    return found


def _partial(ev: Evaluator, partial: CallResult, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    given = partial.arguments
    if not given.positional:
        return Unknown("partial")
    merged = Arguments(
        (*given.positional[1:], *arguments.positional),
        {**given.keywords, **arguments.keywords},
        (*given.rest, *arguments.rest),
        arguments.open,
    )
    return call_value(ev, ev.force(given.positional[0]), merged, place, frame)


def enter(
    ev: Evaluator, function: Function, arguments: Arguments, receiver: Value | None, place: Place, caller: Frame | None
) -> Value:
    """What a function of the project returns for these arguments."""
    ref = function.scope
    scope = ev.scope(ref)
    depth = caller.depth + 1 if caller is not None else 1
    if depth > MAX_NESTING or ev.active.get(ref, 0) > 1:
        return Unknown("nesting", name=scope.name.rpartition(".")[2])
    declared_kind, is_cached = ev.declaration(ref)
    if declared_kind is not None:
        return ev.volatile(declared_kind, place, caller)
    if scope.is_generator:
        return Unknown("generator", name=scope.name.rpartition(".")[2])
    frame = bound_frame(ev, function, arguments, receiver, place, caller, depth)
    if not frame.level and is_cached:
        frame.level = "process"
    ev.active[ref] = ev.active.get(ref, 0) + 1
    try:
        result = ev.result(frame)
    finally:
        ev.active[ref] -= 1
    return classes.declared(ev, result, scope.returns, ref, place)


def bound_frame(
    ev: Evaluator,
    function: Function,
    arguments: Arguments,
    receiver: Value | None,
    place: Place | None,
    caller: Frame | None,
    depth: int,
) -> Frame:
    """The frame of one call."""
    parent = ev.parent(function.scope)
    closure = function.closure or (ev.open_frame(parent) if parent is not None else None)
    bindings = bind(ev, function.scope, arguments, skip=0 if receiver is None else 1)
    level = caller.level if caller is not None else None
    return Frame(
        function.scope,
        bindings,
        receiver=receiver,
        closure=closure,
        level=level,
        call=place,
        caller=caller,
        depth=depth,
    )


def bind(ev: Evaluator, ref: ScopeRef, arguments: Arguments, *, skip: int) -> dict[str, Lazy | Value]:
    """Arguments by the names of the parameters that receive them; defaults fill in."""
    params = ev.scope(ref).params[skip:]
    bindings: dict[str, Lazy | Value] = {}
    left = list(arguments.positional)
    extra = dict(arguments.keywords)
    parent = ev.parent(ref)
    for fact in params:
        if fact.kind == "args":
            items = tuple(ev.force(value) for value in left)
            tail = (Splice(Unknown("star")),) if arguments.open else ()
            bindings[fact.name] = Sequence("tuple", (*items, *tail))
            left = []
        elif fact.kind == "kwargs":
            entries = {key: ev.force(value) for key, value in extra.items()}
            bindings[fact.name] = MapValue(entries, tuple(ev.force(value) for value in arguments.rest))
        elif fact.kind == "positional" and left:
            bindings[fact.name] = left.pop(0)
        elif fact.name in extra:
            bindings[fact.name] = extra.pop(fact.name)
        elif arguments.rest or (arguments.open and fact.kind == "positional"):
            base = ev.force(arguments.rest[0]) if arguments.rest else Unknown("star")
            bindings[fact.name] = members.named_member(ev, base, fact.name, "item", None)
        elif fact.default is not None and parent is not None:
            bindings[fact.name] = Lazy(fact.default, ev.open_frame(parent), END)
    return bindings


def call_method(
    ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    """`base.name(...)` where base is not a namespace."""
    if isinstance(base, Alternatives):
        values = [one for one in base.values if not is_none(one)]
        ev.choosing += 1
        results = [method_or_value(ev, one, name, arguments, place, frame) for one in values]
        ev.choosing -= 1
        return alternatives(base.condition, tuple(results)) if results else Unknown("none")
    if isinstance(base, Parameter):
        found = members.attribute(ev, base, name, place, frame)
        if isinstance(found, (Function, Method)):
            return call_value(ev, found, arguments, place, frame)
    if isinstance(base, Volatile):
        return _volatile_method(ev, base, name, arguments, place, frame)
    if isinstance(base, JinjaTemplate):
        return templating.call(ev, base, name, arguments, place, frame)
    if name in templating.GETTERS:
        template = templating.method(ev, base, name, arguments, place)
        if template is not None:
            return template
    if isinstance(base, CallResult) and base.dotted in ("re.compile", "regex.compile"):
        # a compiled pattern does what the module's function does with the pattern ahead of its arguments
        return library.call(
            ev, f"re.{name}", replace(arguments, positional=(NONE, *arguments.positional)), place, frame
        )
    if isinstance(base, (CallResult, Pipe)):
        return templates.call(ev, base, name, arguments, place, frame)
    if isinstance(base, (TextValue, Sequence, MapValue)):
        return methods.call(ev, base, name, arguments, place, frame)
    return methods.call_unknown(ev, base, name, arguments, place, frame)


def method_or_value(
    ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    """`base.name(...)` for any base."""
    if isinstance(base, _OBJECTS):
        return call_value(ev, members.attribute(ev, base, name, place, frame), arguments, place, frame)
    return call_method(ev, base, name, arguments, place, frame)


def _volatile_method(
    ev: Evaluator, base: Volatile, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    if ev.sources.takes_format(base.kind, name) and arguments.positional:
        directives = library.text_of(ev, arguments.positional[0])
        return members.formatted(ev, base, name, directives, place, frame)
    if ev.sources.sizes(name):
        return Derived("size", (base,), place)
    if name == "replace" and members.sets_back(base, arguments.keywords.keys()):
        return members.set_back(ev, base, frozenset(arguments.keywords), place)
    if name in ("split", "partition"):
        separator = library.text_of(ev, arguments.positional[0]) if arguments.positional else None
        return members.halves(ev, base, name, separator, place)
    if name in ("get", "pop") and arguments.positional:
        return indexing.item(ev, base, ev.force(arguments.positional[0]), place)
    if (
        base.kind in _OBJECT_KINDS
        and not ev.sources.passes_method(name)
        and ev.sources.narrow(base.kind, name) == base.kind
    ):
        return Unknown("method", (base,), name, place)
    return members.narrowed(ev, base, name, place)
