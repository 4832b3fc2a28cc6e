"""The state of lowering one module: where positions, scopes, calls and hoisted assignments go."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias

from promptopt.readers.facts import CallFact, Expression, Scope, Statement

Lower: TypeAlias = Callable[["Lowering", Any], Expression]


class Lowering:
    """Mutable state while one module is lowered; `scope` to `hoisted` are those of the current scope.

    `origins` turns positions into offsets (see `columns`), `expression` dispatches on a node's type,
    `names` collects `calls_by_name`.
    """

    __slots__ = (
        "calls",
        "expression",
        "generator",
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
        self.scope = -1
        self.prefix = ""
        self.calls: list[CallFact] = []
        self.hoisted: list[Statement] = []
        self.generator = False

    def span(self, node: Any) -> tuple[int, int]:
        """Offsets of a node."""
        origins = self.origins
        return origins[node.lineno] + node.col_offset, origins[node.end_lineno] + node.end_col_offset

    def lower(self, node: ast.expr) -> Expression:
        """Facts of an expression."""
        return self.expression[type(node)](self, node)

    def lower_optional(self, node: ast.expr | None) -> Expression | None:
        """Facts of an expression that may be left out."""
        return None if node is None else self.expression[type(node)](self, node)

    def source(self, node: Any) -> str:
        """Source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]
