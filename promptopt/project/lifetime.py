"""How long objects live: which are made once per process (by the module, in a cached factory, in `main`, or kept in a
global), and which no longer than one call of the function that makes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptopt.project.targets import ASKING, all_statements, last_name
from promptopt.project.values import Alternatives, ClassValue, Function, Method, ScopeRef
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
    return bool(making) and all(_is_forgotten(ev, *site) for site in making)


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


def _is_forgotten(ev: Evaluator, ref: ScopeRef, call: int, hops: int = 0) -> bool:
    """Whether an object is made for one call of a function: it has a name there or none, or is returned by a factory
    of which that holds; all that happens to it is that its methods are called, see `_is_only_asked`."""
    scope = ev.scope(ref)
    if scope.kind != "function" or scope.name.rpartition(".")[2] in _STARTS or ev.declaration(ref)[1]:
        return False
    text = ev.world.files[ref.path].text
    start, end = scope.calls[call][:2]
    if re.match(r"\s*\.\s*\w+\s*\(", text[end : scope.end]):
        return True
    made = next((one for one in all_statements(scope.body) if _is_value_of(one, start, end)), None)
    if made is None:
        return False
    if made[0] == "return":
        sites = [one for one in ev.world.calls_named(scope.name.rpartition(".")[2]) if not is_test_code(one[0].path)]
        few = 0 < len(sites) <= MAX_SITES and hops < MAX_OWNERS
        return few and all(_is_forgotten(ev, *site, hops + 1) for site in sites)
    return _is_only_asked(ev, ref, made[5][0][3], start, hops)


def _is_only_asked(ev: Evaluator, ref: ScopeRef, name: str, start: int, hops: int) -> bool:
    """Whether all that a function does with an object of that name, known from `start` on, is calling its methods or
    handing it to functions that do no more. In a loop that it does not stand in that may be steps of one run (`while`,
    `for ... in range`), not tasks or turns of a user; nested functions may keep it."""
    scope = ev.scope(ref)
    if name in scope.globals:
        return False
    text = ev.world.files[ref.path].text
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\b")
    functions = [one for one in ev.world.modules[ref.path].scopes if one.parent == ref.number]
    if any(word.search(text, one.start, one.end) for one in functions):
        return False
    for loop in all_statements(scope.body):
        if loop[0] in ("for", "while") and not loop[1] <= start < loop[2] and word.search(text, loop[1], loop[2]):
            asks = any(last_name(one[2]) in ASKING for one in scope.calls if loop[1] <= one[0] < loop[2])
            if asks or (loop[0] == "for" and not re.match(r"range\(", text[loop[6][1] :])):
                return False
    bare = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*\.\s*\w+\s*\()(?!\s*=[^=])")
    uses = [one.start() for one in bare.finditer(text, max(start, scope.start), scope.end)]
    return all(_is_handed_on(ev, ref, at, hops) for at in uses if not _is_parameter(scope, at))


def _is_parameter(scope: Scope, at: int) -> bool:
    return any(one.start <= at < one.end for one in scope.params)


def _is_handed_on(ev: Evaluator, ref: ScopeRef, at: int, hops: int) -> bool:
    """Whether a name at a place is an argument of a call of a function that only asks it."""
    for number, fact in enumerate(ev.scope(ref).calls):
        given = [*enumerate(fact[3]), *fact[4]]
        key = next((key for key, value in given if value[0] == "name" and value[1] == at), None)
        if key is None:
            continue
        function = ev.apart(LOOKED_AT, fact[2], ref, ev.flow(ref).call_position(number))
        entered = function.function if isinstance(function, Method) else function
        if not isinstance(entered, Function) or hops >= MAX_OWNERS:
            return False
        params = [one for one in ev.scope(entered.scope).params if one.name not in ("self", "cls")]
        names = [one.name for one in params]
        name = (names[key] if key < len(names) else None) if isinstance(key, int) else key
        return name in names and _is_only_asked(ev, entered.scope, str(name), 0, hops + 1)
    return False


def _is_value_of(statement: Statement, start: int, end: int) -> bool:
    """Whether a statement returns what one call makes, or gives it to one plain name."""
    if statement[0] == "return" and statement[5] is not None:
        return bool(statement[5][1:3] == (start, end))
    if statement[0] != "assign" or len(statement[5]) != 1 or statement[5][0][0] != "name":
        return False
    return bool(statement[6][1:3] == (start, end))
