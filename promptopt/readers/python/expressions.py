"""Lowering of expressions, one function per node type; `EXPRESSIONS` dispatches.

Each takes the state and the node and returns facts as `promptopt.readers.facts` specifies. In the functions
that run for most nodes positions are computed in place and loops are spelled out: calls of functions,
which comprehensions are before Python 3.12, make up most of the cost.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from sys import intern
from typing import Any, Final

from promptopt.readers.facts import Expression
from promptopt.readers.python.lowering import Lower, Lowering

_LONGEST_INTERNED: Final = 32
_LONGEST_TABLE: Final = 64
_LONGEST_CHAIN: Final = 64
_OPERATORS: Final = {ast.Add: "+", ast.Mult: "*", ast.Mod: "%", ast.BitOr: "|", ast.Div: "/"}
_SUMS: Final = frozenset((ast.Add, ast.Sub))
_COMPARISONS: Final = {
    ast.Is: "is", ast.IsNot: "is not", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_LOG_METHODS: Final = frozenset(
    ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log", "trace", "success")
)
_QUIET: Final = frozenset((ast.Name, ast.Constant))
_NUMBERS: Final = frozenset((int, float))
_PLAIN: Final = frozenset((int, float, bool, type(None)))


def _constant(state: Lowering, node: Any) -> Expression:
    origins = state.origins
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    value = node.value
    kind = type(value)
    if kind is str:
        return ("lit", start, end, value if len(value) > _LONGEST_INTERNED else intern(value))
    if kind in _PLAIN:
        return ("const", start, end, value)
    return ("unk", start, end, intern(kind.__name__))


def _name(state: Lowering, node: Any) -> Expression:
    origins = state.origins
    start = origins[node.lineno] + node.col_offset
    return ("name", start, origins[node.end_lineno] + node.end_col_offset, node.id)


def _attribute(state: Lowering, node: Any) -> Expression:
    origins, value = state.origins, node.value
    base = _name(state, value) if type(value) is ast.Name else state.lower(value)
    start = origins[node.lineno] + node.col_offset
    return ("attr", start, origins[node.end_lineno] + node.end_col_offset, base, node.attr)


def _generic_name(node: ast.expr) -> str | None:
    """The name of a parametrised class: `Agent[Context](...)` makes an `Agent`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _call(state: Lowering, node: Any) -> Expression:
    origins, lower, func = state.origins, state.expression, node.func
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    kind = type(func)
    name = None
    if kind is ast.Attribute:
        name = func.attr
        if name in _LOG_METHODS and _is_logger(func.value):
            return _logging(state, node, start, end)
    elif kind is ast.Name:
        name = func.id
    elif kind is ast.Subscript:
        name = _generic_name(func.value)
    function = _name(state, func) if kind is ast.Name else state.lower(func)
    arguments = []
    for value in node.args:
        arguments.append(lower[type(value)](state, value))  # noqa: PERF401 (see above)
    keywords = []
    for word in node.keywords:
        value = word.value
        keywords.append((word.arg, lower[type(value)](state, value)))
    calls = state.calls
    index = len(calls)
    calls.append((start, end, function, tuple(arguments), tuple(keywords)))
    if name is not None:
        state.names[name].append((state.scope, index))
    return ("call", start, end, index)


def _is_logger(receiver: ast.expr) -> bool:
    if isinstance(receiver, ast.Call):
        receiver = receiver.func
    name: str = getattr(receiver, "id", "") or getattr(receiver, "attr", "")
    name = name.lower().strip("_")
    return name == "log" or name.endswith(("logger", "logging", "_log"))


def _logging(state: Lowering, node: ast.Call, start: int, end: int) -> Expression:
    # a request made right inside the arguments still is one
    for value in (*node.args, *(word.value for word in node.keywords)):
        if type(value) in (ast.Call, ast.Await):
            state.lower(value)
    return ("unk", start, end, "logging")


def run(state: Lowering, nodes: Iterable[ast.expr]) -> None:
    """Lower for the calls and assignments inside; the values do not matter."""
    for node in nodes:
        kind = type(node)
        if kind is ast.Compare:
            run(state, (node.left, *node.comparators))  # type: ignore[attr-defined]
        elif kind not in _QUIET and not (kind is ast.Attribute and type(node.value) is ast.Name):  # type: ignore[attr-defined]
            state.expression[kind](state, node)


def _unknown(state: Lowering, node: ast.expr, kind: str) -> Expression:
    start, end = state.span(node)
    return ("unk", start, end, kind)


def _binary(state: Lowering, node: ast.BinOp) -> Expression:
    operator = _OPERATORS.get(type(node.op))
    if type(node.op) in _SUMS:
        return _sum(state, node)
    if operator is None:
        run(state, (node.left, node.right))
        return _unknown(state, node, "arithmetic")
    left = state.lower(node.left)
    right = state.lower(node.right)
    start, end = state.span(node)
    return ("bin", start, end, operator, left, right)


def _sum(state: Lowering, node: ast.BinOp) -> Expression:
    spine = [node]
    while isinstance(node.left, ast.BinOp) and type(node.left.op) in _SUMS:
        node = node.left
        spine.append(node)
    spine.reverse()
    if any(type(link.op) is ast.Sub for link in spine):
        run(state, (node.left, *[link.right for link in spine]))
        return _unknown(state, spine[-1], "arithmetic")
    total = state.lower(node.left)
    if len(spine) > _LONGEST_CHAIN:
        return _balanced([total, *[state.lower(link.right) for link in spine]])
    for link in spine:
        right = state.lower(link.right)
        start, end = state.span(link)
        total = ("bin", start, end, "+", total, right)
    return total


def _balanced(terms: list[Expression]) -> Expression:
    """A long sum as a shallow tree: addition of texts and lists is associative."""
    while len(terms) > 1:
        pairs = [("bin", a[1], b[2], "+", a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, terms[-1]] if len(terms) % 2 else list(pairs)
    return terms[0]


def _boolean(state: Lowering, node: ast.BoolOp) -> Expression:
    values = tuple([state.lower(value) for value in node.values])
    start, end = state.span(node)
    return ("or" if type(node.op) is ast.Or else "and", start, end, values)


def _unary(state: Lowering, node: ast.UnaryOp) -> Expression:
    operand = node.operand
    start, end = state.span(node)
    if type(node.op) is ast.Not:
        return ("not", start, end, state.lower(operand))
    if type(node.op) is ast.USub and isinstance(operand, ast.Constant) and type(operand.value) in _NUMBERS:
        return ("const", start, end, -operand.value)  # type: ignore[operator]
    run(state, (operand,))
    return ("unk", start, end, "arithmetic")


def _compare(state: Lowering, node: Any) -> Expression:
    operator = _COMPARISONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
    if operator is None:
        run(state, (node.left, *node.comparators))
        return _unknown(state, node, "comparison")
    lower, origins, left, right = state.expression, state.origins, node.left, node.comparators[0]
    left = lower[type(left)](state, left)
    right = lower[type(right)](state, right)
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    return ("cmp", start, end, operator, left, right)


def _sequence(kind: str) -> Lower:
    def lower(state: Lowering, node: Any) -> Expression:
        start, end = state.span(node)
        items = node.elts
        if len(items) > _LONGEST_TABLE and all(type(getattr(item, "value", None)) in _NUMBERS for item in items):
            return ("unk", start, end, "numbers")
        lowering = state.expression
        facts = []
        for item in items:
            facts.append(lowering[type(item)](state, item))  # noqa: PERF401 (see above)
        return ("seq", start, end, kind, tuple(facts))

    return lower


def _dict(state: Lowering, node: ast.Dict) -> Expression:
    lower = state.expression
    items = []
    for key, value in zip(node.keys, node.values, strict=True):
        fact = None if key is None else lower[type(key)](state, key)
        items.append((fact, lower[type(value)](state, value)))
    start, end = state.span(node)
    return ("dict", start, end, tuple(items))


def _starred(state: Lowering, node: ast.Starred) -> Expression:
    start, end = state.span(node)
    return ("star", start, end, state.lower(node.value))


def _conditional(state: Lowering, node: ast.IfExp) -> Expression:
    test = state.lower(node.test)
    body = state.lower(node.body)
    orelse = state.lower(node.orelse)
    start, end = state.span(node)
    return ("ifexp", start, end, test, body, orelse)


def _comprehension(kind: str) -> Lower:
    def lower(state: Lowering, node: Any) -> Expression:
        generators = tuple(
            [
                (state.lower(part.target), state.lower(part.iter), tuple([state.lower(test) for test in part.ifs]))
                for part in node.generators
            ]
        )
        if kind == "dict":
            key, element = state.lower(node.key), state.lower(node.value)
        else:
            key, element = None, state.lower(node.elt)
        start, end = state.span(node)
        return ("comp", start, end, kind, element, key, generators)

    return lower


def _subscript(state: Lowering, node: Any) -> Expression:
    origins, value, key = state.origins, node.value, node.slice
    base = _name(state, value) if type(value) is ast.Name else state.lower(value)
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    if type(key) is ast.Slice:
        low, high, step = map(state.lower_optional, (key.lower, key.upper, key.step))
        return ("slice", start, end, base, low, high, step)
    return ("index", start, end, base, state.expression[type(key)](state, key))


def _slice(state: Lowering, node: ast.Slice) -> Expression:
    run(state, [part for part in (node.lower, node.upper, node.step) if part is not None])
    return _unknown(state, node, "slice")


def _await(state: Lowering, node: ast.Await) -> Expression:
    value = state.lower(node.value)
    start, end = state.span(node)
    return ("await", start, end, value)


def _yield(state: Lowering, node: ast.Yield) -> Expression:
    state.generator = True
    start, end = state.span(node)
    return ("yield", start, end, state.lower_optional(node.value))


def _yield_from(state: Lowering, node: ast.YieldFrom) -> Expression:
    state.generator = True
    start, end = state.span(node)
    return ("yieldfrom", start, end, state.lower(node.value))


def _named(state: Lowering, node: ast.NamedExpr) -> Expression:
    first = len(state.calls)
    value = state.lower(node.value)
    target = state.lower(node.target)
    start, end = state.span(node)
    state.hoisted.append(("assign", start, end, first, len(state.calls), (target,), value))
    return target


EXPRESSIONS: Final[dict[type, Lower]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.List: _sequence("list"),
    ast.Tuple: _sequence("tuple"),
    ast.Set: _sequence("set"),
    ast.Dict: _dict,
    ast.Starred: _starred,
    ast.IfExp: _conditional,
    ast.ListComp: _comprehension("list"),
    ast.SetComp: _comprehension("set"),
    ast.DictComp: _comprehension("dict"),
    ast.GeneratorExp: _comprehension("gen"),
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.NamedExpr: _named,
}
"""All expressions but f-strings (`strings`) and lambdas (`scopes`)."""
