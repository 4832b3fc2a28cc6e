"""Values that are made when they are missing and then kept: `if self._rules is None: self._rules = ...`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from promptopt.project.targets import path_of

if TYPE_CHECKING:
    from promptopt.project.flow import Flow, Thunk
    from promptopt.readers.facts import Expression, Scope, Statement


NESTED: Final = {"if": (6, 7), "for": (7,), "while": (6,), "with": (6,), "try": (5, 7, 8)}
"""Where statements hold further statements."""


class Made(NamedTuple):
    """The definition that makes what is missing, and how long it is kept (see `recurrence.STORED`)."""

    leaf: Thunk
    how: str


class _Presence(NamedTuple):
    """What a test looks for: a name or attribute that is something, or a key in one; `holds` where it is there."""

    path: str
    holds: bool
    is_key: bool = False


def made_once(scope: Scope, flow: Flow, join: Thunk) -> Made | None:
    """Which of the two sides of a test makes a value that the other side finds, if one does."""
    _, test, _, first, second = join
    presence = _presence(scope, test) if test is not None else None
    if presence is None:
        return None
    found, made = (first, second) if presence.holds else (second, first)
    if found is not None and found[0] == "unset" and any(one is join for one in flow.all(presence.path)):
        how: str | None = "session" if "." in presence.path else "process"
    else:
        how = _kept(scope, found, presence)
    return Made(made, how) if how is not None and made is not None else None


def looks_for(scope: Scope, path: str) -> bool:
    """Whether a function asks if an attribute is there already, to leave it as it is: `if self.rules: return ...`."""
    return any(
        (presence := _presence(scope, statement[5])) is not None and presence.path == path
        for statement in _branches(scope.body)
    )


def _branches(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        if statement[0] == "if":
            yield statement
        for index in NESTED.get(statement[0], ()):
            yield from _branches(statement[index])


def _presence(scope: Scope, test: Expression) -> _Presence | None:
    tag = test[0]
    if tag in ("name", "attr"):
        path = path_of(test)
        return _Presence(path, True) if path is not None else None  # noqa: FBT003
    if tag == "not":
        inner = _presence(scope, test[3])
        return inner._replace(holds=not inner.holds) if inner is not None else None
    if tag in ("and", "or"):
        # `if self.rules and not stale`, `if not self.rules or stale`
        found = [one for part in test[3] if (one := _presence(scope, part)) is not None]
        return next((one for one in found if one.holds is (tag == "and")), None)
    if tag == "cmp":
        return _compared(test)
    return _has_attribute(scope, test) if tag == "call" else None


def _compared(test: Expression) -> _Presence | None:
    _, _, _, operator, left, right = test
    if operator in ("in", "not in"):
        path = path_of(right)
        return _Presence(path, operator == "in", is_key=True) if path is not None else None
    path = path_of(left)
    if path is None or right[0] != "const" or right[3] is not None or operator not in ("is", "is not", "==", "!="):
        return None
    return _Presence(path, operator in ("is not", "!="))


def _has_attribute(scope: Scope, test: Expression) -> _Presence | None:
    _, _, function, arguments, _ = scope.calls[test[3]]
    if function[0] != "name" or function[3] != "hasattr" or len(arguments) != 2 or arguments[1][0] != "lit":
        return None
    path = path_of(arguments[0])
    return _Presence(f"{path}.{arguments[1][3]}", True) if path is not None else None  # noqa: FBT003


def _kept(scope: Scope, found: Thunk, presence: _Presence) -> str | None:
    """How long what the test looks for is kept: an attribute with its object, a global with the process; None where
    it is a local name, or something else is found."""
    if found is None:
        return None
    if found[0] == "free":
        return "process" if found[1] == presence.path else None
    if found[0] == "param":
        return "session" if presence.is_key and scope.params[found[1]].name == presence.path else None
    if found[0] != "expr":
        return None
    read = found[1]
    if presence.is_key and read[0] == "index":
        read = read[3]
    path = path_of(read)
    if path != presence.path or ("." not in path and path not in scope.globals and not presence.is_key):
        return None
    return "session" if "." in path else "process"
