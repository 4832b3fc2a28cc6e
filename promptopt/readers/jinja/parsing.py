"""Jinja's own parser, with a span on every expression.

The parser brackets each method that parses an expression: a node spans from the first token seen on
entry to the last one consumed on exit. `span` is the node's own, `outer` takes in the parentheses
around it, which the tree does not keep. Both stand on the node itself: the parser throws nodes away,
so that their ids are reused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from jinja2 import Environment, nodes
from jinja2.lexer import Token
from jinja2.parser import Parser

from promptopt.readers.jinja.lexing import PlacedStream, PlacingLexer, TokenPlace


class PlacingEnvironment(Environment):
    """Environment that lexes with `PlacingLexer`; it parses and never renders."""

    @cached_property
    def lexer(self) -> PlacingLexer:
        """A lexer with this environment's delimiters."""
        return PlacingLexer(self)


class PlacingParser(Parser):
    """Parser that gives every expression a `span` and an `outer` span."""

    stream: PlacedStream
    _unary_start: int | None = None

    def parse(self) -> nodes.Template:
        """The template's tree."""
        tree = super().parse()
        _fill(tree)
        return tree

    def parse_unary(self, with_filter: bool = True) -> nodes.Expr:  # noqa: FBT001, FBT002 - Jinja's signature
        """An operand with its signs; the sign's place is kept for the filters behind it."""
        saved, start = self._unary_start, _start(self.stream.current)
        self._unary_start = start
        try:
            node: nodes.Expr = self.record(super().parse_unary(with_filter), start)
        finally:
            self._unary_start = saved
        return node

    def parse_filter(  # Jinja's signature
        self,
        node: nodes.Expr | None,
        start_inline: bool = False,  # noqa: FBT001, FBT002
    ) -> nodes.Expr | None:
        """A chain of filters, one link at a time: the base class builds `a|b|c` in one call."""
        start = self.operand_start(node)
        while self.stream.current.type == "pipe" or start_inline:
            if not start_inline:
                next(self.stream)
            token = self.stream.expect("name")
            name = token.value
            while self.stream.current.type == "dot":
                next(self.stream)
                name += "." + self.stream.expect("name").value
            called = self.stream.current.type == "lparen"
            arguments = self.parse_call_args() if called else ([], [], None, None)
            node = self.record(nodes.Filter(node, name, *arguments, lineno=token.lineno), start)
            start_inline = False
        return node

    def record(self, node: Any, start: int | None) -> Any:
        """The node, with its spans: the innermost call built it, the outermost saw its parentheses."""
        if isinstance(node, nodes.Node) and start is not None:
            here = (start, self.stream.last_end)
            _give(node, here)
            if isinstance(node, nodes.Not):  # `x is not y` hides a Test in a Not
                _give(node.node, here, outermost=False)
        return node

    def operand_start(self, node: Any) -> int | None:
        """Where the operand of a postfix operator starts; it may be a sign that was just parsed."""
        if node is None:  # {% filter upper %}
            return _start(self.stream.current)
        if not hasattr(node, "outer"):
            if self._unary_start is None:
                return None
            _give(node, (self._unary_start, self.stream.last_end))
        outer: tuple[int, int] = node.outer
        return outer[0]


def _give(node: Any, span: tuple[int, int], *, outermost: bool = True) -> None:
    fresh = not hasattr(node, "span")
    if fresh:
        node.span = span
    if fresh or outermost:
        node.outer = span


def _start(token: Token) -> int | None:
    return token.lineno.start if isinstance(token.lineno, TokenPlace) else None


def _fill(node: nodes.Node) -> None:
    """Left links of `a + b + c` are built in a loop: their ends are those of their operands."""
    children = list(node.iter_child_nodes())
    for child in children:
        _fill(child)
    if isinstance(node, nodes.Expr) and not hasattr(node, "span"):
        outers = [child.outer for child in children if hasattr(child, "outer")]
        if outers:
            _give(node, (min(start for start, _ in outers), max(end for _, end in outers)))


def _bracketed(name: str, *, postfix: bool) -> Callable[..., Any]:
    parse = getattr(Parser, name)

    def method(self: PlacingParser, *args: Any, **kwargs: Any) -> Any:
        start = self.operand_start(args[0]) if postfix else _start(self.stream.current)
        return self.record(parse(self, *args, **kwargs), start)

    return method


_PREFIX: Final = (
    "parse_condexpr", "parse_or", "parse_and", "parse_not", "parse_compare", "parse_math1", "parse_concat",
    "parse_math2", "parse_pow", "parse_primary", "parse_tuple", "parse_list", "parse_dict", "parse_assign_target",
    "parse_statement", "parse_subscribed",
)  # fmt: skip
_POSTFIX: Final = ("parse_subscript", "parse_call", "parse_test")

for _name in _PREFIX:
    setattr(PlacingParser, _name, _bracketed(_name, postfix=False))
for _name in _POSTFIX:
    setattr(PlacingParser, _name, _bracketed(_name, postfix=True))
