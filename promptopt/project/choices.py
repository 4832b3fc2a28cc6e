"""A list of messages that a condition decides stands for as many requests."""

from __future__ import annotations

from typing import Final

from promptopt.project.values import (
    Alternatives,
    EitherItems,
    Item,
    Items,
    Member,
    Parameter,
    Sequence,
    Splice,
    Unknown,
    Value,
    Volatile,
)

MAX_CHOICES: Final = 6
"""Requests that one list of messages stands for; what would exceed them stays undecided."""


def choices(value: Value | None) -> tuple[Value | None, ...]:
    """The lists that a slot's value stands for, one for each way its conditions may go.

    Messages that are only there or not stay in one list, as messages that may be missing; lists that
    are shortened copies of others are left out. The list with most of a conversation comes first.
    """
    if isinstance(value, Alternatives) and any(isinstance(one, Sequence) for one in value.values):
        known = [one for one in value.values if not isinstance(one, Unknown) and not _is_empty(one)]
        found = [inner for one in known for inner in choices(_as_list(one))]
        return tuple(found) if len(found) <= MAX_CHOICES else (value,)
    if not isinstance(value, Sequence):
        return (value,)
    runs = _runs(value.items)
    if len(runs) == 1:
        return (value,)
    longest_first = sorted(runs, key=lambda run: -sum(not isinstance(item, Value) for item in run))
    return tuple(Sequence(value.kind, run, value.order, value.place) for run in longest_first)


def _is_empty(value: Value) -> bool:
    """Whether a value is the empty list that stands in where there is no conversation yet."""
    return isinstance(value, Sequence) and not value.items


def _as_list(value: Value) -> Value:
    """What may also be a list is one: an attribute or stored value whose default is `[]`."""
    opaque = isinstance(value, (Volatile, Member, Parameter))
    return Sequence("list", (Splice(value, getattr(value, "place", None)),)) if opaque else value


def _runs(items: Items) -> list[Items]:
    found: list[Items] = [()]
    for item in items:
        options = _options(item)
        if len(found) * len(options) > MAX_CHOICES:
            options = [(item,)]
        found = [(*run, *option) for run in found for option in options]
    return _distinct(found)


def _options(item: Item) -> list[Items]:
    if not isinstance(item, EitherItems) or sum(map(bool, item.alternatives)) < 2:
        return [(item,)]
    return _distinct([inner for run in item.alternatives for inner in _runs(run)])


def _distinct(runs: list[Items]) -> list[Items]:
    """The runs without those whose items are all found in a longer one, or in an earlier one as long."""
    kept: list[Items] = []
    for run in sorted(runs, key=len, reverse=True):
        mine = {id(item) for item in run}
        if not any(mine <= {id(item) for item in other} for other in kept):
            kept.append(run)
    return [run for run in runs if any(run is one for one in kept)]
