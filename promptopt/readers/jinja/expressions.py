"""Lowers Jinja's expressions into the language of `readers.facts`.

A filter is a call of the filter's name with the filtered value as first argument (`filter name value
arguments keywords`). Tests and arithmetic other than `+`, `*`, `%` and `/` are `unk`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jinja2 import nodes

from promptopt.readers.facts import Expression
from promptopt.readers.jinja.names import LOOP, ScopeBuilder

_OPERATORS: Final[dict[type[nodes.Expr], str]] = {nodes.Add: "+", nodes.Mul: "*", nodes.Mod: "%", nodes.Div: "/"}
_COMPARISONS: Final = {"eq": "==", "ne": "!=", "in": "in", "notin": "not in"}
_UNKNOWN: Final = "unk"


def lower(node: Any, scope: ScopeBuilder) -> Expression:
    """The expression's facts; its calls and names are noted in `scope`."""
    kind = type(node)
    start, end = scope.place(node)
    if kind in _OPERATORS:
        return ("bin", start, end, _OPERATORS[kind], lower(node.left, scope), lower(node.right, scope))
    lowering = _LOWERINGS.get(kind)
    if lowering is not None:
        return lowering(node, start, end, scope)
    for child in node.iter_child_nodes():
        lower(child, scope)
    return (_UNKNOWN, start, end, kind.__name__.lower())


def lower_all(found: Any, scope: ScopeBuilder) -> tuple[Expression, ...]:
    """Several expressions."""
    return tuple([lower(node, scope) for node in found])


def _name(node: nodes.Name, start: int, end: int, scope: ScopeBuilder) -> Expression:
    name = scope.read(node.name, (start, end))
    return ("fixed", start, end, "loop") if name == LOOP else ("name", start, end, name)


def _constant(node: nodes.Const, start: int, end: int, _scope: ScopeBuilder) -> Expression:
    return ("str" if isinstance(node.value, str) else "const", start, end, node.value)


def arguments_of(
    node: Any, scope: ScopeBuilder
) -> tuple[tuple[Expression, ...], tuple[tuple[str | None, Expression], ...]]:
    """Positional and keyword arguments of a call, filter or test."""
    positional = lower_all(node.args, scope)
    if node.dyn_args is not None:
        positional += (("star", *scope.place(node.dyn_args), lower(node.dyn_args, scope)),)
    keywords: tuple[tuple[str | None, Expression], ...] = tuple(
        [(keyword.key, lower(keyword.value, scope)) for keyword in node.kwargs]
    )
    if node.dyn_kwargs is not None:
        keywords += ((None, lower(node.dyn_kwargs, scope)),)
    return positional, keywords


def _call(node: nodes.Call, start: int, end: int, scope: ScopeBuilder) -> Expression:
    called: Any = node.node
    if isinstance(called, nodes.Name) and called.name == "super" and not node.args:
        return ("name", start, end, scope.read("super", (start, end)))
    function = lower(called, scope)
    arguments = arguments_of(node, scope)
    if function[0] == "fixed":
        return ("fixed", start, end, function[3])
    return scope.called((start, end, function, *arguments))


def _filter(node: nodes.Filter, start: int, end: int, scope: ScopeBuilder) -> Expression:
    guarded = node.name in ("default", "d") and isinstance(node.node, nodes.Name)
    if guarded and isinstance(node.node, nodes.Name):
        scope.guard(node.node.name)
    value = None if node.node is None else lower(node.node, scope)
    return ("filter", start, end, node.name, value, *arguments_of(node, scope))


def _test(node: nodes.Test, start: int, end: int, scope: ScopeBuilder) -> Expression:
    if node.name in ("defined", "undefined", "none") and isinstance(node.node, nodes.Name):
        scope.guard(node.node.name)
    value = lower(node.node, scope)
    arguments_of(node, scope)
    if node.name == "none":
        return ("cmp", start, end, "is", value, ("const", end, end, None))
    if node.name in ("defined", "undefined"):
        answer = ("defined", start, end, value)
        return answer if node.name == "defined" else ("not", start, end, answer)
    return (_UNKNOWN, start, end, "test")


def _attribute(node: nodes.Getattr, start: int, end: int, scope: ScopeBuilder) -> Expression:
    value = lower(node.node, scope)
    return ("fixed", start, end, "loop") if value[0] == "fixed" else ("attr", start, end, value, node.attr)


def _subscript(node: nodes.Getitem, start: int, end: int, scope: ScopeBuilder) -> Expression:
    key: Any = node.arg
    value = lower(node.node, scope)
    if not isinstance(key, nodes.Slice):
        return ("index", start, end, value, lower(key, scope))
    bounds = [None if bound is None else lower(bound, scope) for bound in (key.start, key.stop, key.step)]
    return ("slice", start, end, value, *bounds)


def _compare(node: nodes.Compare, start: int, end: int, scope: ScopeBuilder) -> Expression:
    left = lower(node.expr, scope)
    others = lower_all([operand.expr for operand in node.ops], scope)
    operator = _COMPARISONS.get(node.ops[0].op)
    if len(others) > 1 or operator is None:
        return (_UNKNOWN, start, end, "comparison")
    return ("cmp", start, end, operator, left, others[0])


def _concat(node: nodes.Concat, start: int, end: int, scope: ScopeBuilder) -> Expression:
    """`a ~ b` joins the texts of its operands, as an f-string does."""
    children: list[Any] = list(node.nodes)
    pieces = tuple([("fmt", *scope.place(child), lower(child, scope), None, None) for child in children])
    return ("fstr", start, end, pieces)


def _choice(node: nodes.CondExpr, start: int, end: int, scope: ScopeBuilder) -> Expression:
    scope.guard_all(node.test)
    test = lower(node.test, scope)
    otherwise = ("str", end, end, "") if node.expr2 is None else lower(node.expr2, scope)
    return ("ifexp", start, end, test, lower(node.expr1, scope), otherwise)


def _dictionary(node: nodes.Dict, start: int, end: int, scope: ScopeBuilder) -> Expression:
    return ("dict", start, end, tuple([(lower(pair.key, scope), lower(pair.value, scope)) for pair in node.items]))


Lowering = Callable[[Any, int, int, ScopeBuilder], Expression]


def _either(tag: str) -> Lowering:
    """`a or b or c` is one expression, as in Python, not one in another."""

    def lowering(node: Any, start: int, end: int, scope: ScopeBuilder) -> Expression:
        scope.guard_all(node.left)
        left = lower(node.left, scope)
        values = left[3] if type(node.left) is type(node) else (left,)
        return (tag, start, end, (*values, lower(node.right, scope)))

    return lowering


def _sequence(kind: str) -> Lowering:
    return lambda node, start, end, scope: ("seq", start, end, kind, lower_all(node.items, scope))


_LOWERINGS: Final[dict[type[nodes.Node], Lowering]] = {
    nodes.Name: _name,
    nodes.Const: _constant,
    nodes.Getattr: _attribute,
    nodes.Getitem: _subscript,
    nodes.Call: _call,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.Concat: _concat,
    nodes.CondExpr: _choice,
    nodes.Compare: _compare,
    nodes.Not: lambda node, start, end, scope: ("not", start, end, lower(node.node, scope)),
    nodes.And: _either("and"),
    nodes.Or: _either("or"),
    nodes.List: _sequence("list"),
    nodes.Tuple: _sequence("tuple"),
    nodes.Dict: _dictionary,
}
