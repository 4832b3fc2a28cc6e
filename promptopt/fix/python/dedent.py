"""`textwrap.dedent` around constant text that is indented like the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptopt.finding import Applicability, Edit, Finding, Fix, Remedy
from promptopt.fix.proof import Reading
from promptopt.fix.proposal import Keeps, Proposal
from promptopt.fix.python.tree import Node, Tree, read_tree
from promptopt.source import Location, Span


def dedent(finding: Finding, remedy: Remedy, reading: Reading) -> Iterator[Proposal]:
    """`dedent` where the text begins with a line end, else `cleandoc`, which leaves the first line out of account."""
    tree = read_tree(reading.report.sources, finding.location.path)
    if tree is None:
        return
    node = tree.smallest(finding.location.span)
    if not isinstance(node.tree, ast.Constant) or not isinstance(node.tree.value, str) or _is_docstring(node):
        return
    module, function = ("textwrap", "dedent") if node.tree.value[:1] in "\n " else ("inspect", "cleandoc")
    name, added = _imported(tree, module, function)
    if any(isinstance(one.tree, ast.Call) and _ends(one.tree.func, function) for one in node.ancestors()):
        return
    edit = Edit(Location(tree.source.path, node.span), f"{name}({tree.text(node)})")
    edits = tuple(sorted([*added, edit], key=lambda one: one.location))
    yield Proposal(finding, Fix(f"take the indentation out with {name}", Applicability.UNSAFE, edits), Keeps.WORDS)


def _ends(function: ast.expr, name: str) -> bool:
    return name in (getattr(function, "attr", None), getattr(function, "id", None))


def _is_docstring(node: Node) -> bool:
    return node.parent is not None and isinstance(node.parent.tree, ast.Expr)


def _imported(tree: Tree, module: str, function: str) -> tuple[str, list[Edit]]:
    """What the function is called in the file, and the import where there is none yet."""
    body = tree.root.tree.body  # type: ignore[attr-defined]
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module == module and not statement.level:
            for alias in statement.names:
                if alias.name == function:
                    return alias.asname or function, []
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == module:
                    return f"{alias.asname or module}.{function}", []
    taken = {node.tree.id for node in tree.root.walk() if isinstance(node.tree, ast.Name)}
    name = f"{module}.{function}" if function in taken else function
    line = f"import {module}\n" if function in taken else f"from {module} import {function}\n"
    at = _first_line(tree)
    return name, [Edit(Location(tree.source.path, Span(at, at)), line)]


def _first_line(tree: Tree) -> int:
    """Where an import goes: ahead of the first one that is none of `__future__`, else behind the docstring."""
    statements = [child for child in tree.root.children if isinstance(child.tree, ast.stmt)]
    for child in statements:
        if isinstance(child.tree, (ast.Import, ast.ImportFrom)) and getattr(child.tree, "module", "") != "__future__":
            return child.start
    ahead = [child for child in statements if _stays_first(child, statements)]
    if not ahead:
        return statements[0].start if statements else 0
    row = tree.source.position(ahead[-1].end).row
    starts = tree.source.line_starts()
    return starts[row] if row < len(starts) else len(tree.source.text)


def _stays_first(child: Node, statements: list[Node]) -> bool:
    if isinstance(child.tree, ast.ImportFrom) and child.tree.module == "__future__":
        return True
    is_text = isinstance(child.tree, ast.Expr) and isinstance(child.tree.value, ast.Constant)
    return child is statements[0] and is_text
