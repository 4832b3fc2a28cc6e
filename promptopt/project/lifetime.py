"""Which objects are made once per process: by the module, in a cached factory, in `main`, or kept in a global."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptopt.project.targets import nested
from promptopt.project.values import Alternatives, ClassValue, ScopeRef
from promptopt.source import is_test_code

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Scope

MAX_SITES: Final = 40
"""Places that make objects of a class; with more of them nothing is told."""

MAX_OWNERS: Final = 3
"""Objects that hold the objects that hold an object."""

LOOKED_AT: Final = 2_000
"""Evaluation steps for finding out what one call makes."""

_STARTS: Final = frozenset({"main", "amain", "_main", "async_main"})
"""Functions that a process calls once."""


def is_single(ev: Evaluator, cls: ClassValue) -> bool:
    """Whether all objects of a class that the application makes are made once per process."""
    known = ev.singles.get(cls.scope)
    if known is None:
        known = ev.singles[cls.scope] = _is_single(ev, cls, 0)
    return known


def _is_single(ev: Evaluator, cls: ClassValue, owners: int) -> bool:
    found = [cls.scope, *ev.world.subclasses(cls.scope, ev)]
    names = {ev.scope(one).name.rpartition(".")[2] for one in found}
    calls = [call for name in sorted(names) for call in ev.world.calls_named(name)]
    sites = [site for site in calls if not is_test_code(site[0].path)]
    if len(sites) > MAX_SITES:
        return False
    making = [site for site in sites if _makes(ev, *site, frozenset(found))]
    return bool(making) and all(_happens_once(ev, *site, owners) for site in making)


def _makes(ev: Evaluator, ref: ScopeRef, call: int, classes: frozenset[ScopeRef]) -> bool:
    value = ev.apart(LOOKED_AT, ev.scope(ref).calls[call][2], ref, ev.flow(ref).call_position(call))
    options = value.values if isinstance(value, Alternatives) else (value,)
    return any(isinstance(one, ClassValue) and one.scope in classes for one in options)


def _happens_once(ev: Evaluator, ref: ScopeRef, call: int, owners: int) -> bool:
    """Whether a process comes by a call once."""
    scope, flow = ev.scope(ref), ev.flow(ref)
    if flow.enclosing(flow.call_position(call)):
        return False
    parent = ev.parent(ref)
    if scope.kind != "function" or parent is None:
        return scope.kind == "module" or (parent is not None and ev.scope(parent).kind == "module")
    name = scope.name.rpartition(".")[2]
    if ev.scope(parent).kind == "class":
        is_init = name == "__init__" and owners < MAX_OWNERS
        return is_init and _is_single(ev, ClassValue(parent), owners + 1)
    return name in _STARTS or ev.declaration(ref)[1] or _sets_global(scope, call)


def _sets_global(scope: Scope, call: int) -> bool:
    """Whether a call stands in an assignment to a global: what is made is kept there."""
    stack = list(scope.body)
    while stack:
        statement = stack.pop()
        if statement[0] == "assign" and statement[3] <= call < statement[4]:
            return any(target[0] == "name" and target[3] in scope.globals for target in statement[5])
        for part in nested(statement):
            stack.extend(part)
    return False
