"""Text read from files whose path is constant: the file's content stands in the prompt.

Paths are followed only inside the project; nothing else is read.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from promptopt.project.values import (
    Arguments,
    CallResult,
    Derived,
    Fixed,
    Literal,
    Member,
    Place,
    TextValue,
    Unknown,
    Value,
    plain,
)
from promptopt.prompt import Volatility

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator

MAX_FILE: Final = 2_000_000
"""Bytes of a prompt file that is read."""

_READERS: Final = frozenset({"read", "read_text", "readlines", "read_bytes"})
_FOLLOWED: Final = frozenset({"resolve", "absolute", "expanduser", "joinpath", "__truediv__", "files", "open"})


def base_of(ev: Evaluator, value: Value) -> str | None:
    """The project path that a path expression stands for, `""` for the project's root."""
    if isinstance(value, CallResult):
        return _of_call(ev, value)
    if isinstance(value, Member):
        return _of_member(ev, value)
    text = plain(value)
    return posixpath.normpath(text) if text is not None and not text.startswith(("/", "~")) else None


def _of_call(ev: Evaluator, value: CallResult) -> str | None:
    given = value.arguments.positional
    if value.dotted not in ("pathlib.Path", "pathlib.PurePath", "builtins.open", "os.path.dirname", "os.path.abspath"):
        return None
    if not given:
        return None
    parts = [base_of(ev, ev.force(one)) for one in given]
    if value.dotted == "builtins.open":
        return parts[0]
    if any(part is None for part in parts):
        return None
    joined = posixpath.normpath(posixpath.join(*(part or "" for part in parts)))
    return posixpath.dirname(joined) if value.dotted == "os.path.dirname" else joined


def _of_member(ev: Evaluator, value: Member) -> str | None:
    inner = base_of(ev, value.base)
    if inner is None:
        return None
    if value.name == "parent":
        return posixpath.dirname(inner)
    return inner if value.name in _FOLLOWED or value.how == "call" else None


def read(ev: Evaluator, value: Value, place: Place) -> Value:
    """The text of the file at a path: in full where it lies in the project, else constant but unknown."""
    path = base_of(ev, value)
    if path is None:
        return Unknown("file", (value,), place=place)
    for folder in (posixpath.dirname(place.path), ""):
        candidate = posixpath.normpath(posixpath.join(folder, path))
        text = ev.world.read_text(candidate)
        if text is not None:
            return TextValue((Literal(text, Place(candidate, 0, len(text))),)) if text else TextValue(())
    return Fixed("file", Volatility.DEPLOYMENT, place)


def divided(ev: Evaluator, left: Value, right: Value, place: Place) -> Value:
    """`left / right`: a path, or a quotient."""
    if plain(right) is not None and base_of(ev, left) is not None:
        return CallResult("pathlib.Path", Arguments((left, right)), place)
    return Derived("/", (left, right), place)


def is_read(name: str) -> bool:
    """Whether a method reads the whole file."""
    return name in _READERS
