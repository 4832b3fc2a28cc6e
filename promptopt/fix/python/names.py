"""What names stand for, as far as one file shows it: the only assignment of a name, the annotation of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptopt.fix.python.tree import FUNCTIONS, Node, Tree

_TEXT_METHODS = frozenset(
    {
        "capitalize",
        "casefold",
        "format",
        "join",
        "lower",
        "lstrip",
        "read_text",
        "removeprefix",
        "removesuffix",
        "replace",
    }
    | {"rstrip", "strip", "swapcase", "title", "upper"}
)
_TEXT_FUNCTIONS = frozenset({"str", "repr", "ascii", "chr", "format", "hex", "bin", "oct"})
_COLLECTIONS = frozenset(
    {
        "list",
        "set",
        "frozenset",
        "tuple",
        "Iterable",
        "Sequence",
        "Collection",
        "Set",
        "AbstractSet",
        "List",
        "FrozenSet",
    }
)


def scope_of(tree: Tree, node: Node, name: str) -> Node:
    """The function around a node that binds a name, else the file."""
    for around in node.ancestors():
        bound = _parameter(around, name) or next(_bindings(around, name), None)
        if isinstance(around.tree, FUNCTIONS) and bound is not None:
            return around
    return tree.root


def assigned(tree: Tree, node: Node) -> Node | None:
    """The value that a name at `node` is bound to where that is done once, by a plain assignment."""
    if not isinstance(node.tree, ast.Name):
        return None
    scope = scope_of(tree, node, node.tree.id)
    if _parameter(scope, node.tree.id):
        return None
    bound = list(_bindings(scope, node.tree.id))
    if len(bound) != 1:
        return None
    statement = bound[0].parent
    if statement is None or statement.start != bound[0].start:
        return None
    if isinstance(statement.tree, ast.Assign) and len(statement.tree.targets) == 1:
        return statement.child(statement.tree.value)
    if isinstance(statement.tree, ast.AnnAssign) and statement.tree.value is not None:
        return statement.child(statement.tree.value)
    return None


def _bindings(scope: Node, name: str) -> Iterator[Node]:
    """Where a scope itself binds a name or takes it away."""
    for child in scope.children:
        if isinstance(child.tree, ast.Name) and child.tree.id == name and not isinstance(child.tree.ctx, ast.Load):
            yield child
        if isinstance(child.tree, (*FUNCTIONS, ast.ClassDef)):
            if getattr(child.tree, "name", None) == name:
                yield child
        else:
            yield from _bindings(child, name)


def _parameter(function: Node, name: str) -> ast.arg | None:
    if not isinstance(function.tree, FUNCTIONS):
        return None
    arguments = function.tree.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one]
    return next((one for one in every if one.arg == name), None)


def is_text(tree: Tree, node: Node) -> bool:
    """Whether an expression is certain to be a string."""
    found = node.tree
    if isinstance(found, ast.JoinedStr):
        return True
    if isinstance(found, ast.Constant):
        return isinstance(found.value, str)
    if isinstance(found, ast.Call):
        function = found.func
        if isinstance(function, ast.Attribute):
            return function.attr in _TEXT_METHODS
        return isinstance(function, ast.Name) and function.id in _TEXT_FUNCTIONS
    if isinstance(found, ast.Name):
        return _is_text_name(tree, node, found.id)
    return False


def _is_text_name(tree: Tree, node: Node, name: str) -> bool:
    for around in node.ancestors():
        if isinstance(around.tree, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            for generator in around.tree.generators:
                if isinstance(generator.target, ast.Name) and generator.target.id == name:
                    iterated = around.child(generator.iter)
                    return iterated is not None and holds_texts(tree, iterated)
    value = assigned(tree, node)
    if value is not None:
        return is_text(tree, value)
    annotation = _annotation(tree, node, name)
    return isinstance(annotation, ast.Name) and annotation.id == "str"


def _annotation(tree: Tree, node: Node, name: str) -> ast.expr | None:
    """A parameter's annotation, where nothing else binds its name."""
    scope = scope_of(tree, node, name)
    if not isinstance(scope.tree, FUNCTIONS) or next(_bindings(scope, name), None):
        return None
    parameter = _parameter(scope, name)
    return parameter.annotation if parameter else None


def holds_texts(tree: Tree, node: Node) -> bool:
    """Whether all elements of a collection are certain to be strings."""
    found = node.tree
    if isinstance(found, (ast.Set, ast.List, ast.Tuple)):
        return all((child := node.child(one)) is not None and is_text(tree, child) for one in found.elts)
    if isinstance(found, (ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        element = node.child(found.elt)
        return element is not None and is_text(tree, element)
    if isinstance(found, ast.BinOp) and isinstance(found.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        sides = [node.child(found.left), node.child(found.right)]
        return all(side is not None and holds_texts(tree, side) for side in sides)
    if isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and len(found.args) == 1:
        inner = node.child(found.args[0])
        known = found.func.id in ("set", "frozenset", "list", "tuple", "sorted", "reversed")
        return known and inner is not None and holds_texts(tree, inner)
    if isinstance(found, ast.Name):
        value = assigned(tree, node)
        if value is not None:
            return holds_texts(tree, value)
        return _is_of_texts(_annotation(tree, node, found.id))
    return False


def _is_of_texts(annotation: ast.expr | None) -> bool:
    if not isinstance(annotation, ast.Subscript):
        return False
    kind = annotation.value
    name = kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
    element = annotation.slice
    if isinstance(element, ast.Tuple) and len(element.elts) == 2 and isinstance(element.elts[1], ast.Constant):
        element = element.elts[0]
    return name in _COLLECTIONS and isinstance(element, ast.Name) and element.id == "str"
