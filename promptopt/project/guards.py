"""What a test around a place says of a value: inside `if kind in KINDS:` it is one of those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from promptopt.project.reach import tests_around
from promptopt.project.values import Lazy, Sequence, Value, constant_key

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression


def possible_keys(ev: Evaluator, given: Lazy | Value) -> frozenset[Any] | None:
    """The constants that an argument is one of, by a test here or where a caller hands it on; None without one."""
    for lazy in _handed_on(ev, given):
        name = lazy.expression[3]
        for test, outcome in tests_around(ev.scope(lazy.frame.scope), lazy.expression[1]):
            keys = _among(ev, test, lazy, name) if outcome else None
            if keys is not None:
                return keys
    return None


def _handed_on(ev: Evaluator, given: Lazy | Value) -> Iterator[Lazy]:
    """A name that is never bound again, and what callers pass for it, as long as that is a name too."""
    while isinstance(given, Lazy) and given.expression[0] == "name":
        name, frame = given.expression[3], given.frame
        if frame.outer is not None or len(ev.flow(frame.scope).all(name)) > 1:
            return
        yield given
        bound = frame.bindings.get(name)
        if bound is None:
            return
        given = bound


def _among(ev: Evaluator, test: Expression, lazy: Lazy, name: str) -> frozenset[Any] | None:
    if test[0] == "and":
        found = (_among(ev, part, lazy, name) for part in test[3])
        return next((one for one in found if one is not None), None)
    if test[0] != "cmp" or test[3] != "in" or test[4][0] != "name" or test[4][3] != name:
        return None
    container = ev.evaluate(test[5], lazy.frame, lazy.position)
    if not isinstance(container, Sequence):
        return None
    keys = [constant_key(one) if isinstance(one, Value) else ... for one in container.items]
    return None if ... in keys else frozenset(keys)
