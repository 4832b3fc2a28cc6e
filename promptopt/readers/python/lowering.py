"""The state of lowering one module: where positions, scopes, calls and hoisted assignments go."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from promptopt.readers.facts import CallFact, Expression, Scope, Statement

Lower: TypeAlias = Callable[["Lowering", Any], Expression]

DEEPEST: Final = 200
"""Levels of nested facts; who evaluates them recurses, several frames a level."""


class TooDeepError(RecursionError):
    """An expression is nested too deeply to be worth lowering."""


class Lowering:
    """Mutable state while one module is lowered; `scope` to `global_names` are those of the current scope.

    `origins` turns positions into offsets (see `columns`), `expression` dispatches on a node's type,
    `names` collects `calls_by_name`, `depth` counts nested expressions.
    """

    __slots__ = (
        "calls",
        "depth",
        "expression",
        "generator",
        "global_names",
        "hoisted",
        "imports",
        "names",
        "origins",
        "prefix",
        "scope",
        "scopes",
        "text",
    )

    def __init__(self, text: str, origins: list[int], expression: dict[type, Lower]) -> None:
        self.text = text
        self.origins = origins
        self.expression = expression
        self.scopes: list[Scope] = []
        self.names: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.imports: list[tuple[str, str | None, str, int]] = []
        self.depth = 0
        self.scope = -1
        self.prefix = ""
        self.calls: list[CallFact] = []
        self.hoisted: list[Statement] = []
        self.generator = False
        self.global_names: tuple[str, ...] = ()

    def span(self, node: Any) -> tuple[int, int]:
        """Offsets of a node."""
        origins = self.origins
        return origins[node.lineno] + node.col_offset, origins[node.end_lineno] + node.end_col_offset

    def lower(self, node: ast.expr) -> Expression:
        """Facts of an expression.

        Raises:
            TooDeepError: it is nested more than `DEEPEST` levels deep.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooDeepError
        fact = self.expression[type(node)](self, node)
        self.depth -= 1
        return fact

    def lower_optional(self, node: ast.expr | None) -> Expression | None:
        """Facts of an expression that may be left out."""
        return None if node is None else self.lower(node)

    def source(self, node: Any) -> str:
        """Source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]
