"""Fixes of orders: `sorted(...)` around what is gone through, `sort_keys=True`, JSON without indentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from promptopt.finding import Applicability, Edit, Finding, Fix, Remedy
from promptopt.fix.proof import Reading
from promptopt.fix.proposal import Keeps, Proposal
from promptopt.fix.python.calls import with_keywords
from promptopt.fix.python.names import assigned, holds_texts
from promptopt.fix.python.tree import Node, Tree, read_tree
from promptopt.source import Location, Span

_COMPARABLE: Final = frozenset({"listdir", "glob", "iglob", "rglob", "iterdir"})
"""Functions of `os`, `glob` and `pathlib` that give names or paths, which can be sorted."""

_TAKES_ANY: Final = frozenset({"list", "tuple", "sorted", "enumerate", "map", "filter", "join"})


def sort_elements(finding: Finding, remedy: Remedy, reading: Reading) -> Iterator[Proposal]:
    """`sorted(...)` where elements without an order are gone through, and where a folder is listed."""
    sources = reading.report.sources
    places = [*(related.location for related in finding.related[:1]), finding.location]
    seen = set()
    for place in places:
        tree = read_tree(sources, place.path)
        node = _expression(tree, place.span) if tree else None
        if tree is None or node is None:
            continue
        for target, safe in _targets(tree, node):
            here = Location(place.path, target.span)
            if here not in seen:
                seen.add(here)
                yield _sorting(finding, tree, target, safe=safe)


def _sorting(finding: Finding, tree: Tree, target: Node, *, safe: bool) -> Proposal:
    content = f"sorted({_inside_call(tree, target)})"
    edit = Edit(Location(tree.source.path, target.span), content)
    title = f"sort {_short(tree.text(target))}"
    level = Applicability.SAFE if safe else Applicability.UNSAFE
    return Proposal(finding, Fix(title, level, (edit,)), Keeps.PROGRAM)


def _inside_call(tree: Tree, target: Node) -> str:
    """The expression as the only argument of a call; a generator has brackets of its own already or not."""
    text = tree.text(target)
    return text[1:-1] if isinstance(target.tree, ast.GeneratorExp) and text.startswith("(") else text


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 40 else f"{flat[:37]}..."


def _expression(tree: Tree, span: Span) -> Node | None:
    """The expression at a place; that of the field where the place is one of an f-string."""
    exact = tree.exactly(span)
    if exact is not None:
        return exact
    node = tree.smallest(span)
    inner = [child for child in node.children if span.start <= child.start and child.end <= span.end]
    return inner[0] if isinstance(node.tree, ast.JoinedStr) and len(inner) == 1 else None


def _targets(tree: Tree, node: Node) -> Iterator[tuple[Node, bool]]:
    """Expressions to sort for the order of `node`, and whether their elements are known to be comparable."""
    found, parent = node.tree, node.parent
    if _lists_folder(found):
        yield node, _is_gone_through(node) or _is_list(found)
        return
    if isinstance(found, (ast.GeneratorExp, ast.ListComp)):
        (first, *others) = found.generators
        iterated = node.child(first.iter)
        if iterated is not None and not others and not first.is_async and _may_sort(iterated):
            yield iterated, _is_join_of_target(node) or holds_texts(tree, iterated)
        return
    if parent is not None and _joins(parent) and not _names_comprehension(tree, node):
        yield node, True  # join takes nothing but strings
    if isinstance(found, ast.Name):
        yield from _loops(tree, node, found.id)


def _names_comprehension(tree: Tree, node: Node) -> bool:
    """Whether a name stands for a list that was made by going through something: that is what to sort."""
    value = assigned(tree, node)
    return value is not None and isinstance(value.tree, (ast.ListComp, ast.GeneratorExp))


def _loops(tree: Tree, node: Node, name: str) -> Iterator[tuple[Node, bool]]:
    """What the loop or comprehension around a name goes through that binds the name."""
    for around in node.ancestors():
        if isinstance(around.tree, ast.For) and _binds(around.tree.target, name):
            iterated = around.child(around.tree.iter)
            if iterated is not None and _may_sort(iterated):
                yield iterated, holds_texts(tree, iterated)
            return
        if isinstance(around.tree, (ast.GeneratorExp, ast.ListComp)):
            yield from _targets(tree, around)
            return


def _may_sort(node: Node) -> bool:
    """Whether sorting what is gone through changes nothing but its order: no pairs with numbers or of other lists."""
    called = _called(node.tree)
    return called not in ("enumerate", "zip", "sorted", "reversed", "range")


def _binds(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _is_join_of_target(node: Node) -> bool:
    """Whether a comprehension hands its elements to `join` as they are."""
    found = node.tree
    if not isinstance(found, (ast.GeneratorExp, ast.ListComp)) or not isinstance(found.elt, ast.Name):
        return False
    same = _binds(found.generators[0].target, found.elt.id)
    return same and node.parent is not None and _joins(node.parent)


def _joins(node: Node) -> bool:
    return (
        isinstance(node.tree, ast.Call) and isinstance(node.tree.func, ast.Attribute) and node.tree.func.attr == "join"
    )


def _called(tree: ast.AST) -> str:
    if not isinstance(tree, ast.Call):
        return ""
    function = tree.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _lists_folder(tree: ast.AST) -> bool:
    return _called(tree) in _COMPARABLE


def _is_list(tree: ast.AST) -> bool:
    """Whether the listing is a list, as the sorted one is, and no iterator."""
    return _called(tree) == "listdir" or (
        _called(tree) == "glob"
        and isinstance(tree, ast.Call)
        and (isinstance(tree.func, ast.Name) or getattr(tree.func.value, "id", "") == "glob")  # type: ignore[attr-defined]
    )


def _is_gone_through(node: Node) -> bool:
    """Whether an expression is iterated where it stands, so that a list does as well as an iterator."""
    parent = node.parent
    if parent is None:
        return False
    if isinstance(parent.tree, ast.For):
        return parent.tree.iter is node.tree
    if isinstance(parent.tree, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
        return any(one.iter is node.tree for one in parent.tree.generators)
    return _called(parent.tree) in _TAKES_ANY and isinstance(parent.tree, ast.Call) and node.tree in parent.tree.args


def sort_keys(finding: Finding, remedy: Remedy, reading: Reading) -> Iterator[Proposal]:
    """`sort_keys=True` in the call that writes JSON: keys of mixed types would fail, and the order is another one."""
    for tree, node in _written(finding, reading, {"dumps"}):
        text = with_keywords(tree.text(node), drop=("sort_keys",), add=(("sort_keys", "True"),))
        yield from _call_edit(finding, tree, node, text, "pass sort_keys=True")


def compact_json(finding: Finding, remedy: Remedy, reading: Reading) -> Iterator[Proposal]:
    """JSON without indentation and blanks."""
    for tree, node in _written(finding, reading, {"dumps", "model_dump_json"}):
        add = [("separators", separators)] if (separators := _separators(tree, node)) else []
        if add or _called(node.tree) == "model_dump_json":
            text = with_keywords(tree.text(node), drop=("indent", "separators"), add=add)
            yield from _call_edit(finding, tree, node, text, "write JSON without blanks")


def _written(finding: Finding, reading: Reading, functions: AbstractSet[str]) -> Iterator[tuple[Tree, Node]]:
    """The first of a finding's places where JSON is written by one of the functions."""
    for place in (finding.location, *(related.location for related in finding.related)):
        tree = read_tree(reading.report.sources, place.path)
        node = _expression(tree, place.span) if tree else None
        if tree is not None and node is not None and _called(node.tree) in functions:
            yield tree, node
            return


def _call_edit(finding: Finding, tree: Tree, node: Node, text: str | None, title: str) -> Iterator[Proposal]:
    if text is not None:
        edit = Edit(Location(tree.source.path, node.span), text)
        yield Proposal(finding, Fix(title, Applicability.UNSAFE, (edit,)), Keeps.PROGRAM)


def _separators(tree: Tree, node: Node) -> str:
    """The separators of `json.dumps`, in quotes that an f-string around it does not use; empty for other functions and
    inside several f-strings."""
    function = getattr(node.tree, "func", None)
    is_json = isinstance(function, ast.Name) or getattr(getattr(function, "value", None), "id", "") == "json"
    around = [one for one in node.ancestors() if isinstance(one.tree, ast.JoinedStr)]
    if not is_json or _called(node.tree) != "dumps" or len(around) > 1:
        return ""
    quotes = tree.text(around[0]).lstrip("rRfFbB")[:1] if around else "'"
    return """(',', ':')""" if quotes == '"' else '(",", ":")'
