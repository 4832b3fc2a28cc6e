"""Classes of the project and their objects: inheritance, attributes, and what methods write to `self`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptopt.project import lifetime, memo, objects
from promptopt.project.frames import END, Frame
from promptopt.project.targets import path_of
from promptopt.project.values import (
    EMPTY_ARGUMENTS,
    NONE,
    Alternatives,
    CallResult,
    ClassValue,
    Constant,
    External,
    Function,
    Grown,
    Instance,
    Lazy,
    Member,
    Method,
    Parameter,
    Place,
    ScopeRef,
    Sequence,
    Splice,
    Unknown,
    Value,
    Volatile,
    alternatives,
    is_none,
    literal,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.flow import Thunk

MAX_BASES: Final = 24
MAX_OVERRIDES: Final = 6
_PROPERTIES: Final = frozenset({"property", "cached_property", "computed_field", "functools.cached_property"})
_GROWING: Final = frozenset({"append", "extend", "insert", "add_message", "appendleft"})


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
        stack.extend(reversed([cls for cls in map(_class_of, bases(ev, one)) if cls is not None]))
    return list(found.values())


def bases(ev: Evaluator, cls: ClassValue) -> list[Value]:
    """What stands in the brackets of a class's definition."""
    parent = ev.parent(cls.scope)
    if parent is None:
        return []
    return [ev.evaluate(base, ev.open_frame(parent), END) for base in ev.scope(cls.scope).bases]


def _class_of(base: Value) -> ClassValue | None:
    if isinstance(base, Member):
        return _class_of(base.base)
    return base if isinstance(base, ClassValue) else None


def constructor(ev: Evaluator, cls: ClassValue) -> ScopeRef | None:
    """The scope of `__init__`."""
    for one in ancestry(ev, cls):
        thunk = ev.flow(one.scope).last("__init__")
        if thunk is not None and thunk[0] == "def":
            return ScopeRef(one.scope.path, thunk[1])
    return None


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
        return ev.recurrence.lasting(ev.world.apply(ev.force(factory), (), value.place, None, ev), "session")
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
    written = _written(ev, instance, name, place)
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


def entered(ev: Evaluator, value: Value) -> Value:
    """The target of `with value as target`."""
    if isinstance(value, Instance):
        found = class_attribute(ev, value.cls, "__enter__", None, value)
        if isinstance(found, Method):
            result = ev.world.call(found, None, ev)
            return value if isinstance(result, Unknown) else result
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
        written = _written(ev, ev.instance_of(ClassValue(ref)), name, place)
        if written is not None:
            values.append(written)
    return alternatives("subclass", tuple(values)) if values else None


def _written(ev: Evaluator, instance: Instance, name: str, place: Place | None) -> Value | None:
    """What methods assign to `self.name`: the constructor's value, others as alternatives, and a mark
    where methods make a list grow. `place` is where it is read."""
    writes = ev.world.writes(instance.cls, ev).get(name)
    if not writes:
        return None
    key = (id(instance), instance.cls.scope, name)
    if key in ev.world.pending:
        return Unknown("cycle", name=name)
    ev.world.pending.add(key)
    try:
        return _joined_writes(ev, instance, name, writes, place)
    finally:
        ev.world.pending.discard(key)


def _joined_writes(
    ev: Evaluator, instance: Instance, name: str, writes: list[tuple[ScopeRef, str]], place: Place | None
) -> Value:
    initial: list[Value] = []
    later: list[Value] = []
    grows: Grown | None = None
    for ref, path in writes[:12]:
        thunks = ev.flow(ref).all(path)
        if not thunks:  # in unreachable code
            continue
        mutated = [t for t in thunks if t[0] == "mutate"]
        assigned = [t for t in thunks if _assigns(t, path)]
        is_init = ev.scope(ref).name.endswith(("__init__", "__post_init__", "setup", "model_post_init"))
        grown = next((t for t in mutated if _adds_items(t) and not t[2]), None)
        if grown is not None and not is_init and instance.state is None:
            added = Place(ref.path, *grown[6])
            grows = Grown("session", added, place is None or ev.recurrence.recurs(place, ref, (added.start,)))
        if is_init:
            initial.append(ev.thunk(thunks[-1], method_frame(ev, instance, ref)))
        elif assigned:
            value = objects.settled(ev, ev.thunk(assigned[-1], method_frame(ev, instance, ref)))
            value = _kept_answer(value, name)
            if memo.looks_for(ev.scope(ref), path):
                value = ev.recurrence.lasting(value, "session")
            later.append(value if place is None else _as_often(ev, value, place, ref, assigned))
    if not initial:
        default = class_attribute(ev, instance.cls, name, None, instance)
        initial = [] if isinstance(default, (Member, Unknown)) else [default]
    values = [v for v in (*initial, *later) if not is_none(v)] or initial or later
    value = alternatives("assigned", tuple(values)) if values else Unknown("attribute", name=name)
    return _growing(value, grows) if grows is not None else value


def _assigns(thunk: Thunk, path: str) -> bool:
    """Whether a definition of an attribute gives it another value; where a branch only adds to a list, what the
    branch leads to does not."""
    if thunk is None or thunk[0] in ("mutate", "unset", "loophead", "loopexit", "stop"):
        return False
    if thunk[0] == "join":
        return _assigns(thunk[3], path) or _assigns(thunk[4], path)
    return thunk[0] != "expr" or path_of(thunk[1]) != path


def _kept_answer(value: Value, name: str) -> Value:
    """What another method has stored: an answer of a model that is kept may serve many requests."""
    return Unknown("kept", name=name) if _is_answer(value) else value


def _is_answer(value: Value) -> bool:
    if isinstance(value, Alternatives):
        return any(_is_answer(one) for one in value.values)
    if isinstance(value, Member):
        return _is_answer(value.base)
    return isinstance(value, Volatile) and value.kind == "model-output"


def _adds_items(thunk: Thunk) -> bool:
    """Whether a mutation makes a list longer; `+=` of anything but a list literal may concatenate text."""
    return thunk[3] in _GROWING or (thunk[3] == "augment+" and thunk[4][0][0] in ("seq", "comp"))


def _as_often(ev: Evaluator, value: Value, read: Place, writer: ScopeRef, assigned: list[Thunk]) -> Value:
    """What another method has stored, which changes no more often than that method stores it."""
    if ev.recurrence.within(read, writer):
        return value
    offsets = [offset for thunk in assigned if (offset := _offset(thunk)) is not None]
    return ev.recurrence.lasting(value, "request" if ev.recurrence.recurs(read, writer, offsets) else "kept")


def _offset(thunk: Thunk) -> int | None:
    """Where a definition takes its value from; None for one that joins others."""
    if thunk[0] == "unpack":
        return _offset(thunk[1])
    return thunk[1][1] if thunk[0] in ("expr", "each", "enter") else None


def _growing(value: Value, grown: Grown) -> Value:
    added = Splice(grown, grown.place)
    if isinstance(value, Sequence):
        return Sequence(value.kind, (*value.items, added), value.order, value.place)
    if isinstance(value, Alternatives):
        runs = [one for one in value.values if isinstance(one, Sequence)]
        if runs:
            return _growing(max(runs, key=lambda one: len(one.items)), grown)
    if isinstance(value, (Unknown, Parameter, Member, Constant)):
        return Sequence("list", (Splice(value, grown.place), added), None, grown.place)
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
        level = "process" if instance.at_import or lifetime.is_single(ev, instance.cls) else "session"
        if instance.arguments is not None:
            bindings = ev.world.bind(ref, instance.arguments, skip=1, ev=ev)
    return Frame(ref, bindings, receiver=instance, closure=closure, level=level, call=instance.place)
