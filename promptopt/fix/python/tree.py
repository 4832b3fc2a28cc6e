"""A file's syntax tree with exact offsets on every node, also inside f-strings, and with the way back up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from promptopt.readers.python.columns import origins
from promptopt.readers.python.formatted import Field, scan_formatted
from promptopt.readers.python.literals import ScanError
from promptopt.readers.python.parse import PythonSyntaxError, parse_field, parse_module
from promptopt.source import SourceFile, Span

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree; `start` and `end` are offsets into the file. An f-string's children are the expressions of
    its fields."""

    tree: ast.AST
    start: int
    end: int
    parent: Node | None
    children: list[Node] = field(default_factory=list)

    @property
    def span(self) -> Span:
        """Where the node stands."""
        return Span(self.start, self.end)

    def ancestors(self) -> Iterator[Node]:
        """What the node stands in, the innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def statement(self) -> Node:
        """The statement that the node is part of; the node itself where it is one."""
        node = self
        while not isinstance(node.tree, (ast.stmt, ast.Module)) and node.parent is not None:
            node = node.parent
        return node

    def function(self) -> Node | None:
        """The function that the node stands in, None at the top of the file and in a class's body."""
        return next((node for node in self.ancestors() if isinstance(node.tree, (*FUNCTIONS, ast.ClassDef))), None)

    def walk(self) -> Iterator[Node]:
        """The node and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, tree: ast.AST) -> Node | None:
        """The child that stands for a subtree."""
        return next((child for child in self.children if child.tree is tree), None)


@dataclass(frozen=True, slots=True)
class Tree:
    """A file and its nodes."""

    source: SourceFile
    root: Node

    def text(self, node: Node) -> str:
        """The node's source text."""
        return self.source.text[node.start : node.end]

    def smallest(self, span: Span) -> Node:
        """The smallest node that covers a span."""
        node = self.root
        while True:
            inner = [child for child in node.children if child.start <= span.start and span.end <= child.end]
            if not inner:
                return node
            node = inner[0]

    def exactly(self, span: Span) -> Node | None:
        """The outermost expression that stands just there."""
        node = self.smallest(span)
        found = None
        for one in (node, *node.ancestors()):
            if (one.start, one.end) == (span.start, span.end) and isinstance(one.tree, ast.expr):
                found = one
        return found


def read_tree(sources: Mapping[str, SourceFile], path: str) -> Tree | None:
    """The tree of a file; None where it is no Python that can be parsed."""
    source = sources.get(path)
    if source is None or not path.endswith((".py", ".pyi", ".pyw")):
        return None
    return _tree(source.path, source.text)


@lru_cache(maxsize=16)
def _tree(path: str, text: str) -> Tree | None:
    source = SourceFile(path, text)
    try:
        tree = parse_module(source)
        root = Node(tree, 0, len(text), None)
        _Builder(text, origins(text)).fill(root, tree)
    except (PythonSyntaxError, ScanError, SyntaxError, RecursionError):
        return None
    return Tree(source, root)


@dataclass(frozen=True, slots=True)
class _Builder:
    text: str
    starts: list[int]

    def fill(self, node: Node, tree: ast.AST) -> None:
        for child in ast.iter_child_nodes(tree):
            if not hasattr(child, "end_col_offset") or getattr(child, "end_lineno", None) is None:
                self.fill(node, child)
                continue
            start, end = self._offsets(child)
            made = Node(child, start, end, node)
            node.children.append(made)
            if isinstance(child, ast.JoinedStr):
                self._fields(made)
            elif not isinstance(child, ast.Constant):
                self.fill(made, child)

    def _offsets(self, tree: ast.AST) -> tuple[int, int]:
        start = self.starts[tree.lineno] + tree.col_offset  # type: ignore[attr-defined]
        end = self.starts[tree.end_lineno] + tree.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def _fields(self, node: Node) -> None:
        for piece in scan_formatted(self.text, node.start, node.end):
            if isinstance(piece, Field):
                self._field(node, piece)

    def _field(self, node: Node, piece: Field) -> None:
        expression, starts = parse_field(self.text, piece.value_start, piece.value_end)
        inner = _Builder(self.text, starts)
        start, end = inner._offsets(expression)
        made = Node(expression, start, end, node)
        node.children.append(made)
        if isinstance(expression, ast.JoinedStr):
            inner._fields(made)
        elif not isinstance(expression, ast.Constant):
            inner.fill(made, expression)
        for nested in piece.spec or ():
            if isinstance(nested, Field):
                self._field(node, nested)
