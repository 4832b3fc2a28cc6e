"""How often a value changes, and why: values to volatility and causes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from promptopt.project import indexing, members
from promptopt.project.recurrence import STORED, stored
from promptopt.project.values import (
    AgainItems,
    Alternatives,
    CallResult,
    ClassValue,
    Constant,
    Derived,
    Either,
    EitherItems,
    External,
    Fixed,
    Function,
    Grown,
    Hole,
    Instance,
    Item,
    Literal,
    MapValue,
    Member,
    Method,
    ModuleValue,
    Parameter,
    Piece,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Variable,
    Volatile,
    item_values,
    literal,
    plain,
    with_parts,
)
from promptopt.prompt import Cause, Volatility
from promptopt.source import Location, Span

if TYPE_CHECKING:
    from promptopt.project.callers import Callers, CallSite
    from promptopt.project.evaluate import Evaluator

Description: TypeAlias = tuple[Volatility, tuple[Cause, ...]]

CONSTANT: Final[Description] = (Volatility.CONSTANT, ())
UNKNOWN: Final[Description] = (Volatility.UNKNOWN, ())

MAX_CAUSES: Final = 6
MAX_HOPS: Final = 4
"""Callers of callers that a parameter inside a text is followed through."""

MAX_DEPTH: Final = 150
"""Values within values that are looked into."""

_MAY_BE_MAPPING: Final = re.compile(r"dict|mapping|any\b|object|json", re.IGNORECASE)

_NAMEABLE: Final = frozenset({"user-words", "retrieved-passages", "conversation-history"})
_TEXTS: Final = frozenset(
    {
        "user-words",
        "chat-message",
        "retrieved-passages",
        "input-text",
        "tool-output",
        "model-output",
        "conversation-history",
    }
)
"""Kinds of texts that are known by name."""

_TEXT_FIELDS: Final = frozenset({"text", "content", "contents", "body", "value", "raw", "message", "title"})
"""Attributes and keys that hold what an object is about; others may say anything (`context.language`)."""

_PRINTING: Final = frozenset({"join", "repr", "+", "%", "method"})
"""Operations that put their inputs into text as they print."""

_MAPPINGS_READ: Final = frozenset({"json.loads", "orjson.loads", "ujson.loads", "yaml.safe_load"})
"""Functions that read a mapping whose keys come in the order of a text made elsewhere."""


class Describer:
    """Describes values; parameters are joined over the callers that bind them."""

    def __init__(self, ev: Evaluator, callers: Callers) -> None:
        self.ev = ev
        self.callers = callers
        self._memo: dict[Hashable, tuple[Value, Description, int]] = {}
        self._active: set[Hashable] = set()
        self._hops = 0
        self._cuts = 0

    def forget(self) -> None:
        """Drop what is known of values."""
        self._memo.clear()

    def of(self, value: Value) -> Description:
        """Volatility and causes, the most volatile first."""
        key = (value.scope, value.name) if isinstance(value, Parameter) else id(value)
        found = self._memo.get(key)
        if found is not None and found[2] <= self._hops:
            return found[1]
        if key in self._active or len(self._active) > MAX_DEPTH:
            self._cuts += 1
            return CONSTANT
        cuts = self._cuts
        self._active.add(key)
        try:
            description = self._describe(value)
        finally:
            self._active.discard(key)
        # what was cut off by a bound counts only for those who had no more room themselves
        self._memo[key] = (value, description, self._hops if self._cuts > cuts else 0)
        return description

    def _describe(self, value: Value) -> Description:
        if isinstance(value, Volatile):
            return value.volatility, (self.cause(value),)
        if isinstance(value, (Constant, Function, Method, ClassValue, ModuleValue)):
            return CONSTANT
        if isinstance(value, TextValue):
            return self.joined(self._piece(piece) for piece in value.pieces)
        if isinstance(value, Sequence):
            return self._sequence(value)
        if isinstance(value, MapValue):
            return self.joined(map(self.of, (*value.entries.values(), *value.rest)))
        if isinstance(value, Alternatives):
            return self.joined(map(self.of, value.values))
        if isinstance(value, Parameter):
            return self._parameter(value)
        if isinstance(value, Derived):
            return self._derived(value)
        return self._rest(value)

    def _rest(self, value: Value) -> Description:
        if isinstance(value, Fixed):
            return value.volatility, ()
        if isinstance(value, External):
            known = self.ev.sdks.is_constant(value.dotted) or value.dotted.rpartition(".")[2].isupper()
            return CONSTANT if known else UNKNOWN
        if isinstance(value, Grown):
            if not value.steady:
                return UNKNOWN
            return self._named("loop-growth" if value.where == "loop" else "growing-list", value.place, "")
        if isinstance(value, Variable):
            source = self.ev.sources.template_name(value.name)
            return UNKNOWN if source is None else self._named(source.kind, value.place, value.name, by_name=True)
        if isinstance(value, Member):
            return self._member(value)
        if isinstance(value, Unknown):
            return self._unknown(value)
        if isinstance(value, CallResult):
            return self._call_result(value)
        if isinstance(value, Instance) and self._is_plain(value):
            return self._named("object-address", value.place, "")
        return UNKNOWN

    def cause(self, value: Volatile) -> Cause:
        """The cause that a volatile value is."""
        chain = (location(value.place),) if value.place is not None else ()
        return Cause(value.kind, value.label, value.volatility, value.expression, chain, value.by_name)

    def _named(self, kind: str, place: Place | None, expression: str, *, by_name: bool = False) -> Description:
        source = self.ev.sources.kind(kind)
        chain = (location(place),) if place is not None else ()
        words = expression or self.ev.text(place)
        return source.volatility, (Cause(kind, source.label, source.volatility, words, chain, by_name),)

    def joined(self, descriptions: Iterable[Description]) -> Description:
        """The higher volatility and all causes."""
        volatility = Volatility.CONSTANT
        causes: dict[tuple[str, str], Cause] = {}
        for level, found in descriptions:
            volatility = max(volatility, level)
            for cause in found:
                causes.setdefault((cause.kind, cause.expression), cause)
        ordered = sorted(causes.values(), key=lambda cause: -cause.volatility)
        return volatility, tuple(ordered[:MAX_CAUSES])

    def _piece(self, piece: Piece) -> Description:
        if isinstance(piece, Literal):
            return CONSTANT
        if isinstance(piece, Hole):
            return self.hole(piece)
        if isinstance(piece, Either):
            return self.joined(self._piece(one) for run in piece.alternatives for one in run)
        body = [self._piece(one) for one in piece.pieces]
        return self.joined([self.repetition(piece.over), *body])

    def repetition(self, over: Value) -> Description:
        """How often something is repeated for each element of a value: for a mapping its keys count."""
        if isinstance(over, MapValue):
            return UNKNOWN if over.rest else CONSTANT
        return self.of(over)

    def hole(self, hole: Hole) -> Description:
        """A hole's value, by its name where the value itself is not known."""
        description = self.of(hole.value)
        if description[0] is not Volatility.UNKNOWN:
            return description
        if description[1] and _shows_all(hole.value):
            return description[1][0].volatility, description[1]
        if not hole.expression.isidentifier() or _is_record(hole.value):
            return description
        source = self.ev.sources.name(hole.expression)
        if source is None or source.kind not in _NAMEABLE:
            return description
        return self.joined([self._named(source.kind, hole.passed or hole.place, hole.expression, by_name=True)])

    def _sequence(self, value: Sequence) -> Description:
        description = self.joined(self._item(item) for item in value.items)
        if value.order is None:
            return description
        return self.joined([description, (value.order.volatility, (self.cause(value.order),))])

    def _item(self, item: Item) -> Description:
        if isinstance(item, Splice):
            return self.of(item.value)
        if isinstance(item, EitherItems):
            return self.joined(self._item(one) for run in item.alternatives for one in run)
        if isinstance(item, AgainItems):
            inner = [self._item(one) for one in item.items]
            grown = [self._named("loop-growth", item.loop, "")] if item.grows else []
            return self.joined([self.repetition(item.over), *inner, *grown])
        return self.of(item)

    def _derived(self, value: Derived) -> Description:
        if value.how == "lookup":
            # a record may hold what all of them hold
            return UNKNOWN
        if value.how == "record":
            return self.joined(self._key(key, value.place) for key in value.inputs) if value.inputs else UNKNOWN
        if value.how in ("strftime", "__format__") and len(value.inputs) > 1:
            return self._printed(value.inputs[0], plain(value.inputs[1]), value.how)
        description = self.joined(map(self.of, value.inputs))
        if value.how == "kept" or value.how in STORED:
            return _stored(description, value.how)
        if value.how not in _PRINTING:
            description = _unprinted(description)
        if value.how in ("size", "sorted"):
            kept = tuple(cause for cause in description[1] if not cause.kind.endswith("-order"))
            level = max((cause.volatility for cause in kept), default=Volatility.CONSTANT)
            return (level if description[0] is not Volatility.UNKNOWN else description[0]), kept
        if value.how == "json" and not value.ordered and any(_unordered(one) for one in value.inputs):
            order = self._named("json-key-order", value.place, "")
            return description[0], (*description[1], *order[1])
        return description

    def _printed(self, value: Value, directives: str | None, method: str) -> Description:
        """A value printed by directives, which decide what is left of a time."""
        level, causes = self.of(value)
        if directives is None:
            return level, causes
        kinds = [self.ev.sources.formatted(cause.kind, directives, method) for cause in causes]
        kept = tuple(self._as(cause, kind) for cause, kind in zip(causes, kinds, strict=True) if kind)
        return _limited(level, causes, kept)

    def _as(self, cause: Cause, kind: str) -> Cause:
        """A cause as what is left of it: the date of a time."""
        if kind == cause.kind:
            return cause
        source = self.ev.sources.kind(kind)
        volatility = min(source.volatility, cause.volatility)
        # what it is the date of changes more often than the date
        return replace(cause, kind=kind, label=source.label, volatility=volatility, expression="")

    def _key(self, value: Value, record: Place | None) -> Description:
        """How often the record changes that is kept under a key: what a conversation refers to stays with it."""
        description = self.of(value)
        if description[0] is not Volatility.UNKNOWN or not isinstance(value, Member) or value.how == "call":
            return description
        owner = members.identifier(value.base)
        source = self.ev.sources.member(owner, "id") if owner is not None else None
        if source is None or source.kind != "session-id":
            return description
        return self._named("conversation-record", record, "", by_name=True)

    def _member(self, value: Member) -> Description:
        if value.how == "call":
            level, causes = self.of(value.base)
            if self._narrows(value.base):
                return level, causes
            calls = tuple(cause for cause in causes if cause.volatility is Volatility.CALL)
            return (Volatility.CALL, calls) if calls else UNKNOWN
        if isinstance(value.base, (External, Instance, CallResult, Function, ClassValue)):
            return UNKNOWN
        if isinstance(value.base, (Grown, Sequence)) and value.how in ("element", "item"):
            # a list may grow while its elements stay as they are, and which of them this is was not found out
            return UNKNOWN
        if isinstance(value.base, Parameter) and value.name and value.how in ("attribute", "item"):
            return self._part_of_parameter(value, value.base)
        if isinstance(value.base, Derived) and value.base.how == "dict":
            # one entry of a computed mapping says nothing of the others
            return UNKNOWN
        if isinstance(value.base, MapValue) and value.how == "element":
            # what a mapping holds says nothing of its keys
            return UNKNOWN
        level, causes = _unprinted(self.of(value.base))
        if value.how == "attribute":
            narrowed = tuple(self._as(cause, self.ev.sources.narrow(cause.kind, value.name)) for cause in causes)
            level, causes = _limited(level, causes, narrowed)
        if value.how == "element":
            level, causes = _unordered_parts(level, causes)
        if value.how in ("attribute", "item") and not self._says_what_it_is_part_of(value.name):
            level, causes = _without(level, causes, lambda cause: cause.by_name and cause.kind in _TEXTS)
        return UNKNOWN if level < Volatility.USER and not causes else (level, causes)

    def _narrows(self, value: Value) -> bool:
        """Whether a method is one that leaves less of what its object says: `when.date`."""
        if not isinstance(value, Member) or value.how != "attribute":
            return False
        return any(self.ev.sources.narrow(cause.kind, value.name) != cause.kind for cause in self.of(value.base)[1])

    def _says_what_it_is_part_of(self, name: str) -> bool:
        """Whether an attribute or key of something that goes by a text's name says what that name says; others may
        say anything."""
        return not name.isidentifier() or name in _TEXT_FIELDS or self.ev.sources.name(name) is not None

    def _unknown(self, value: Unknown) -> Description:
        if value.name is not None:
            source = self.ev.sources.name(value.name)
            if source is not None and source.kind in _NAMEABLE:
                return self._named(source.kind, value.place, value.name, by_name=True)
        if value.why == "filter":
            # what changes may be what does not pass
            return UNKNOWN
        causes = tuple(
            cause for one in value.inputs for cause in self.of(one)[1] if cause.volatility is Volatility.CALL
        )
        return (Volatility.CALL, causes) if causes else UNKNOWN

    def _call_result(self, value: CallResult) -> Description:
        ev = self.ev
        if ev.sdks.client(value.dotted) is not None:
            return CONSTANT
        if value.dotted in ("pathlib.Path", "pathlib.PurePath", "decimal.Decimal"):
            return self.joined(self.of(ev.force(one)) for one in value.arguments.positional)
        return UNKNOWN

    def _is_plain(self, value: Instance) -> bool:
        """Whether an object prints as its address: its class has neither bases, decorators nor a repr."""
        scope = self.ev.scope(value.cls.scope)
        defined = self.ev.flow(value.cls.scope).versions
        return not (scope.bases or scope.decorators or defined.keys() & {"__str__", "__repr__", "__format__"})

    def _parameter(self, value: Parameter) -> Description:
        typed = self._typed_parameter(value)
        if typed is not None:
            return typed
        passed = self._over_callers(value)
        if passed is not None and passed[0] is not Volatility.UNKNOWN:
            return passed
        return self._made_with_function(value) or self._named_parameter(value) or passed or UNKNOWN

    def _made_with_function(self, value: Parameter) -> Description | None:
        """A default that changes is made once, with its function."""
        default = self.ev.force(value.default) if value.default is not None else None
        return self.of(default) if isinstance(default, Volatile) else None

    def _typed_parameter(self, value: Parameter) -> Description | None:
        """What the parameter's type tells."""
        typed = self.ev.world.annotated(value.annotation, value.scope, self.ev)
        source = self.ev.sources.annotation(typed.dotted) if isinstance(typed, External) else None
        return None if source is None else self._named(source.kind, value.place, value.name)

    def _named_parameter(self, value: Parameter) -> Description | None:
        """What the parameter's name tells."""
        source = self.ev.sources.name(value.name)
        return None if source is None else self._named(source.kind, value.place, value.name, by_name=True)

    def _part_of_parameter(self, value: Member, base: Parameter) -> Description:
        """One attribute or key of what callers pass; without any, what the parameter's name tells."""

        def part(whole: Value) -> Value:
            if value.how == "item":
                return indexing.item(self.ev, whole, literal(value.name), value.place)
            return self.ev.attribute(whole, value.name, value.place)

        passed = self._over_callers(base, part)
        if passed is not None and passed[0] is not Volatility.UNKNOWN:
            return passed
        return self._named_part(value, base) or self._typed_parameter(base) or UNKNOWN

    def _named_part(self, value: Member, base: Parameter) -> Description | None:
        """What the names of a parameter and of a part of it tell."""
        named = self._named_parameter(base)
        own = self.ev.sources.name(value.name)
        if named is not None and own is not None:
            return self._named(own.kind, value.place, value.name, by_name=True)
        return named if self._says_what_it_is_part_of(value.name) else None

    def _over_callers(self, value: Parameter, part: Callable[[Value], Value] | None = None) -> Description | None:
        """What traced callers pass, or a `part` of it: the most volatile that is known, unknown only where
        nothing is."""
        if self._hops >= MAX_HOPS:
            self._cuts += 1
            return None
        self._hops += 1
        try:
            found = [self._passed(value, site, part) for site in self.callers.of(value.scope)]
        finally:
            self._hops -= 1
        known = [one for one in found if one[0] is not Volatility.UNKNOWN]
        volatile = [one for one in known if one[0] >= Volatility.USER]
        if volatile:
            return self.joined(volatile)
        if len(known) < len(found):
            return UNKNOWN
        return self.joined(known) if known else None

    def _passed(self, value: Parameter, site: CallSite, part: Callable[[Value], Value] | None) -> Description:
        bound = self.callers.passed(value, site)
        if bound is None:
            return UNKNOWN
        level, causes = self.of(part(bound) if part is not None else bound)
        via = location(site.place)
        return level, tuple(
            replace(cause, chain=(*cause.chain, via)) if via not in cause.chain else cause for cause in causes
        )


def _is_record(value: Value) -> bool:
    """Whether a value is a record looked up by its key, or a part of one: whatever name it is given, it was not
    searched for."""
    while isinstance(value, Member):
        value = value.base
    return isinstance(value, Derived) and value.how in ("lookup", "record")


def _shows_all(value: Value) -> bool:
    """Whether everything a value is made of appears in its text: then it changes at least as often as the
    parts that are known, whatever the others do."""
    shown = (TextValue, Sequence, MapValue, Volatile, Constant, Member, Parameter, Grown)
    return all(
        one.how in ("json", "join", "repr", "+") if isinstance(one, Derived) else isinstance(one, shown)
        for one in with_parts(value, lambda one: one.inputs if isinstance(one, Derived) else ())
    )


def location(place: Place) -> Location:
    """A place as the model has it."""
    return Location(place.path, Span(place.start, place.end))


def _unprinted(description: Description) -> Description:
    """A part of a value, or a result computed from it: an object among the inputs does not show as such."""
    return _without(*description, lambda cause: cause.kind == "object-address")


def _stored(description: Description, how: str) -> Description:
    """A description of what has been stored: what it is for a user or a conversation it stays."""
    level, causes = description
    if how == "kept":
        return _without(level, causes, lambda cause: cause.volatility >= Volatility.REQUEST)
    lowered = tuple(replace(one, volatility=stored(one.volatility, how)) for one in causes)
    return (max((one.volatility for one in lowered), default=level) if level is Volatility.CALL else level), lowered


def _unordered_parts(level: Volatility, causes: tuple[Cause, ...]) -> Description:
    """One element of a list: in which order it comes does not change it."""
    return _without(level, causes, lambda cause: cause.kind.endswith("-order"))


def _without(level: Volatility, causes: tuple[Cause, ...], drop: Callable[[Cause], bool]) -> Description:
    kept = tuple(cause for cause in causes if not drop(cause))
    if len(kept) == len(causes):
        return level, causes
    return max((Volatility.UNKNOWN, *(cause.volatility for cause in kept))), kept


def _limited(level: Volatility, before: tuple[Cause, ...], causes: tuple[Cause, ...]) -> Description:
    """A description whose causes have become less; where they decided its level, so has that."""
    if causes == before:
        return level, before
    highest = max((cause.volatility for cause in causes), default=Volatility.CONSTANT)
    decided = level is max((cause.volatility for cause in before), default=None)
    return (highest if decided else level), causes


def _unordered(value: Value) -> bool:
    """Whether a serialised value may be a mapping whose keys come in no fixed order."""
    return any(map(_may_be_unordered, with_parts(value, _serialised)))


def _serialised(value: Value) -> Iterable[Value]:
    if isinstance(value, MapValue):
        return value.entries.values()
    if isinstance(value, Sequence):
        return item_values(value.items)
    return value.values if isinstance(value, Alternatives) else ()


def _may_be_unordered(value: Value) -> bool:
    if isinstance(value, MapValue):
        return bool(value.rest)
    if isinstance(value, Derived):
        return value.how in _MAPPINGS_READ
    if isinstance(value, CallResult):
        name = value.dotted.rpartition(".")[2]
        return name.islower() and not name.endswith(("schema", "dict", "dump"))
    return isinstance(value, Parameter) and not _listed(value)


def _listed(value: Value) -> bool:
    """Whether an annotation rules a mapping out."""
    annotation = value.annotation if isinstance(value, Parameter) else None
    return annotation is not None and not _MAY_BE_MAPPING.search(annotation)
