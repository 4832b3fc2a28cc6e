"""Whether two versions of a file are the same program, but for sorting and for how JSON is written.

Compares syntax trees; knows nothing of how an edit was proposed.
"""

from __future__ import annotations

import ast
import warnings
from typing import Final

_JSON_FORM: Final = frozenset({"sort_keys", "indent", "separators"})


def same_but_for_order(old: str, new: str) -> bool:
    """Whether the texts parse to the same tree without `sorted(...)` and without the form keywords of `dumps`."""
    return _normal(old) == _normal(new)


def _normal(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.dump(_WithoutOrder().visit(ast.parse(text)))


class _WithoutOrder(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "sorted" and len(node.args) == 1 and not node.keywords:
            return node.args[0]
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in ("dumps", "model_dump_json"):
            node.keywords = [one for one in node.keywords if one.arg not in _JSON_FORM]
        return node
