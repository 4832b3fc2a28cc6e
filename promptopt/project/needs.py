"""Which parameters a request's text still waits for: only those that are a whole slot, a whole list or
a whole content. A parameter embedded in text is described, not expanded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from promptopt.project.values import (
    Again,
    AgainItems,
    Alternatives,
    CallResult,
    Either,
    EitherItems,
    Hole,
    Item,
    Items,
    MapValue,
    Member,
    Parameter,
    Pieces,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    with_parts,
)

if TYPE_CHECKING:
    from promptopt.project.requests import Slots


def open_parameters(slots: Slots) -> list[Parameter]:
    """Parameters whose callers are worth asking.

    What only the user says is no reason: a request whose instructions are known is not followed
    outwards for the question.
    """
    found = [parameter for value in slots.system for parameter in _whole(value)]
    if slots.messages is not None:
        found += _in_messages(slots.messages, has_system=bool(slots.system))
    if slots.input is not None and not slots.system and not found:
        found += _whole(slots.input)
    return found


def _whole(value: Value) -> Iterator[Parameter]:
    return (one for one in with_parts(value, _parts) if isinstance(one, Parameter))


def _parts(value: Value) -> Iterable[Value]:
    """The values that may be all of `value`, or all of what it says."""
    if isinstance(value, TextValue):
        return _only(value.pieces) if len(value.pieces) == 1 else ()
    if isinstance(value, Alternatives):
        return value.values
    if isinstance(value, Sequence):
        return (one for item in value.items for one in _inside(item))
    if isinstance(value, MapValue):
        return [value.entries[key] for key in ("text", "content", "parts") if key in value.entries]
    if isinstance(value, Unknown) and value.why == "filter":
        return value.inputs
    if isinstance(value, Member) and value.how in ("slice", "window", "item", "element"):
        return (value.base,)
    if isinstance(value, CallResult):
        given = (*value.arguments.positional, *value.arguments.keywords.values())
        return [one for one in given if isinstance(one, Value)]
    return ()


def _only(pieces: Pieces) -> Iterable[Value]:
    """What a text consists of: a value, one of two texts, or what a list of messages or texts adds to it."""
    for piece in pieces:
        if isinstance(piece, Hole):
            yield piece.value
        elif isinstance(piece, Again):
            yield piece.over
        elif isinstance(piece, Either):
            yield from (one for run in piece.alternatives if len(run) == 1 for one in _only(run))


def _inside(item: Item) -> Iterator[Value]:
    """The values that an item of a list stands for."""
    if isinstance(item, EitherItems):
        for run in item.alternatives:
            for one in run:
                yield from _inside(one)
    elif isinstance(item, Splice):
        yield item.value
    else:
        yield item.over if isinstance(item, AgainItems) else item


def _in_messages(value: Value, *, has_system: bool) -> list[Parameter]:
    if not isinstance(value, Sequence):
        return [] if has_system and not isinstance(value, Parameter) else list(_whole(value))
    system = list(_instructions(value.items))
    return [parameter for item in system or value.items for one in _inside(item) for parameter in _whole(one)]


def _instructions(items: Items) -> Iterator[Item]:
    """The messages that instruct, on whatever branch they are sent."""
    for item in items:
        if isinstance(item, EitherItems):
            for run in item.alternatives:
                yield from _instructions(run)
        elif isinstance(item, Alternatives):
            yield from _instructions(item.values)
        elif isinstance(item, Value) and (_has_role(item, "system") or _has_role(item, "developer")):
            yield item


def _has_role(item: Value, role: str) -> bool:
    if isinstance(item, MapValue) and "role" in item.entries:
        given = item.entries["role"]
        if isinstance(given, TextValue):
            return any(getattr(piece, "value", None) == role for piece in given.pieces)
    return isinstance(item, CallResult) and item.dotted.rpartition(".")[2].lower().startswith(role)
