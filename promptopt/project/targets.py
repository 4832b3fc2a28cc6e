"""What statements assign or change: names, dotted paths, and the keys below them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptopt.readers.facts import CallFact, Expression, Statement

MUTATORS: Final = frozenset(
    {"append", "extend", "insert", "update", "add", "appendleft", "extendleft", "pop", "clear", "remove", "popleft"}
    | {"setdefault", "sort", "reverse", "add_message", "add_user_message", "add_ai_message"}
)

ASKING: Final = frozenset({"input", "prompt", "prompt_async", "ask", "readline", "chat_input", "text_input"})
"""Functions that ask the user for the next turn, by their last names."""


def path_of(expression: Expression) -> str | None:
    """`a.b.c` for a chain of attributes on a name."""
    names = []
    while expression[0] == "attr":
        names.append(expression[4])
        expression = expression[3]
    if expression[0] != "name":
        return None
    names.append(expression[3])
    return ".".join(reversed(names))


def last_name(expression: Expression) -> str:
    """`c` of `a.b.c`; the name itself of a plain one."""
    name: str = expression[4] if expression[0] == "attr" else expression[3]
    return name


def root_and_steps(expression: Expression) -> tuple[str | None, Expression, tuple[Expression, ...]]:
    """Split `a.b[0]["k"]` into the path `a.b`, its expression and the keys `0`, `"k"`."""
    steps: list[Expression] = []
    while expression[0] == "index":
        steps.append(expression[4])
        expression = expression[3]
    return path_of(expression), expression, tuple(reversed(steps))


def popped(expression: Expression, calls: tuple[CallFact, ...]) -> Expression | None:
    """The call of `pop` that a value is taken from: `items.pop(0)["content"]`."""
    while expression[0] in ("index", "attr", "await"):
        expression = expression[3]
    if expression[0] != "call":
        return None
    function = calls[expression[3]][2]
    return expression if function[0] == "attr" and function[4] in ("pop", "popleft") else None


def _taken_from(expression: Expression, calls: tuple[CallFact, ...]) -> list[Expression]:
    call = popped(expression, calls)
    return [] if call is None else [calls[call[3]][2][3]]


def assigned_names(body: tuple[Statement, ...], calls: tuple[CallFact, ...]) -> list[str]:
    """Names and dotted paths that statements define or mutate, nested blocks included."""
    names: dict[str, None] = {}
    stack: list[Statement] = list(reversed(body))
    while stack:
        statement = stack.pop()
        for target in _targets(statement, calls):
            _collect_target(target, names)
        for part in nested(statement):
            stack.extend(reversed(part))
    return list(names)


def _targets(statement: Statement, calls: tuple[CallFact, ...]) -> list[Expression]:
    tag = statement[0]
    if tag == "assign":
        return [*statement[5], *_taken_from(statement[6], calls)]
    if tag == "annotated" and statement[7] is not None:
        return [statement[5], *_taken_from(statement[7], calls)]
    if tag in ("annotated", "augmented", "for"):
        return [statement[5]]
    if tag == "with":
        return [target for _, target in statement[5] if target is not None]
    if tag == "expression":
        return _mutated(statement[5], calls)
    if tag in ("def", "class"):
        return [("name", 0, 0, statement[5])]
    return []


def _mutated(expression: Expression, calls: tuple[CallFact, ...]) -> list[Expression]:
    while expression[0] == "await":
        expression = expression[3]
    if expression[0] != "call":
        return []
    function = calls[expression[3]][2]
    return [function[3]] if function[0] == "attr" and function[4] in MUTATORS else []


def nested(statement: Statement) -> list[tuple[Statement, ...]]:
    """The bodies of a compound statement, in source order."""
    tag = statement[0]
    if tag in ("if", "while"):
        return [statement[6], statement[7]]
    if tag == "for":
        return [statement[7], statement[8]]
    if tag == "try":
        return [statement[5], *(body for _, body in statement[6]), statement[7], statement[8]]
    if tag == "with":
        return [statement[6]]
    if tag == "match":
        return [case[1] for case in statement[6]]
    return []


def all_statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Statements and those of their bodies, in no order."""
    stack = list(body)
    while stack:
        statement = stack.pop()
        yield statement
        for part in nested(statement):
            stack.extend(part)


def holds(body: tuple[Statement, ...], offset: int) -> bool:
    """Whether an offset lies in one of the statements."""
    return any(statement[1] <= offset < statement[2] for statement in body)


def _collect_target(target: Expression, names: dict[str, None]) -> None:
    if target[0] == "seq":
        for item in target[4]:
            _collect_target(item, names)
    elif target[0] == "star":
        _collect_target(target[3], names)
    elif target[0] in ("name", "attr", "index"):
        path, _, _ = root_and_steps(target)
        if path is not None:
            names[path] = None
    elif target[0] == "slice":
        _collect_target(target[3], names)
