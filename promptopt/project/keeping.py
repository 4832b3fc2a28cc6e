"""Conversations that a framework keeps: memories, checkpoints, and runs of agents that are given their own results.

What an SDK's file lists keeps them by itself. That nothing cuts them is decided as in `growth`: anything in the file
that looks as if it did counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from promptopt.project.describe import location
from promptopt.project.growth import is_cut_in
from promptopt.project.targets import ASKING, all_statements, last_name, path_of
from promptopt.project.values import External, Place, ScopeRef
from promptopt.prompt import History, Keeping, Prompt
from promptopt.source import is_test_code

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import CallFact, Expression
    from promptopt.sdks.schema import Argument, KeepingShape

_ASKS: Final = re.compile(rf"^(?:{'|'.join(sorted(ASKING))})$|(?:^|_)(?:input|ask_user)(?:_|$)")
"""Names of functions that ask the user for something, a project's own among them."""

_FILLED: Final = re.compile(r"\.chat_memory\.add_|\.save_context\(")
"""A memory that is filled where it is made: it is made for one request."""

STEPS: Final = 1_000
"""Evaluation steps for what one call calls."""


def find(ev: Evaluator, prompts: Sequence[Prompt]) -> Iterator[Keeping]:
    """The project's conversations that are kept whole by a framework."""
    for name in ev.world.sdks.keeping_names:
        for ref, call in ev.world.calls_named(name):
            fact = ev.scope(ref).calls[call]
            shape = None if is_test_code(ref.path) else _shape(ev, fact, ref, call)
            if shape is not None:
                yield from _FINDERS[shape.kind](ev, shape, ref, call, prompts)


def _shape(ev: Evaluator, fact: CallFact, ref: ScopeRef, call: int) -> KeepingShape | None:
    function = ev.apart(STEPS, fact[2], ref, ev.flow(ref).call_position(call))
    if isinstance(function, External):
        return ev.world.sdks.keeping(function.dotted)
    return ev.world.sdks.keeping(f"?.{fact[2][4]}") if fact[2][0] == "attr" else None


def _memories(
    ev: Evaluator, shape: KeepingShape, ref: ScopeRef, call: int, _prompts: Sequence[Prompt]
) -> Iterator[Keeping]:
    """A memory that some call of its file is given."""
    place = Place(ref.path, *ev.scope(ref).calls[call][:2])
    uses = (
        Place(ref.path, *fact[:2])
        for scope in ev.world.modules[ref.path].scopes
        for fact in scope.calls
        if any(name in shape.arguments for name, _ in fact[4])
    )
    user = next(uses, None)
    scope = ev.scope(ref)
    if scope.kind == "function" and _FILLED.search(ev.world.files[ref.path].text, scope.start, scope.end):
        return
    if user is not None and not is_cut_in(ev, ref.path, frozenset()):
        yield Keeping(location(place), ev.text(place), location(user))


def _checkpoints(
    ev: Evaluator, shape: KeepingShape, ref: ScopeRef, call: int, prompts: Sequence[Prompt]
) -> Iterator[Keeping]:
    """An agent that keeps its conversations; a graph, where a request in its file sends the state's messages."""
    fact = ev.scope(ref).calls[call]
    given = {name: value for name, value in fact[4] if name is not None}
    keeps = any(given.get(str(name), ("const", 0, 0, None))[3:] != (None,) for name in shape.arguments)
    sends = not shape.methods or any(
        isinstance(message, History) and message.known and message.location and message.location.path == ref.path
        for prompt in prompts
        for message in prompt.messages
    )
    if keeps and sends and given.keys().isdisjoint(shape.bounds) and not is_cut_in(ev, ref.path, frozenset()):
        place = Place(ref.path, *fact[:2])
        yield Keeping(location(place), ev.text(place), location(place))


def _runs(
    ev: Evaluator, shape: KeepingShape, ref: ScopeRef, call: int, _prompts: Sequence[Prompt]
) -> Iterator[Keeping]:
    """A run that is given what an earlier one returned: in a loop that asks the user, or from an attribute."""
    fact, flow = ev.scope(ref).calls[call], ev.flow(ref)
    given = _argument(shape.arguments, fact)
    name = path_of(given) if given is not None else None
    if name is None:
        return
    loops = flow.enclosing(flow.call_position(call))
    asked = any(
        _ASKS.search(last_name(one[2]))
        for one in ev.scope(ref).calls
        if any(loop.start <= one[0] < loop.end for loop in loops)
    )
    if not (asked or "." in name) or is_cut_in(ev, ref.path, frozenset({name})):
        return
    returns = re.compile(rf"\.(?:{'|'.join(shape.returns)})\([^()]*\)$")
    for statement in all_statements(ev.scope(ref).body):
        if statement[0] == "assign" and any(path_of(one) == name for one in statement[5]):
            place = Place(ref.path, *statement[1:3])
            if returns.search(ev.text(place)):
                yield Keeping(location(place), ev.text(place), location(Place(ref.path, *fact[:2])))


def _argument(references: Sequence[Argument], fact: CallFact) -> Expression | None:
    named = {name: value for name, value in fact[4] if name is not None}
    for one in references:
        if isinstance(one, int) and one < len(fact[3]):
            return fact[3][one]
        if one in named:
            return named[str(one)]
    return None


_FINDERS: Final = {"memory": _memories, "checkpoint": _checkpoints, "run": _runs}
