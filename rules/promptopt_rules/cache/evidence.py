"""What findings of this family share: the names of values, the chain behind them, the key of a cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Final

from promptopt.finding import Related
from promptopt.prompt import Call, Cause, Interpolation, Volatility
from promptopt.rule import RuleContext, sent_by
from promptopt.source import Location
from promptopt_rules.cache.prefix import Break

ORDER_KINDS: Final = frozenset(
    {"set-order", "directory-order", "random-order", "completion-order", "object-address", "json-key-order"}
)
"""Causes that change the order or the spelling of a text, not what it says."""

GROWING: Final = frozenset({"growing-list", "loop-growth"})
"""Causes whose source text is a statement, not a value."""

MAX_FURTHER: Final = 8
"""Further values that one finding points at."""

HOW_OFTEN: Final = {
    Volatility.CALL: "on every call",
    Volatility.REQUEST: "with every request",
    Volatility.SESSION: "with every conversation",
    Volatility.USER: "from user to user",
    Volatility.DAY: "once a day",
    Volatility.PROCESS: "from process to process",
}

_LONGEST_NAME: Final = 60
_FIELD: Final = re.compile(r"\{(?P<expression>[\w.]+)(?:![rsa])?(?::[^{}]*)?\}")


@dataclass(frozen=True, slots=True)
class Change:
    """A break, how often what the value says changes there, and the most volatile cause of that."""

    at: Break
    level: Volatility
    cause: Cause | None

    @property
    def interpolation(self) -> Interpolation:
        """The value."""
        return self.at.interpolation


def change(at: Break) -> Change:
    """How often a value changes, its order left aside: `UNKNOWN` where that is not known, `CONSTANT`
    where only the order changes."""
    value = at.interpolation
    if value.volatility is Volatility.UNKNOWN or not value.causes:
        return Change(at, value.volatility, None)
    causes = [cause for cause in value.causes if cause.kind not in ORDER_KINDS]
    cause = max(causes, key=lambda one: one.volatility, default=None)
    return Change(at, cause.volatility if cause else Volatility.CONSTANT, cause)


def group(cause: Cause, place: Location) -> str:
    """Key of a cause: its kind and the place it comes from."""
    source = cause.chain[0] if cause.chain else place
    return f"{cause.kind}@{source.path}:{source.span.start}"


def named(expression: str) -> str:
    """Source text on one line and of readable length, without the braces of a field; a lone identifier
    in backquotes."""
    flat = " ".join(expression.split())
    if field := _FIELD.fullmatch(flat):
        flat = field["expression"]
    if len(flat) > _LONGEST_NAME:
        flat = flat[: _LONGEST_NAME - 3] + "..."
    return f"`{flat}`" if flat.isidentifier() else flat


def describe(interpolation: Interpolation, cause: Cause | None, context: RuleContext) -> str:
    """The value as a sentence's subject: its source text; what it is, where only its name tells; where
    it comes from, if that is another file."""
    if cause is None:
        return named(interpolation.expression)
    if cause.kind in GROWING:
        # a loop without a variable has no name but its keyword
        return (
            cause.label if iskeyword(interpolation.expression) else f"{named(interpolation.expression)} ({cause.label})"
        )
    name = named(cause.expression or interpolation.expression or cause.label)
    if cause.by_name:
        return f"{name} (by its name {cause.label})"
    source = cause.chain[0] if cause.chain else None
    if source and interpolation.location and source.path != interpolation.location.path:
        shown = named(interpolation.expression)
        place = _place(source, context)
        return f"{name} at {place}" if shown == name else f"{shown}, which is {name} at {place},"
    return name


def _place(location: Location, context: RuleContext) -> str:
    source = context.sources.get(location.path)
    return f"{location.path}:{source.position(location.span.start).row}" if source else location.path


def chain(cause: Cause | None, place: Location, call: Call) -> Iterator[Related]:
    """The way of a value: where it comes from, what it passes through, the call that sends it."""
    for index, location in enumerate(cause.chain if cause else ()):
        if cause and location != place:
            yield Related(f"{cause.label} comes from here" if index == 0 else "passes through here", location)
    yield from sent_by(call, place)


def further(changes: Iterable[Change], place: Location) -> Iterator[Related]:
    """Other values that change ahead of the same text, each place once and not too many."""
    told = {place}
    for other in changes:
        location = other.interpolation.location
        if location and location not in told and len(told) <= MAX_FURTHER:
            told.add(location)
            label = other.cause.label if other.cause else named(other.interpolation.expression)
            yield Related(f"{label} also stands here and changes {HOW_OFTEN[other.level]}", location)
