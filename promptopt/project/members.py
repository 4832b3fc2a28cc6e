"""Attributes, items and slices of values; objects of project classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from promptopt.project import objects, strings
from promptopt.project.frames import Frame
from promptopt.project.iteration import element, known_items
from promptopt.project.values import (
    EMPTY_ARGUMENTS,
    NONE,
    AgainItems,
    Alternatives,
    CallResult,
    ClassValue,
    Constant,
    Derived,
    EitherItems,
    External,
    Fixed,
    Function,
    Grown,
    Instance,
    Item,
    Lazy,
    MapValue,
    Member,
    Method,
    ModuleValue,
    Parameter,
    Pipe,
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

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Thunk

MAX_BASES: Final = 24
MAX_OVERRIDES: Final = 6
MAX_DISPATCH: Final = 16
"""Entries of a mapping of which one is looked up by a key that is not known."""

_PROPERTIES: Final = frozenset({"property", "cached_property", "computed_field", "functools.cached_property"})
_GROWING: Final = frozenset({"append", "extend", "insert", "add_message", "appendleft"})


def attribute(ev: Evaluator, base: Value, name: str, place: Place | None, frame: Frame | None = None) -> Value:
    """`base.name`."""
    if isinstance(base, External):
        return external(ev, f"{base.dotted}.{name}", place, frame)
    if isinstance(base, ModuleValue):
        return ev.world.module_attribute(base.path, name, ev)
    if isinstance(base, Instance):
        return instance_attribute(ev, base, name, place)
    if isinstance(base, ClassValue):
        return class_attribute(ev, base, name, place, None)
    if isinstance(base, Alternatives):
        return _over_alternatives(ev, base, lambda one: attribute(ev, one, name, place, frame))
    if isinstance(base, Volatile):
        return narrowed(ev, base, name, place)
    if isinstance(base, (TextValue, Constant)):
        return base if name == "value" else Member(base, name, "attribute", place)
    if isinstance(base, CallResult):
        return _result_attribute(ev, base, name, place)
    if isinstance(base, Parameter):
        return _parameter_attribute(ev, base, name, place)
    return named_member(ev, base, name, "attribute", place)


def _over_alternatives(ev: Evaluator, base: Alternatives, take: object) -> Value:
    values = [one for one in base.values if not (isinstance(one, Constant) and one.value is None)]
    return alternatives(base.condition, tuple(take(one) for one in values)) if values else NONE  # type: ignore[operator]  # take is the caller's lambda


def external(ev: Evaluator, dotted: str, place: Place | None, frame: Frame | None) -> Value:
    """A library's name; volatile where the source catalogue says that reading it is."""
    source = ev.world.read_source(dotted)
    return External(dotted) if source is None else ev.volatile(source.kind, place, frame)


def narrowed(ev: Evaluator, base: Volatile, name: str, place: Place | None) -> Value:
    """A part of a volatile value, such as the year of a time."""
    kind = ev.sources.narrow(base.kind, name)
    if kind == base.kind:
        return base
    return _as_kind(ev, base, kind, place)


def _as_kind(ev: Evaluator, base: Volatile, kind: str, place: Place | None) -> Value:
    source = ev.sources.kind(kind)
    level = {3: "process", 2: "process", 5: "session"}.get(int(base.volatility)) if base.volatility <= 5 else None
    volatility = source.volatility if level is None else min(source.volatility, base.volatility)
    return Volatile(
        kind, source.label, volatility, ev.text(place) or base.expression, base.place or place, base.by_name
    )


def formatted(
    ev: Evaluator, value: Value, method: str, directives: str | None, place: Place | None, frame: Frame | None
) -> Value:
    """A value printed by strftime directives, which decide between a time, a day and nothing."""
    if not isinstance(value, Volatile) or not ev.sources.takes_format(value.kind, method):
        return value
    if directives is None:
        return value
    kind = ev.sources.formatted(value.kind, directives)
    if not kind:
        return literal(directives)
    return value if kind == value.kind else _as_kind(ev, value, kind, place)


def identifier(value: Value) -> str | None:
    """The name a value goes by in the source."""
    if isinstance(value, Parameter | Variable):
        return value.name
    if isinstance(value, Member):
        return value.name or identifier(value.base)
    return value.name if isinstance(value, Unknown) else None


def named_member(ev: Evaluator, base: Value, name: str, how: str, place: Place | None) -> Value:
    """A part of something unknown, recognised by names where the catalogue lists them."""
    owner = identifier(base)
    if owner is not None and name:
        source = ev.sources.member(owner, name)
        if source is not None:
            return ev.volatile(source.kind, place, None, by_name=True)
    return Member(base, name, how, place)


def _parameter_attribute(ev: Evaluator, base: Parameter, name: str, place: Place | None) -> Value:
    typed = ev.world.annotated(base.annotation, base.scope, ev)
    if isinstance(typed, (ClassValue, External)):
        found = attribute(ev, ev.instance_of(typed), name, place) if isinstance(typed, ClassValue) else None
        if found is not None and not isinstance(found, Member):
            return found
        if isinstance(typed, External):
            source = ev.sources.annotation(typed.dotted)
            if source is not None:
                return ev.volatile(source.kind, place, None)
    return named_member(ev, base, name, "attribute", place)


def _result_attribute(ev: Evaluator, base: CallResult, name: str, place: Place | None) -> Value:
    shape = ev.sdks.message(base.dotted)
    if shape is not None and name == "content":
        found = ev.world.argument(base.arguments, shape[1].content, ev)
        if found is not None:
            return found
    if base.dotted.rpartition(".")[2] in ("SimpleNamespace", "Namespace") and name in base.arguments.keywords:
        return ev.force(base.arguments.keywords[name])
    source = ev.sources.attribute(f"{base.dotted}.{name}")
    return Member(base, name, "attribute", place) if source is None else ev.volatile(source.kind, place, None)


# Classes and objects


def ancestry(ev: Evaluator, cls: ClassValue) -> list[ClassValue]:
    """The class and its project bases, depth first."""
    known = ev.world.ancestries.get(cls.scope)
    if known is None:
        known = _ancestry(ev, cls)
        if not ev.exhausted:
            ev.world.ancestries[cls.scope] = known
    return known


def _ancestry(ev: Evaluator, cls: ClassValue) -> list[ClassValue]:
    found: dict[ScopeRef, ClassValue] = {}
    stack = [cls]
    while stack and len(found) < MAX_BASES:
        one = stack.pop()
        if one.scope in found:
            continue
        found[one.scope] = one
        parent = ev.parent(one.scope)
        if parent is None:
            continue
        bases = [ev.evaluate(base, ev.open_frame(parent), 1 << 60) for base in ev.scope(one.scope).bases]
        stack.extend(reversed([cls for cls in map(_class_of, bases) if cls is not None]))
    return list(found.values())


def _class_of(base: Value) -> ClassValue | None:
    if isinstance(base, Member):
        return _class_of(base.base)
    return base if isinstance(base, ClassValue) else None


def class_attribute(ev: Evaluator, cls: ClassValue, name: str, place: Place | None, receiver: Value | None) -> Value:
    """`Class.name`, or `object.name` where `receiver` is the object."""
    for one in ancestry(ev, cls):
        thunk = _definition(ev, one.scope, name)
        if thunk is not None and thunk[0] != "unset":
            return _bound(ev, ev.thunk(thunk, ev.open_frame(one.scope)), receiver, cls)
    return Member(receiver or cls, name, "attribute", place)


def _definition(ev: Evaluator, cls: ScopeRef, name: str) -> Thunk:
    """What a class body binds a name to; of a property the function that reads it."""
    flow = ev.flow(cls)
    thunk = flow.last(name)
    if thunk is not None and thunk[0] == "def" and _sets(ev, ScopeRef(cls.path, thunk[1])):
        return next((t for t in flow.all(name) if t[0] == "def" and not _sets(ev, ScopeRef(cls.path, t[1]))), thunk)
    return thunk


def _sets(ev: Evaluator, function: ScopeRef) -> bool:
    """Whether a function sets or deletes a property (`@name.setter`)."""
    return any(one[0] == "attr" and one[4] in ("setter", "deleter") for one in ev.scope(function).decorators)


def declared(ev: Evaluator, value: Value, annotation: str | None, scope: ScopeRef, place: Place | None) -> Value:
    """A value that is not known, as an object of the class that an annotation names."""
    if annotation is None or not (value is NONE or isinstance(value, (Unknown, Member))):
        return value
    typed = ev.world.annotated(annotation, scope, ev)
    if isinstance(typed, ClassValue):
        return ev.instance_of(typed)
    if isinstance(typed, External) and place is not None and ev.sdks.client(typed.dotted) is not None:
        return CallResult(typed.dotted, EMPTY_ARGUMENTS, place)
    return value


def _bound(ev: Evaluator, value: Value, receiver: Value | None, cls: ClassValue) -> Value:
    if isinstance(value, Function):
        names = {name.rpartition(".")[2] for name in ev.decorators(value.scope)}
        if "staticmethod" in names:
            return value
        if "classmethod" in names:
            return Method(value, cls)
        if receiver is not None:
            if names & _PROPERTIES:
                return ev.world.call(value, receiver, ev)
            return Method(value, receiver)
    if isinstance(value, CallResult):
        return _field_default(ev, value)
    return value


def _field_default(ev: Evaluator, value: CallResult) -> Value:
    if value.dotted.rpartition(".")[2] not in ("field", "Field", "attrib", "PrivateAttr"):
        return value
    if "default" in value.arguments.keywords:
        return ev.force(value.arguments.keywords["default"])
    factory = value.arguments.keywords.get("default_factory") or value.arguments.keywords.get("factory")
    if factory is not None:
        return ev.world.call(ev.force(factory), None, ev)
    if value.arguments.positional:
        first = ev.force(value.arguments.positional[0])
        return Unknown("required") if first is NONE else first
    return Unknown("required")


def instance_attribute(ev: Evaluator, instance: Instance, name: str, place: Place | None) -> Value:
    """`object.name`: what its methods assign, its fields, its class's attributes and methods; at least what its
    class declares it to be."""
    changed = objects.attribute(ev, instance, name) if instance.state is not None else None
    if changed is not None:
        return changed
    value = _attribute_value(ev, instance, name, place)
    if value is NONE or isinstance(value, (Unknown, Member)):
        for cls in ancestry(ev, instance.cls):
            for statement in ev.scope(cls.scope).body:
                if statement[0] == "annotated" and statement[5][0] == "name" and statement[5][3] == name:
                    return declared(ev, value, statement[6], cls.scope, place)
    return value


def _attribute_value(ev: Evaluator, instance: Instance, name: str, place: Place | None) -> Value:
    written = _written(ev, instance, name)
    if written is not None:
        return written
    given = _field(ev, instance, name)
    if given is not None:
        return given
    found = class_attribute(ev, instance.cls, name, place, instance)
    if not isinstance(found, Member) and not (instance.arguments is None and _is_abstract(ev, found)):
        return found
    overridden = _overridden(ev, instance, name, place) if instance.arguments is None else None
    if overridden is not None:
        return overridden
    owner = ev.scope(instance.cls.scope).name.rpartition(".")[2]
    source = ev.sources.member(owner, name)
    if source is not None:
        return ev.volatile(source.kind, place, None, by_name=True)
    return _looked_up(ev, instance, name, place) or found


def _looked_up(ev: Evaluator, instance: Instance, name: str, place: Place | None) -> Value | None:
    """What the class's `__getattr__` returns for a name that nothing defines."""
    key = (id(instance), instance.cls.scope, f"__getattr__ {name}")
    if name.startswith("__") or key in ev.world.pending:
        return None
    hook = class_attribute(ev, instance.cls, "__getattr__", None, instance)
    if not isinstance(hook, Method):
        return None
    ev.world.pending.add(key)
    try:
        value = ev.world.apply(hook, (literal(name),), place or Place("", 0, 0), None, ev)
    finally:
        ev.world.pending.discard(key)
    return None if isinstance(value, Unknown) else value


def shown(ev: Evaluator, value: Value) -> Value:
    """What an object of a project class prints as, where the class says so."""
    if isinstance(value, Instance):
        for name in ("__str__", "__repr__"):
            method = class_attribute(ev, value.cls, name, None, value)
            if not isinstance(method, Member):
                return ev.world.call(method, None, ev)
    return value


def _field(ev: Evaluator, instance: Instance, name: str) -> Value | None:
    """An argument that a generated constructor (dataclass, pydantic) stores under its own name."""
    if instance.arguments is None or constructor(ev, instance.cls) is not None:
        return None
    given = instance.arguments.keywords.get(name)
    if given is None and instance.arguments.positional and not instance.arguments.open:
        names = ev.world.fields(instance.cls, ev)
        index = names.index(name) if name in names else len(instance.arguments.positional)
        if index < len(instance.arguments.positional):
            given = instance.arguments.positional[index]
    return None if given is None else ev.force(given)


def constructor(ev: Evaluator, cls: ClassValue) -> ScopeRef | None:
    """The scope of `__init__`."""
    for one in ancestry(ev, cls):
        thunk = ev.flow(one.scope).last("__init__")
        if thunk is not None and thunk[0] == "def":
            return ScopeRef(one.scope.path, thunk[1])
    return None


def _is_abstract(ev: Evaluator, value: Value) -> bool:
    """Whether a method only says that subclasses must define it."""
    if not isinstance(value, Method):
        return False
    scope = ev.scope(value.function.scope)
    body = [
        statement for statement in scope.body if statement[0] != "expression" or statement[5][0] not in ("lit", "unk")
    ]
    return not body or (len(body) == 1 and body[0][0] == "stop")


def _overridden(ev: Evaluator, instance: Instance, name: str, place: Place | None) -> Value | None:
    values = []
    for ref in ev.world.subclasses(instance.cls.scope, ev)[:MAX_OVERRIDES]:
        thunk = ev.flow(ref).last(name)
        if thunk is not None and thunk[0] != "unset":
            values.append(
                _bound(ev, ev.thunk(thunk, ev.open_frame(ref)), ev.instance_of(ClassValue(ref)), ClassValue(ref))
            )
            continue
        written = _written(ev, ev.instance_of(ClassValue(ref)), name)
        if written is not None:
            values.append(written)
    return alternatives("subclass", tuple(values)) if values else None


def _written(ev: Evaluator, instance: Instance, name: str) -> Value | None:
    """What methods assign to `self.name`: the constructor's value, others as alternatives, and a mark
    where methods make a list grow."""
    writes = ev.world.writes(instance.cls, ev).get(name)
    if not writes:
        return None
    key = (id(instance), instance.cls.scope, name)
    if key in ev.world.pending:
        return Unknown("cycle", name=name)
    ev.world.pending.add(key)
    try:
        return _joined_writes(ev, instance, name, writes)
    finally:
        ev.world.pending.discard(key)


def _joined_writes(ev: Evaluator, instance: Instance, name: str, writes: list[tuple[ScopeRef, str]]) -> Value:
    initial: list[Value] = []
    later: list[Value] = []
    grows: Place | None = None
    for ref, path in writes[:12]:
        thunks = ev.flow(ref).all(path)
        if not thunks:  # in unreachable code
            continue
        mutated = [t for t in thunks if t[0] == "mutate"]
        assigned = [t for t in thunks if t[0] not in ("mutate", "unset", "loophead", "loopexit")]
        is_init = ev.scope(ref).name.endswith(("__init__", "__post_init__", "setup", "model_post_init"))
        grown = next((t for t in mutated if _adds_items(t) and not t[2]), None)
        if grown is not None and not is_init and instance.state is None:
            grows = Place(ref.path, *grown[6])
        if is_init:
            initial.append(ev.thunk(thunks[-1], method_frame(ev, instance, ref)))
        elif assigned:
            later.append(objects.settled(ev, ev.thunk(assigned[-1], method_frame(ev, instance, ref))))
    if not initial:
        default = class_attribute(ev, instance.cls, name, None, instance)
        initial = [] if isinstance(default, (Member, Unknown)) else [default]
    values = [v for v in (*initial, *later) if not _empty(v)] or initial or later
    value = alternatives("assigned", tuple(values)) if values else Unknown("attribute", name=name)
    return _growing(value, grows) if grows is not None else value


def _adds_items(thunk: Thunk) -> bool:
    """Whether a mutation makes a list longer; `+=` of anything but a list literal may concatenate text."""
    return thunk[3] in _GROWING or (thunk[3] == "augment+" and thunk[4][0][0] in ("seq", "comp"))


def _empty(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _growing(value: Value, place: Place) -> Value:
    grown = Splice(Grown("session", place), place)
    if isinstance(value, Sequence):
        return Sequence(value.kind, (*value.items, grown), value.order, value.place)
    if isinstance(value, Alternatives):
        runs = [one for one in value.values if isinstance(one, Sequence)]
        if runs:
            return _growing(max(runs, key=lambda one: len(one.items)), place)
    if isinstance(value, (Unknown, Parameter, Member, Constant)):
        return Sequence("list", (Splice(value, place), grown), None, place)
    return value


def method_frame(ev: Evaluator, instance: Instance, ref: ScopeRef) -> Frame:
    """The frame of a method of an object; the constructor's has the object's arguments."""
    key = (id(instance), ref)
    frame = ev.instance_frames.get(key)
    if frame is None:
        frame = _new_method_frame(ev, instance, ref)
        ev.instances.append(instance)
        ev.instance_frames[key] = frame
    return frame


def _new_method_frame(ev: Evaluator, instance: Instance, ref: ScopeRef) -> Frame:
    parent = ev.parent(ref)
    closure = ev.open_frame(parent) if parent is not None else None
    level = None
    bindings: dict[str, Lazy | Value] = {}
    if ev.scope(ref).name.endswith(("__init__", "__post_init__", "model_post_init")):
        level = "process" if instance.at_import else "session"
        if instance.arguments is not None:
            bindings = ev.world.bind(ref, instance.arguments, skip=1, ev=ev)
    return Frame(ref, bindings, receiver=instance, closure=closure, level=level, call=instance.place)


# Items and slices


def item(ev: Evaluator, base: Value, key: Value, place: Place | None) -> Value:
    """`base[key]`."""
    name = constant_key(key)
    if isinstance(base, MapValue):
        return _map_item(ev, base, name, key, place)
    if isinstance(base, Sequence) and isinstance(name, int):
        found = _sequence_item(base, name, ev.text(place))
        return found if found is not None else element(ev, base, place)
    if isinstance(base, Alternatives):
        return _over_alternatives(ev, base, lambda one: item(ev, one, key, place))
    if isinstance(base, Volatile) and isinstance(name, str):
        return narrowed(ev, base, name, place)
    if isinstance(base, (Volatile, External, ClassValue, Function, TextValue)):
        return base if not isinstance(base, TextValue) else Derived("index", (base, key), place)
    if isinstance(base, Grown):
        return Member(base, "", "item", place)
    if isinstance(name, str):
        return named_member(ev, base, name, "item", place)
    return Member(base, "" if name is ... else str(name), "item", place)


def _map_item(ev: Evaluator, base: MapValue, name: object, key: Value, place: Place | None) -> Value:
    if name is not ... and name in base.entries:
        return base.entries[name]
    if name is ...:
        values = tuple(base.entries.values())
        if values and len(values) <= MAX_DISPATCH and not base.rest:
            return alternatives(ev.text(place), values, limit=MAX_DISPATCH)
        # which entry is chosen changes with the key, but not what the entries say
        return Derived("item", (*values[:6], *base.rest), place)
    return Member(base.rest[0], str(name), "item", place) if base.rest else Unknown("key", name=str(name))


def _sequence_item(base: Sequence, index: int, label: str) -> Value | None:
    """The element at an index; None where what stands before it is not known to the element."""
    if base.order is not None:
        return None
    backwards = index < 0
    ways = _at(base.items[::-1] if backwards else base.items, -1 - index if backwards else index, backwards=backwards)
    found = list(islice(ways, MAX_DISPATCH + 1))
    known = tuple(one for one in found if one is not None)
    if not known or len(found) > MAX_DISPATCH or len(known) < len(found):
        return None
    return alternatives(label, known)


def _at(items: tuple[Item, ...], index: int, *, backwards: bool) -> Iterator[Value | None]:
    """What may stand `index` elements on: one value for each way through the choices; a way that ends early has
    none, and one that meets items of unknown number gives None."""
    for place, one in enumerate(items):
        if isinstance(one, EitherItems):
            for run in one.alternatives:
                yield from _at(((run[::-1] if backwards else run) + items[place + 1 :]), index, backwards=backwards)
            return
        if not isinstance(one, Value):
            yield None
            return
        if index == 0:
            yield one
            return
        index -= 1


def cut(ev: Evaluator, base: Value, bounds: tuple[Value | None, ...], place: Place | None) -> Value:
    """`base[lo:hi:step]`."""
    keys = tuple(None if one is None else constant_key(one) for one in bounds)
    if isinstance(base, Sequence):
        items = known_items(base)
        if items is not None and all(key is None or isinstance(key, int) for key in keys):
            return Sequence(base.kind, tuple(items[slice(*keys)]), None, base.place)
        if keys == (None, None, None):
            return base
        kept = (base.items[0],) if keys[0] in (None, 0) and base.items and isinstance(base.items[0], Value) else ()
        rest = Sequence(base.kind, base.items[len(kept) :], base.order, base.place)
        return Sequence(base.kind, (*kept, Splice(Member(rest, "", "slice", place), place)), base.order, base.place)
    if isinstance(base, TextValue):
        whole = plain(base)
        if whole is not None and all(key is None or isinstance(key, int) for key in keys):
            return literal(whole[slice(*keys)], place)
        if keys[0] in (None, 0) and len(keys) > 1 and keys[1] is not None and keys[2:] in ((), (None,)):
            return strings.shortened(base, keys[1] if isinstance(keys[1], int) else None)
        return Derived("slice", (base,), place)
    if isinstance(base, Alternatives):
        return _over_alternatives(ev, base, lambda one: cut(ev, one, bounds, place))
    if isinstance(base, Volatile) or (isinstance(base, Derived) and base.how == "tokens"):
        return base
    return Member(base, "", "slice", place)


def union(ev: Evaluator, left: Value, right: Value, place: Place) -> Value:
    """`left | right`: mappings merged, sets united, runnables composed."""
    if isinstance(left, MapValue) and isinstance(right, MapValue) and not ev.world.runnable(right):
        return MapValue({**left.entries, **right.entries}, (*left.rest, *right.rest), left.place)
    sides = [side for side in (left, right) if isinstance(side, Sequence) and side.kind == "set"]
    if sides:
        items = tuple(
            one
            for side in (left, right)
            for one in (side.items if isinstance(side, Sequence) else (Splice(side, place),))
        )
        return Sequence("set", items, sides[0].order or ev.volatile("set-order", place, None), place)
    return Pipe((*_steps(left), *_steps(right)))


def _steps(value: Value) -> tuple[Value, ...]:
    return value.steps if isinstance(value, Pipe) else (value,)


def entered(ev: Evaluator, value: Value) -> Value:
    """The target of `with value as target`."""
    if isinstance(value, Instance):
        found = class_attribute(ev, value.cls, "__enter__", None, value)
        if isinstance(found, Method):
            result = ev.world.call(found, None, ev)
            return value if isinstance(result, Unknown) else result
    return value


def spread(items: tuple[Item, ...]) -> list[Value]:
    """All values among items, whatever run or repetition they stand in."""
    values: list[Value] = []
    for one in items:
        if isinstance(one, EitherItems):
            for run in one.alternatives:
                values += spread(run)
        elif isinstance(one, AgainItems):
            values += [one.over, *spread(one.items)]
        else:
            values.append(one.value if isinstance(one, Splice) else one)
    return values


__all__ = ["Fixed", "attribute", "cut", "entered", "external", "formatted", "item", "narrowed", "spread", "union"]
