"""One pass over a scope's statements: which definition of a name is seen where.

The pass evaluates nothing. Each definition is a *thunk*, a small tuple that `evaluate` understands,
recorded with the position from which on it is visible; a look-up is a bisection. Positions count
through the statements in source order, so an environment is a single number.

====================================  ==========================================================
`expr expression position`            value of an expression
`param index`                         parameter of the scope
`join test position a b`              `a` where the test holds, else `b`; test None: either
`unpack thunk index starred`          element `index` of an unpacked value
`each iterable position`              element of an iteration
`mutate old steps op operands position span`   `old` with something added or set inside it
`loophead before after loop`          seen inside a loop: `before`, and what earlier rounds made of it
`loopexit before after loop`          seen after a loop
`enter expression position`           `with` target
`import binding`, `def scope`, `class scope`, `caught`, `unset`, `free name`
====================================  ==========================================================
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from promptopt.readers.facts import CallFact, Expression, Scope, Statement

Thunk: TypeAlias = Any
"""A tuple, or a list for `loophead`, whose `after` is filled in when its loop has been walked."""

MAX_DEPTH: Final = 60
MAX_STATEMENTS: Final = 30_000

MUTATORS: Final = frozenset(
    {"append", "extend", "insert", "update", "add", "appendleft", "extendleft", "pop", "clear", "remove", "popleft"}
    | {"setdefault", "sort", "reverse", "add_message", "add_user_message", "add_ai_message"}
)


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or `while` statement: its source range, its position, target and iterable (None: while); `each` is
    the definition that its target unpacks."""

    start: int
    end: int
    first: int
    target: Expression | None
    iterable: Expression | None
    test: Expression | None = None
    each: Thunk = None


@dataclass(slots=True)
class Flow:
    """The result: definitions by name, where calls stand, what is returned."""

    versions: dict[str, tuple[list[int], list[Thunk]]] = field(default_factory=dict)
    calls: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    result: Thunk = None
    end: int = 0
    loops: list[tuple[int, int, Loop]] = field(default_factory=list)
    outer_names: frozenset[str] = frozenset()
    yields: bool = False

    def at(self, name: str, position: int) -> Thunk:
        """The definition visible at a position, None where there is none yet."""
        found = self.versions.get(name)
        if found is None:
            return None
        index = bisect_right(found[0], position)
        return found[1][index - 1] if index else None

    def last(self, name: str) -> Thunk:
        """The definition that stands at the end."""
        found = self.versions.get(name)
        return found[1][-1] if found else None

    def all(self, name: str) -> list[Thunk]:
        """Every definition."""
        found = self.versions.get(name)
        return found[1] if found else []

    def call_position(self, index: int) -> int:
        """Position at which a call of the scope's table is evaluated."""
        row = bisect_right(self.calls[0], index)
        return self.calls[1][row - 1] if row else 0

    def enclosing(self, position: int) -> list[Loop]:
        """Loops around a position, outermost first."""
        return [loop for first, last, loop in self.loops if first <= position <= last]


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


def root_and_steps(expression: Expression) -> tuple[str | None, Expression, tuple[Expression, ...]]:
    """Split `a.b[0]["k"]` into the path `a.b`, its expression and the keys `0`, `"k"`."""
    steps: list[Expression] = []
    while expression[0] == "index":
        steps.append(expression[4])
        expression = expression[3]
    return path_of(expression), expression, tuple(reversed(steps))


def flow_of(scope: Scope) -> Flow:
    """Walk a scope."""
    walker = _Walker(scope)
    for index, parameter in enumerate(scope.params):
        walker.define(parameter.name, ("param", index))
    outcome = walker.block(scope.body, 0)
    walker.flow.result = outcome
    walker.flow.end = walker.position + 1
    walker.flow.outer_names = frozenset(walker.outer)
    return walker.flow


STOP: Final = ("stop",)
"""Leaf of a result thunk: this path raises or leaves the loop; None is the leaf that goes on."""


class _Walker:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.flow = Flow(yields=scope.is_generator)
        self.position = 0
        self.current: dict[str, Thunk] = {}
        self.changes: list[dict[str, Thunk]] = []
        self.outer: set[str] = set()
        self.statements = 0

    def define(self, name: str, thunk: Thunk) -> None:
        if self.changes and name not in self.changes[-1]:
            self.changes[-1][name] = self.current.get(name)
        self.current[name] = thunk
        self.position += 1
        positions, thunks = self.flow.versions.setdefault(name, ([], []))
        positions.append(self.position)
        thunks.append(thunk)

    def seen(self, path: str, expression: Expression) -> Thunk:
        if path in self.current:
            return self.current[path]
        if "." in path:
            return ("expr", expression, self.position)
        return ("free", path)

    def block(self, body: tuple[Statement, ...], depth: int) -> Thunk:
        """Walk statements; the thunk of what they return, None leaves where they fall through."""
        outcomes = []
        for statement in body:
            self.statements += 1
            if self.statements > MAX_STATEMENTS:
                break
            self.position += 1
            if statement[4] > statement[3]:
                self.flow.calls[0].append(statement[3])
                self.flow.calls[1].append(self.position)
            outcome = _WALK[statement[0]](self, statement, depth)
            if outcome is not None:
                outcomes.append(outcome)
                if _ends(outcome):
                    break
        result: Thunk = None
        for outcome in reversed(outcomes):
            result = _then(outcome, result)
        return result

    def branch(self, body: tuple[Statement, ...], depth: int) -> tuple[Thunk, dict[str, Thunk], dict[str, Thunk]]:
        """Walk one branch and undo it: its outcome, its definitions, and what they were before."""
        self.changes.append({})
        outcome = self.block(body, depth + 1) if depth < MAX_DEPTH else self.skip(body)
        before = self.changes.pop()
        made = {name: self.current[name] for name in before}
        for name, old in before.items():
            self.define(name, old if old is not None else ("unset",))
        return outcome, made, before

    def skip(self, body: tuple[Statement, ...]) -> Thunk:
        for name in assigned_names(body, self.scope.calls):
            self.define(name, ("unset",))
        return None

    def merge(
        self,
        test: Expression | None,
        position: int,
        branches: list[tuple[Thunk, dict[str, Thunk], dict[str, Thunk]]],
    ) -> None:
        """Join the definitions of branches that reach the end."""
        names = dict.fromkeys(name for _, made, _ in branches for name in made)
        alive = [(made, before) for outcome, made, before in branches if not _ends(outcome)]
        for name in names:
            old = self.current.get(name, ("unset",))
            thunks = [made.get(name, old) for made, _ in alive]
            if not thunks:
                continue
            joined = thunks[-1]
            for thunk in reversed(thunks[:-1]):
                joined = joined if thunk is joined else ("join", test, position, thunk, joined)
            self.define(name, joined)

    # Statements; each returns the outcome thunk.

    def assign(self, statement: Statement, _depth: int) -> Thunk:
        value = ("expr", statement[6], self.position)
        for target in statement[5]:
            self.bind(target, value)
        return None

    def annotated(self, statement: Statement, _depth: int) -> Thunk:
        if statement[7] is not None:
            self.bind(statement[5], ("expr", statement[7], self.position))
        return None

    def augmented(self, statement: Statement, _depth: int) -> Thunk:
        target, operator, value = statement[5:8]
        self.mutate(target, f"augment{operator}", (value,), (statement[1], statement[2]))
        return None

    def expression(self, statement: Statement, _depth: int) -> Thunk:
        expression = statement[5]
        while expression[0] == "await":
            expression = expression[3]
        if expression[0] == "call":
            start, end, function, arguments, _keywords = self.scope.calls[expression[3]]
            if function[0] == "attr" and function[4] in MUTATORS:
                self.mutate(function[3], function[4], (expression, *arguments), (start, end))
            elif function[0] in ("attr", "name") and arguments and _last(function) in ("shuffle",):
                self.mutate(arguments[0], "shuffle", (expression,), (start, end))
        return None

    def mutate(self, target: Expression, op: str, operands: tuple[Expression, ...], span: tuple[int, int]) -> None:
        path, expression, steps = root_and_steps(target)
        if path is not None:
            old = self.seen(path, expression)
            self.define(path, ("mutate", old, steps, op, operands, self.position, span))

    def bind(self, target: Expression, value: Thunk) -> None:
        kind = target[0]
        if kind == "name":
            self.define(target[3], value)
        elif kind == "attr":
            path = path_of(target)
            if path is not None:
                self.define(path, value)
        elif kind == "seq":
            self.unpack(target[4], value)
        elif kind in ("index", "slice"):
            self.set_item(target, value)

    def unpack(self, targets: tuple[Expression, ...], value: Thunk) -> None:
        starred = next((i for i, t in enumerate(targets) if t[0] == "star"), None)
        for index, target in enumerate(targets):
            if target[0] == "star":
                self.bind(target[3], ("unpack", value, index, len(targets) - 1 - index))
            else:
                after = starred is not None and index > starred
                self.bind(target, ("unpack", value, index - len(targets) if after else index, None))

    def set_item(self, target: Expression, value: Thunk) -> None:
        if target[0] == "slice":
            path, expression, steps = root_and_steps(target[3])
            op = "setall" if target[4:] == (None, None, None) else "setslice"
        else:
            path, expression, steps = root_and_steps(target)
            op = "setitem"
        if path is not None:
            old = self.seen(path, expression)
            span = (target[1], target[2])
            self.define(path, ("mutate", old, steps, op, (value,), self.position, span))

    def returned(self, statement: Statement, _depth: int) -> Thunk:
        value = statement[5]
        return ("none",) if value is None else ("expr", value, self.position)

    def if_(self, statement: Statement, depth: int) -> Thunk:
        test, position = statement[5], self.position
        first = self.branch(statement[6], depth)
        second = self.branch(statement[7], depth)
        self.merge(test, position, [first, second])
        if first[0] is None and second[0] is None:
            return None
        return ("join", test, position, first[0], second[0])

    def loop(self, statement: Statement, depth: int) -> Thunk:
        is_for = statement[0] == "for"
        body, orelse = statement[7] if is_for else statement[6], statement[8] if is_for else statement[7]
        loop = Loop(
            statement[1],
            statement[2],
            self.position,
            statement[5] if is_for else None,
            statement[6] if is_for else None,
            None if is_for else statement[5],
            ("each", statement[6], self.position) if is_for else None,
        )
        first = self.position + 1
        heads: dict[str, list[Any]] = {}
        self.changes.append({})
        for name in assigned_names(body, self.scope.calls):
            before = self.current.get(name)
            if before is None:
                before = ("unset",) if "." not in name else ("expr", _expression_of(name, statement), self.position)
            heads[name] = ["loophead", before, None, loop]
            self.define(name, heads[name])
        if is_for:
            self.bind(statement[5], loop.each)
        outcome = self.block(body, depth + 1) if depth < MAX_DEPTH else self.skip(body)
        self.changes.pop()
        self.flow.loops.append((first, self.position, loop))
        for name, head in heads.items():
            head[2] = self.current[name]
            self.define(name, ("loopexit", head[1], head[2], loop, head))
        after = self.block(orelse, depth + 1) if orelse and depth < MAX_DEPTH else None
        returned = _loop_result(outcome)
        return _then(returned, after) if returned is not None else after

    def try_(self, statement: Statement, depth: int) -> Thunk:
        body, handlers, orelse, final = statement[5:9]
        position = self.position
        branches = [self.branch(body + orelse, depth)]
        for name, handler in handlers:
            branches.append(self.handler(name, handler, depth))
        self.merge(None, position, branches)
        outcome = branches[0][0]
        for other in branches[1:]:
            if outcome is not None or other[0] is not None:
                outcome = ("join", None, position, outcome, other[0])
        return _then(outcome, self.block(final, depth + 1)) if final else outcome

    def handler(
        self, name: str | None, body: tuple[Statement, ...], depth: int
    ) -> tuple[Thunk, dict[str, Thunk], dict[str, Thunk]]:
        if name:
            self.define(name, ("caught",))
        return self.branch(body, depth)

    def with_(self, statement: Statement, depth: int) -> Thunk:
        for expression, target in statement[5]:
            if target is not None:
                self.bind(target, ("enter", expression, self.position))
        return self.block(statement[6], depth + 1) if depth < MAX_DEPTH else self.skip(statement[6])

    def match(self, statement: Statement, depth: int) -> Thunk:
        position, branches, irrefutable = self.position, [], False
        for case in statement[6]:
            self.changes.append({})
            for name in case[0]:
                self.define(name, ("caught",))
            self.changes.pop()
            branches.append(self.branch(case[1], depth))
            irrefutable = len(case) > 2 and bool(case[2])
        if not irrefutable:
            branches.append((None, {}, {}))
        self.merge(None, position, branches)
        outcome = branches[-1][0]
        for other in reversed(branches[:-1]):
            if outcome is not None or other[0] is not None:
                outcome = ("join", None, position, other[0], outcome)
        return outcome

    def definition(self, statement: Statement, _depth: int) -> Thunk:
        self.define(statement[5], (statement[0], statement[6]))
        return None

    def import_(self, statement: Statement, _depth: int) -> Thunk:
        for binding in statement[5]:
            self.define(binding[2], ("import", binding))
        return None

    def delete(self, statement: Statement, _depth: int) -> Thunk:
        for target in statement[5]:
            path, expression, steps = root_and_steps(target)
            if path is not None and steps:
                old = self.seen(path, expression)
                self.define(path, ("mutate", old, steps, "delete", (), self.position, (target[1], target[2])))
        return None

    def outer_(self, statement: Statement, _depth: int) -> Thunk:
        self.outer.update(statement[5])
        return None

    def stop(self, _statement: Statement, _depth: int) -> Thunk:
        return STOP


_WALK: Final[dict[str, Callable[[_Walker, Statement, int], Thunk]]] = {
    "assign": _Walker.assign,
    "annotated": _Walker.annotated,
    "augmented": _Walker.augmented,
    "expression": _Walker.expression,
    "return": _Walker.returned,
    "if": _Walker.if_,
    "for": _Walker.loop,
    "while": _Walker.loop,
    "try": _Walker.try_,
    "with": _Walker.with_,
    "match": _Walker.match,
    "def": _Walker.definition,
    "class": _Walker.definition,
    "import": _Walker.import_,
    "delete": _Walker.delete,
    "global": _Walker.outer_,
    "nonlocal": _Walker.outer_,
    "stop": _Walker.stop,
}


def _last(function: Expression) -> str:
    name: str = function[4] if function[0] == "attr" else function[3]
    return name


def _expression_of(path: str, statement: Statement) -> Expression:
    names = path.split(".")
    expression: Expression = ("name", statement[1], statement[1], names[0])
    for name in names[1:]:
        expression = ("attr", statement[1], statement[1], expression, name)
    return expression


def _ends(outcome: Thunk) -> bool:
    """Whether no path falls through."""
    while outcome is not None and outcome[0] == "join":
        if not _ends(outcome[3]):
            return False
        outcome = outcome[4]
    return outcome is not None


def _then(outcome: Thunk, rest: Thunk) -> Thunk:
    """`outcome` with `rest` in place of the paths that fall through."""
    if outcome is None:
        return rest
    if outcome[0] == "join" and rest is not None:
        return ("join", outcome[1], outcome[2], _then(outcome[3], rest), _then(outcome[4], rest))
    return outcome


def _loop_result(outcome: Thunk) -> Thunk:
    """What a loop's body returns, as something that may also not happen."""
    leaves = [leaf for leaf in _leaves(outcome) if leaf is not None and leaf is not STOP]
    result: Thunk = None
    for leaf in leaves[:8]:
        result = ("join", None, 0, leaf, result)
    return result


def _leaves(outcome: Thunk) -> Iterable[Thunk]:
    stack = [outcome]
    while stack:
        thunk = stack.pop()
        if thunk is not None and thunk[0] == "join":
            stack += (thunk[4], thunk[3])
        else:
            yield thunk


def assigned_names(body: tuple[Statement, ...], calls: tuple[CallFact, ...]) -> list[str]:
    """Names and dotted paths that statements define or mutate, nested blocks included."""
    names: dict[str, None] = {}
    stack: list[Statement] = list(reversed(body))
    while stack:
        statement = stack.pop()
        for target in _targets(statement, calls):
            _collect_target(target, names)
        for part in _nested(statement):
            stack.extend(reversed(part))
    return list(names)


def _targets(statement: Statement, calls: tuple[CallFact, ...]) -> list[Expression]:
    tag = statement[0]
    if tag == "assign":
        return list(statement[5])
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


def _nested(statement: Statement) -> list[tuple[Statement, ...]]:
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
