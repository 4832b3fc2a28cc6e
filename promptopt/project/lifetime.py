"""How long objects live: which are made once per process (by the module, in a cached factory, in `main`, or kept in a
global), and which no longer than one call of the function that makes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptopt.project.targets import all_statements
from promptopt.project.values import Alternatives, ClassValue, ScopeRef
from promptopt.source import is_test_code

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Scope, Statement

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


def serves_one_call(ev: Evaluator, cls: ClassValue) -> bool:
    """Whether all objects of a class that the application makes are made by a function that only calls methods of
    them, each once, and forgets them when it returns: what such an object gathers are steps of one run."""
    making = _making_sites(ev, cls)
    return bool(making) and all(_is_forgotten(ev, cls, *site) for site in making)


def _is_single(ev: Evaluator, cls: ClassValue, owners: int) -> bool:
    making = _making_sites(ev, cls)
    return bool(making) and all(_happens_once(ev, *site, owners) for site in making)


def _making_sites(ev: Evaluator, cls: ClassValue) -> list[tuple[ScopeRef, int]]:
    """The application's calls that make objects of a class or of one derived from it; none where they are too many."""
    found = [cls.scope, *ev.world.subclasses(cls.scope, ev)]
    names = {ev.scope(one).name.rpartition(".")[2] for one in found}
    calls = [call for name in sorted(names) for call in ev.world.calls_named(name)]
    sites = [site for site in calls if not is_test_code(site[0].path)]
    if len(sites) > MAX_SITES:
        return []
    return [site for site in sites if _makes(ev, *site, frozenset(found))]


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
    for statement in all_statements(scope.body):
        if statement[0] == "assign" and statement[3] <= call < statement[4]:
            return any(target[0] == "name" and target[3] in scope.globals for target in statement[5])
    return False


def _is_forgotten(ev: Evaluator, cls: ClassValue, ref: ScopeRef, call: int) -> bool:
    """Whether an object is made for one call of a function: it has a name there or none, only its methods are called,
    in no loop that it does not stand in, and no nested function knows it."""
    scope = ev.scope(ref)
    if scope.kind != "function" or scope.name.rpartition(".")[2] in _STARTS or ev.declaration(ref)[1]:
        return False
    text = ev.world.files[ref.path].text
    start, end = scope.calls[call][:2]
    if re.match(r"\s*\.\s*\w+\s*\(", text[end : scope.end]):
        return True
    name = next((one[5][0][3] for one in all_statements(scope.body) if _names(one, start, end)), None)
    if name is None or name in scope.globals:
        return False
    functions = [one for one in ev.world.modules[ref.path].scopes if one.parent == ref.number]
    loops = [one for one in all_statements(scope.body) if one[0] in ("for", "while") and not one[1] <= start < one[2]]
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\b")
    if any(word.search(text, one.start, one.end) for one in functions):
        return False
    if any(word.search(text, one[1], one[2]) for one in loops):
        return False
    uses = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*\.\s*\w+\s*\()(?!\s*=[^=])")
    return not uses.search(text, scope.start, scope.end)


def _names(statement: Statement, start: int, end: int) -> bool:
    """Whether a statement gives what one call makes to one plain name."""
    if statement[0] != "assign" or len(statement[5]) != 1 or statement[5][0][0] != "name":
        return False
    return bool(statement[6][1:3] == (start, end))
