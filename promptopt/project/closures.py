"""Functions defined in functions: who runs them, and whether that is at once or whenever a request comes."""

from __future__ import annotations

from typing import Final

from promptopt.project.targets import last_name
from promptopt.readers.facts import CallFact, Scope

_KEEPING: Final = frozenset({"register", "register_tool", "tool", "Tool", "from_function", "RunnableLambda"})
"""Functions that keep what they are handed, by their last names; so do all `add_...`."""


def naming_call(inner: Scope, outer: Scope) -> int:
    """The call of a function that a lambda in it is handed to, or that calls or names a function defined in it; -1
    without one."""
    name = inner.name.rpartition(".")[2]
    found = -1
    for index, fact in enumerate(outer.calls):
        holds = fact[0] <= inner.start and inner.end <= fact[1]
        if holds or (found < 0 and name.isidentifier() and _names(fact, name)):
            found = index
    return found


def is_kept(inner: Scope, outer: Scope) -> bool:
    """Whether a function outlives the one that it is defined in: that one hands it out or registers it, and neither
    calls it nor has it called."""
    if outer.kind != "function" or inner.kind != "function":
        return False
    if inner.decorators:
        return True
    call = naming_call(inner, outer)
    if call < 0:
        return True
    function = outer.calls[call][2]
    called = last_name(function) if function[0] in ("name", "attr") else ""
    if function[0] == "name" and called == inner.name.rpartition(".")[2]:
        return False
    return called.startswith("add_") or called in _KEEPING


def _names(fact: CallFact, name: str) -> bool:
    values = (fact[2], *fact[3], *(value for _, value in fact[4]))
    return any(one[0] == "name" and one[3] == name for one in values)
