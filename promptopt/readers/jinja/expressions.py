"""Lowers Jinja's expressions into the language of `readers.facts`.

A call cannot point into a table as Python's do: `call` holds its function and arguments itself, and a
filter is a call of the filter's name with the filtered value as first argument (`filter name value
arguments keywords`). Tests and arithmetic other than `+`, `*`, `%` and `/` are `unk`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jinja2 import nodes

from promptopt.readers.facts import Expression

_OPERATORS: Final[dict[type[nodes.Expr], str]] = {nodes.Add: "+", nodes.Mul: "*", nodes.Mod: "%", nodes.Div: "/"}
_COMPARISONS: Final = {"eq": "==", "ne": "!=", "in": "in", "notin": "not in"}
_UNKNOWN: Final = "unk"


def lower(node: Any) -> Expression:
    """The expression's facts; spans are offsets into the template."""
    kind = type(node)
    start, end = node.span
    if kind in _OPERATORS:
        return ("bin", start, end, _OPERATORS[kind], lower(node.left), lower(node.right))
    lowering = _LOWERINGS.get(kind)
    return (_UNKNOWN, start, end, kind.__name__.lower()) if lowering is None else lowering(node, start, end)


def _constant(node: nodes.Const, start: int, end: int) -> Expression:
    return ("lit" if isinstance(node.value, str) else "const", start, end, node.value)


def _arguments(node: Any) -> tuple[tuple[Expression, ...], tuple[tuple[str | None, Expression], ...]]:
    positional = tuple(lower(argument) for argument in node.args)
    if node.dyn_args is not None:
        positional += (("star", *node.dyn_args.span, lower(node.dyn_args)),)
    keywords: tuple[tuple[str | None, Expression], ...] = tuple(
        (keyword.key, lower(keyword.value)) for keyword in node.kwargs
    )
    if node.dyn_kwargs is not None:
        keywords += ((None, lower(node.dyn_kwargs)),)
    return positional, keywords


def _filter(node: nodes.Filter, start: int, end: int) -> Expression:
    value = None if node.node is None else lower(node.node)
    return ("filter", start, end, node.name, value, *_arguments(node))


def _subscript(node: nodes.Getitem, start: int, end: int) -> Expression:
    key: Any = node.arg
    if not isinstance(key, nodes.Slice):
        return ("index", start, end, lower(node.node), lower(key))
    bounds = (None if bound is None else lower(bound) for bound in (key.start, key.stop, key.step))
    return ("slice", start, end, lower(node.node), *bounds)


def _compare(node: nodes.Compare, start: int, end: int) -> Expression:
    operator = _COMPARISONS.get(node.ops[0].op)
    if len(node.ops) > 1 or operator is None:
        return (_UNKNOWN, start, end, "comparison")
    return ("cmp", start, end, operator, lower(node.expr), lower(node.ops[0].expr))


def _concat(node: nodes.Concat, start: int, end: int) -> Expression:
    """`a ~ b` joins the texts of its operands, as an f-string does."""
    children: list[Any] = list(node.nodes)
    pieces = tuple(("fmt", *child.span, lower(child), None, None) for child in children)
    return ("fstr", start, end, pieces)


def _choice(node: nodes.CondExpr, start: int, end: int) -> Expression:
    otherwise = ("lit", end, end, "") if node.expr2 is None else lower(node.expr2)
    return ("ifexp", start, end, lower(node.test), lower(node.expr1), otherwise)


def _dictionary(node: nodes.Dict, start: int, end: int) -> Expression:
    return ("dict", start, end, tuple((lower(pair.key), lower(pair.value)) for pair in node.items))


def _either(tag: str) -> Callable[[Any, int, int], Expression]:
    """`a or b or c` is one expression, as in Python, not one in another."""

    def lowering(node: Any, start: int, end: int) -> Expression:
        left = lower(node.left)
        values = left[3] if type(node.left) is type(node) else (left,)
        return (tag, start, end, (*values, lower(node.right)))

    return lowering


def _sequence(kind: str) -> Callable[[Any, int, int], Expression]:
    return lambda node, start, end: ("seq", start, end, kind, tuple(lower(item) for item in node.items))


_LOWERINGS: Final[dict[type[nodes.Node], Callable[[Any, int, int], Expression]]] = {
    nodes.Name: lambda node, start, end: ("name", start, end, node.name),
    nodes.Const: _constant,
    nodes.Getattr: lambda node, start, end: ("attr", start, end, lower(node.node), node.attr),
    nodes.Getitem: _subscript,
    nodes.Call: lambda node, start, end: ("call", start, end, lower(node.node), *_arguments(node)),
    nodes.Filter: _filter,
    nodes.Concat: _concat,
    nodes.CondExpr: _choice,
    nodes.Compare: _compare,
    nodes.Not: lambda node, start, end: ("not", start, end, lower(node.node)),
    nodes.And: _either("and"),
    nodes.Or: _either("or"),
    nodes.List: _sequence("list"),
    nodes.Tuple: _sequence("tuple"),
    nodes.Dict: _dictionary,
}
