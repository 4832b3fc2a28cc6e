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
`loopexit before after loop head`     seen after a loop whose body sees `head`
`enter expression position`           `with` target
`import binding`, `def scope`, `class scope`
`free name`                           of an enclosing scope
`none`                                `return` without a value
`caught`                              bound by an `except` clause or a pattern
`unset`                               not bound on this path
`stop`                                this path raises or leaves the loop
====================================  ==========================================================
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from promptopt.project.targets import MUTATORS, assigned_names, last_name, path_of, popped, root_and_steps
from promptopt.readers.facts import Expression, Scope, Statement

Thunk: TypeAlias = Any
"""A tuple, or a list for `loophead`, whose `after` is filled in when its loop has been walked."""

MAX_DEPTH: Final = 60
MAX_STATEMENTS: Final = 30_000


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


@dataclass(frozen=True, slots=True)
class Touch:
    """A statement that calls a method of a local object: `parts.add(...)`; `call` is its index."""

    position: int
    call: int
    method: str


@dataclass(slots=True)
class Flow:
    """The result: definitions by name, where calls stand, what is returned.

    `touches` are method calls on local names, `attributes` what is assigned on them (`x.a = ...`);
    `branches` are the ranges of positions that not every path takes, and whether they are left for good.
    """

    versions: dict[str, tuple[list[int], list[Thunk]]] = field(default_factory=dict)
    calls: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    result: Thunk = None
    end: int = 0
    loops: list[tuple[int, int, Loop]] = field(default_factory=list)
    outer_names: frozenset[str] = frozenset()
    yields: bool = False
    dead: list[tuple[int, int]] = field(default_factory=list)
    touches: dict[str, tuple[Touch, ...]] = field(default_factory=dict)
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    branches: list[tuple[int, int, bool]] = field(default_factory=list)

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

    def defined_at(self, name: str, position: int) -> int:
        """Position of the definition visible at a position; 0 where there is none."""
        positions = self.versions[name][0]
        index = bisect_right(positions, position)
        return positions[index - 1] if index else 0

    def reaches(self, earlier: int, later: int) -> bool:
        """Whether a path leads from one position on to a later one."""
        return not any(ends and first <= earlier <= last < later for first, last, ends in self.branches)

    def certain(self, earlier: int, later: int) -> bool:
        """Whether every path to the later position takes the earlier one."""
        return not any(first <= earlier <= last < later for first, last, _ in self.branches)

    def is_dead(self, offset: int) -> bool:
        """Whether an offset lies in a branch whose test is literally false."""
        return any(start <= offset < end for start, end in self.dead)

    def call_position(self, index: int) -> int:
        """Position at which a call of the scope's table is evaluated."""
        row = bisect_right(self.calls[0], index)
        return self.calls[1][row - 1] if row else 0

    def enclosing(self, position: int) -> list[Loop]:
        """Loops around a position, outermost first."""
        return [loop for first, last, loop in self.loops if first <= position <= last]


def flow_of(scope: Scope) -> Flow:
    """Walk a scope."""
    walker = _Walker(scope)
    for index, parameter in enumerate(scope.params):
        walker.define(parameter.name, ("param", index))
    outcome = walker.block(scope.body, 0)
    walker.flow.result = outcome
    walker.flow.end = walker.position + 1
    walker.flow.outer_names = frozenset(walker.outer)
    walker.flow.touches = {name: tuple(found) for name, found in walker.touches.items()}
    walker.flow.attributes = _attributes(walker.flow.versions)
    return walker.flow


def _attributes(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path in names:
        root, _, attribute = path.partition(".")
        if attribute and "." not in attribute:
            found[root] = (*found.get(root, ()), attribute)
    return found


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
        self.touches: dict[str, list[Touch]] = {}
        self.ends_round = False

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

    def block(self, body: tuple[Statement, ...], depth: int, *, ends_round: bool = False) -> Thunk:
        """Walk statements; the thunk of what they return, None leaves where they fall through.

        With `ends_round` a round of the loop ends with the block: what follows `if test: ...; continue`
        is then what the test's other branch does.
        """
        outcomes = []
        left = list(reversed(body))
        while left:
            statement = left.pop()
            self.statements += 1
            if self.statements > MAX_STATEMENTS:
                break
            if ends_round and statement[0] == "if":
                statement, left = _with_rest(statement, left)
            self.ends_round = ends_round and not left
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

    def branch(
        self, body: tuple[Statement, ...], depth: int, *, ends_round: bool = False
    ) -> tuple[Thunk, dict[str, Thunk], dict[str, Thunk]]:
        """Walk one branch and undo it: its outcome, its definitions, and what they were before."""
        self.changes.append({})
        first = self.position + 1
        outcome = self.block(body, depth + 1, ends_round=ends_round) if depth < MAX_DEPTH else self.skip(body)
        self.flow.branches.append((first, self.position, _ends(outcome)))
        before = self.changes.pop()
        made = {name: self.current[name] for name in before}
        if self.changes:
            # what was there before this branch was there before the one around it, unless that has changed it already
            self.changes[-1].update({name: old for name, old in before.items() if name not in self.changes[-1]})
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

    def assign(self, statement: Statement, _depth: int) -> Thunk:
        value = ("expr", statement[6], self.position)
        self.touch(statement[6])
        self.taken(statement[6])
        for target in statement[5]:
            self.bind(target, value)
        return None

    def taken(self, expression: Expression) -> None:
        """Note that `x = items.pop(0)["content"]` also changes `items`."""
        taken = popped(expression, self.scope.calls)
        if taken is not None:
            call, (start, end, function, arguments, _) = taken, self.scope.calls[taken[3]]
            self.mutate(function[3], "pop", (call, *arguments), (start, end))

    def touch(self, expression: Expression) -> None:
        """Note a method call on a local name."""
        while expression[0] == "await":
            expression = expression[3]
        if expression[0] != "call":
            return
        function = self.scope.calls[expression[3]][2]
        if function[0] == "attr" and function[3][0] == "name":
            name = function[3][3]
            made = self.current.get(name)
            if made is not None and made[0] not in ("import", "def", "class"):
                self.touches.setdefault(name, []).append(Touch(self.position, expression[3], function[4]))

    def annotated(self, statement: Statement, _depth: int) -> Thunk:
        if statement[7] is not None:
            self.touch(statement[7])
            self.taken(statement[7])
            self.bind(statement[5], ("expr", statement[7], self.position))
        return None

    def augmented(self, statement: Statement, _depth: int) -> Thunk:
        target, operator, value = statement[5:8]
        self.mutate(target, f"augment{operator}", (value, target), (statement[1], statement[2]))
        return None

    def expression(self, statement: Statement, _depth: int) -> Thunk:
        expression = statement[5]
        self.touch(expression)
        while expression[0] == "await":
            expression = expression[3]
        if expression[0] == "call":
            start, end, function, arguments, _keywords = self.scope.calls[expression[3]]
            if function[0] == "attr" and function[4] in MUTATORS:
                self.mutate(function[3], function[4], (expression, *arguments), (start, end))
            elif function[0] in ("attr", "name") and arguments and last_name(function) == "shuffle":
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
        test, position, ends_round = statement[5], self.position, self.ends_round
        if _never(test) and statement[6]:
            self.flow.dead.append((statement[6][0][1], statement[6][-1][2]))
        first = self.branch(statement[6], depth, ends_round=ends_round)
        second = self.branch(statement[7], depth, ends_round=ends_round)
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
        for name in assigned_names(body, self.scope.calls):
            before = self.current.get(name)
            if before is None:
                before = ("unset",) if "." not in name else ("expr", _expression_of(name, statement), self.position)
            heads[name] = ["loophead", before, None, loop]
            self.define(name, heads[name])
        if is_for:
            self.bind(statement[5], loop.each)
        outcome = self.block(body, depth + 1, ends_round=True) if depth < MAX_DEPTH else self.skip(body)
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
            for name in case[0]:
                self.define(name, ("caught",))
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


def _with_rest(statement: Statement, left: list[Statement]) -> tuple[Statement, list[Statement]]:
    """An `if` that ends a round of its loop in one branch, with the statements after it in the other."""
    body, orelse = statement[6], statement[7]
    rest = tuple(reversed(left))
    if _leaves_round(body):
        return (*statement[:6], body[:-1], (*orelse, *rest)), []
    if _leaves_round(orelse):
        return (*statement[:6], (*body, *rest), orelse[:-1]), []
    return statement, left


def _leaves_round(body: tuple[Statement, ...]) -> bool:
    return bool(body) and body[-1][0] == "stop" and body[-1][5] != "raise"


def _expression_of(path: str, statement: Statement) -> Expression:
    names = path.split(".")
    expression: Expression = ("name", statement[1], statement[1], names[0])
    for name in names[1:]:
        expression = ("attr", statement[1], statement[1], expression, name)
    return expression


def _never(test: Expression) -> bool:
    """Whether a test is false as it is written."""
    if test[0] == "and":
        return any(_never(part) for part in test[3])
    return bool(test[0] == "const" and not test[3])


def _ends(outcome: Thunk) -> bool:
    """Whether no path falls through."""
    return all(leaf is not None for leaf in _leaves(outcome))


def _then(outcome: Thunk, rest: Thunk) -> Thunk:
    """`outcome` with `rest` in place of the paths that fall through."""
    made: dict[int, Thunk] = {}

    def then(thunk: Thunk) -> Thunk:
        if thunk is None:
            return rest
        if thunk[0] != "join":
            return thunk
        if id(thunk) not in made:
            made[id(thunk)] = ("join", thunk[1], thunk[2], then(thunk[3]), then(thunk[4]))
        return made[id(thunk)]

    return outcome if rest is None else then(outcome)


def _loop_result(outcome: Thunk) -> Thunk:
    """What a loop's body returns, as something that may also not happen."""
    leaves = [leaf for leaf in _leaves(outcome) if leaf is not None and leaf is not STOP]
    result: Thunk = None
    for leaf in leaves[:8]:
        result = ("join", None, 0, leaf, result)
    return result


def _leaves(outcome: Thunk) -> Iterator[Thunk]:
    """The ends of all paths; those of a part that several paths share once."""
    seen: set[int] = set()
    stack = [outcome]
    while stack:
        thunk = stack.pop()
        if thunk is None or thunk[0] != "join":
            yield thunk
        elif id(thunk) not in seen:
            seen.add(id(thunk))
            stack += (thunk[4], thunk[3])
