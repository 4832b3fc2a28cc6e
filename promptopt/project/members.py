"""Attributes of values, and names that the source catalogue knows."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, jinja
from promptopt.project.frames import Frame
from promptopt.project.values import (
    Alternatives,
    CallResult,
    ClassValue,
    Constant,
    Derived,
    External,
    Instance,
    MapValue,
    Member,
    ModuleValue,
    Namespace,
    Parameter,
    Place,
    Sequence,
    TextValue,
    Unknown,
    Value,
    Variable,
    Volatile,
    literal,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator


def attribute(ev: Evaluator, base: Value, name: str, place: Place | None, frame: Frame | None = None) -> Value:
    """`base.name`."""
    if isinstance(base, External):
        return external(ev, f"{base.dotted}.{name}", place, frame)
    if isinstance(base, (ModuleValue, Namespace)):
        return _global(ev, base, name)
    if isinstance(base, Instance):
        return classes.instance_attribute(ev, base, name, place)
    if isinstance(base, ClassValue):
        return classes.class_attribute(ev, base, name, place, None)
    if isinstance(base, Alternatives):
        return base.reached(lambda one: attribute(ev, one, name, place, frame))
    if isinstance(base, Volatile):
        return narrowed(ev, base, name, place)
    if isinstance(base, (TextValue, Constant)):
        return base if name == "value" else Member(base, name, "attribute", place)
    if isinstance(base, CallResult):
        return _result_attribute(ev, base, name, place)
    if isinstance(base, Parameter):
        return _parameter_attribute(ev, base, name, place)
    entry = base.entries.get(name) if isinstance(base, MapValue) else None
    return named_member(ev, base, name, "attribute", place) if entry is None else entry


def _global(ev: Evaluator, base: ModuleValue | Namespace, name: str) -> Value:
    if isinstance(base, Namespace):
        return jinja.attribute(ev, base, name)
    return ev.world.module_attribute(base.path, name, ev)


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
    expression = ev.text(place) or base.expression
    # a part of the session is read where it is named, a part of a time comes from where the clock was read
    origin = place if expression.startswith(f"{base.expression}.") else base.place
    return Volatile(kind, source.label, volatility, expression, origin or place, base.by_name)


def formatted(
    ev: Evaluator, value: Value, method: str, directives: str | None, place: Place | None, frame: Frame | None
) -> Value:
    """A value printed by strftime directives, which decide between a time, a day, a month and nothing."""
    if isinstance(value, Alternatives):
        return value.over(lambda one: formatted(ev, one, method, directives, place, frame))
    if isinstance(value, (Parameter, Member)) and directives is not None and "%" in directives:
        return Derived(method, (value, literal(directives)), place)
    if not isinstance(value, Volatile) or not ev.sources.takes_format(value.kind, method):
        return value
    if directives is None:
        return value
    kind = ev.sources.formatted(value.kind, directives)
    if not kind:
        return literal(directives)
    return value if kind == value.kind else _as_kind(ev, value, kind, place)


_ID: Final = re.compile(r"(^|_)(id|uuid|guid|pk|slug)$")

MAX_DAY: Final = 10
"""Characters of a printed day."""

MAX_MONTH: Final = 7
"""Characters of a printed year and month."""

PRINTED_MONTH: Final = "%Y-%m"

PRINTED_DAY: Final = "%Y-%m-%d"
"""How a time begins that is printed without directives; the hour follows behind a space or a T."""


def printed_day(ev: Evaluator, value: Value, end: int, place: Place | None) -> Value:
    """The first characters of a time that is printed without directives: its day where they end ahead of the hour."""
    is_plain = isinstance(value, Volatile) and "strf" not in value.expression
    directives = PRINTED_MONTH if end <= MAX_MONTH else PRINTED_DAY
    return formatted(ev, value, "strftime", directives, place, None) if is_plain and end <= MAX_DAY else value


OF_A_DAY: Final = frozenset({"hour", "minute", "second", "microsecond"})


def sets_back(value: Volatile, fields: Collection[str]) -> bool:
    """Whether `now.replace(hour=0, ...)` leaves a day, or `today.replace(day=1)` a month."""
    return set(fields) >= OF_A_DAY or (value.kind == "date" and "day" in fields)


def set_back(ev: Evaluator, value: Value, fields: frozenset[str], place: Place | None) -> Value:
    """`now.replace(hour=0, minute=0, ...)`: where all that passes within a day is set, its day is left."""
    directives = PRINTED_MONTH if "day" in fields else PRINTED_DAY
    if isinstance(value, Volatile):
        return formatted(ev, value, "strftime", directives, place, None)
    return Derived("strftime", (value, literal(directives)), place)


def halves(ev: Evaluator, value: Volatile, method: str, separator: str | None, place: Place) -> Value:
    """A printed time taken apart into day and hour."""
    day = printed_day(ev, value, MAX_DAY, place)
    if day is value or separator not in (None, " ", "T"):
        return value
    return Sequence("list", (day, value) if method == "split" else (day, literal(separator or ""), value), None, place)


def identifier(value: Value) -> str | None:
    """The name a value goes by in the source."""
    if isinstance(value, Parameter | Variable):
        return value.name
    if isinstance(value, Member):
        return None if value.name.startswith("_") else value.name or identifier(value.base)
    return value.name if isinstance(value, Unknown) else None


def kept_under(ev: Evaluator, base: Value, keys: tuple[Value, ...], place: Place | None) -> Derived | None:
    """The record that something not known keeps under a key; None where no key is an id, or where the name of what
    keeps it tells more."""
    owner, found = identifier(base), keys_among(keys)
    if owner is not None and ev.sources.name(owner) is not None:
        return None
    return Derived("lookup", found, place) if any(map(is_id, found)) else None


def keys_among(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values that may be keys of records: neither classes nor constants."""
    return tuple(one for one in values if not isinstance(one, (ClassValue, External, Constant, TextValue)))


def is_id(key: Value) -> bool:
    """Whether a value goes by the name of an id."""
    if isinstance(key, Derived) and len(key.inputs) == 1:
        return is_id(key.inputs[0])
    name = key.expression.rpartition(".")[2] if isinstance(key, Volatile) else identifier(key)
    return name is not None and is_id_name(name)


def is_id_name(name: str) -> bool:
    """Whether a name says that something is an id."""
    return bool(_ID.search(name))


def named_member(ev: Evaluator, base: Value, name: str, how: str, place: Place | None) -> Value:
    """A part of something unknown, recognised by names where the catalogue lists them."""
    if isinstance(base, Derived) and base.how == "lookup" and ev.sources.member("", name) is not None:
        return Derived("record", base.inputs, place)
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
                return ev.volatile(ev.sources.narrow(source.kind, name), place, None)
    return named_member(ev, base, name, "attribute", place)


def _result_attribute(ev: Evaluator, base: CallResult, name: str, place: Place | None) -> Value:
    shape = ev.sdks.message(base.dotted)
    if shape is not None and name in ("role", "type"):
        said = ev.world.role(base, ev) if name == "role" else shape[1].type
        return literal(said, base.place) if said else Member(base, name, "attribute", place)
    if shape is not None and name == "content":
        found = ev.world.argument(base.arguments, shape[1].content, ev)
        if found is not None:
            return found
    if base.dotted.rpartition(".")[2] in ("SimpleNamespace", "Namespace") and name in base.arguments.keywords:
        return ev.force(base.arguments.keywords[name])
    source = ev.sources.attribute(f"{base.dotted}.{name}")
    return Member(base, name, "attribute", place) if source is None else ev.volatile(source.kind, place, None)
