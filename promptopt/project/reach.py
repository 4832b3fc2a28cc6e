"""Whether a call is reached with what a caller passes: `if provider == "a": send_a(...)`, called for provider b.

Only tests of parameters that are never bound again count: they say the same wherever they are asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from promptopt.project import conditions
from promptopt.project.targets import holds

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression, Scope, Statement

NESTED: Final = {"for": (7, 8), "while": (6, 7), "with": (6,), "try": (5, 7, 8)}
"""Where statements that are no branches hold further statements."""


def is_reached(ev: Evaluator, frame: Frame, call: int) -> bool:
    """Whether no test around a call of the frame's function, or ahead of it, is known to lead elsewhere."""
    scope, flow = ev.scope(frame.scope), ev.flow(frame.scope)
    # what an object holds may change after it was made
    params = scope.params[1:] if ev.self_of(frame.scope) is not None else scope.params
    fixed = {one.name for one in params if len(flow.all(one.name)) == 1}
    if scope.kind != "function" or not fixed:
        return True
    position = flow.call_position(call)
    return all(
        conditions.decide(ev, test, frame, position) in (None, outcome)
        for test, outcome in tests_around(scope, scope.calls[call][0])
        if set(_names(scope, test)) <= fixed
    )


def tests_around(scope: Scope, offset: int) -> Iterator[tuple[Expression, bool]]:
    """Tests that must hold, or must not, for an offset to be reached."""
    return _tests(scope.body, offset)


def _tests(body: tuple[Statement, ...], offset: int) -> Iterator[tuple[Expression, bool]]:
    for statement in body:
        if not statement[1] <= offset < statement[2]:
            if statement[2] <= offset and statement[0] == "if" and _leaves(statement[6]):
                yield statement[5], False
            continue
        if statement[0] == "if":
            inside = [holds(statement[index], offset) for index in (6, 7)]
            if any(inside):
                yield statement[5], inside[0]
        for index in (6, 7) if statement[0] == "if" else NESTED.get(statement[0], ()):
            yield from _tests(statement[index], offset) if holds(statement[index], offset) else ()
        return


def _leaves(body: tuple[Statement, ...]) -> bool:
    return bool(body) and (body[-1][0] == "return" or (body[-1][0] == "stop" and body[-1][5] == "raise"))


def _names(scope: Scope, expression: Any) -> Iterator[str]:
    if not isinstance(expression, tuple) or not expression:
        return
    if expression[0] == "name":
        yield expression[3]
    elif expression[0] == "call":
        _, _, function, arguments, keywords = scope.calls[expression[3]]
        for part in (function, *arguments, *(value for _, value in keywords)):
            yield from _names(scope, part)
    else:
        for part in expression:
            yield from _names(scope, part)
