"""Lowering of statements and scopes; `STATEMENTS` dispatches on the node's type."""

from __future__ import annotations

import ast
from collections.abc import Callable
from sys import intern
from typing import Any, Final, TypeAlias

from promptopt.readers.facts import Expression, ParameterFact, Scope, Statement
from promptopt.readers.python.expressions import EXPRESSIONS, run
from promptopt.readers.python.lowering import Lower, Lowering
from promptopt.readers.python.strings import STRINGS

Body: TypeAlias = tuple[Statement, ...]
_Links: TypeAlias = list[tuple[list[Statement], tuple[Any, ...]]]
"""Tests of a chain, each without its `else` and with the statements ahead of it."""

LowerStatement: TypeAlias = Callable[[Lowering, Any, list[Statement]], None]

_AUGMENTED: Final = {ast.Add: "+", ast.BitOr: "|", ast.Mult: "*", ast.Mod: "%"}
_LONGEST_ELIF_CHAIN: Final = 100


def lower_body(state: Lowering, nodes: list[ast.stmt]) -> Body:
    """Facts of a block; a statement that is nested too deeply becomes unknown."""
    if not nodes:
        return ()
    out: list[Statement] = []
    scope, prefix, calls, origins, depth = state.scope, state.prefix, state.calls, state.origins, state.depth
    remaining = iter(nodes)
    while True:
        node = None
        try:
            for node in remaining:
                STATEMENTS[type(node)](state, node, out)
            return tuple(out)
        except RecursionError:
            if node is None:
                raise
            state.scope, state.prefix, state.calls, state.origins, state.depth = scope, prefix, calls, origins, depth
            state.hoisted = []
            out.append(_too_deep(state, node))


def _too_deep(state: Lowering, node: ast.stmt) -> Statement:
    start, end = state.span(node)
    calls = len(state.calls)
    return ("expression", start, end, calls, calls, ("unk", start, end, "too deep"))


def _flush(state: Lowering, out: list[Statement]) -> int:
    """Put hoisted assignments ahead of their statement; returns the end of its call range."""
    if state.hoisted:
        out.extend(state.hoisted)
        state.hoisted = []
    return len(state.calls)


def _expression(state: Lowering, node: Any, out: list[Statement]) -> None:
    kind = type(node.value)
    if kind is ast.Constant:
        return
    calls = state.calls
    first = len(calls)
    value = state.expression[kind](state, node.value)
    if state.hoisted:
        _flush(state, out)
    last = len(calls)
    if value[0] != "unk" or last > first:
        origins = state.origins
        start = origins[node.lineno] + node.col_offset
        end = origins[node.end_lineno] + node.end_col_offset
        out.append(("expression", start, end, first, last, value))


def _assign(state: Lowering, node: Any, out: list[Statement]) -> None:
    calls, lower, origins = state.calls, state.expression, state.origins
    first = len(calls)
    value = lower[type(node.value)](state, node.value)
    targets = []
    for target in node.targets:
        targets.append(lower[type(target)](state, target))  # noqa: PERF401 (a call of its own before 3.12)
    if state.hoisted:
        _flush(state, out)
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    out.append(("assign", start, end, first, len(calls), tuple(targets), value))


def _annotated(state: Lowering, node: ast.AnnAssign, out: list[Statement]) -> None:
    first = len(state.calls)
    value = state.lower_optional(node.value)
    target = state.lower(node.target)
    last = _flush(state, out)
    out.append(("annotated", *state.span(node), first, last, target, intern(state.source(node.annotation)), value))


def _augmented(state: Lowering, node: ast.AugAssign, out: list[Statement]) -> None:
    first = len(state.calls)
    value = state.lower(node.value)
    target = state.lower(node.target)
    last = _flush(state, out)
    operator = _AUGMENTED.get(type(node.op), "?")
    out.append(("augmented", *state.span(node), first, last, target, operator, value))


def _return(state: Lowering, node: Any, out: list[Statement]) -> None:
    calls, origins, value = state.calls, state.origins, node.value
    first = len(calls)
    if value is not None:
        value = state.expression[type(value)](state, value)
    if state.hoisted:
        _flush(state, out)
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    out.append(("return", start, end, first, len(calls), value))


def _if(state: Lowering, node: ast.If, out: list[Statement]) -> None:
    links: _Links = []
    before = out
    while True:
        first = len(state.calls)
        test = state.lower(node.test)
        last = _flush(state, before)
        start, end = state.span(node)
        links.append((before, ("if", start, end, first, last, test, lower_body(state, node.body))))
        rest = node.orelse
        if len(rest) != 1 or not isinstance(rest[0], ast.If):
            orelse = lower_body(state, rest)
            break
        if len(links) >= _LONGEST_ELIF_CHAIN:
            orelse = (_too_deep(state, rest[0]),)
            break
        node, before = rest[0], []
    _chain(links, orelse, out)


def _chain(links: _Links, orelse: Body, out: list[Statement]) -> None:
    """Put tests that follow from one another into each other's `else`."""
    for before, link in reversed(links[1:]):
        orelse = (*before, (*link, orelse))
    out.append((*links[0][1], orelse))


def _for(state: Lowering, node: ast.For | ast.AsyncFor, out: list[Statement]) -> None:
    first = len(state.calls)
    iterable = state.lower(node.iter)
    target = state.lower(node.target)
    last = _flush(state, out)
    body, orelse = lower_body(state, node.body), lower_body(state, node.orelse)
    out.append(("for", *state.span(node), first, last, target, iterable, body, orelse))


def _while(state: Lowering, node: ast.While, out: list[Statement]) -> None:
    first = len(state.calls)
    test = state.lower(node.test)
    last = _flush(state, out)
    body, orelse = lower_body(state, node.body), lower_body(state, node.orelse)
    out.append(("while", *state.span(node), first, last, test, body, orelse))


def _try(state: Lowering, node: Any, out: list[Statement]) -> None:
    calls = len(state.calls)
    body = lower_body(state, node.body)
    handlers = tuple([(handler.name, lower_body(state, handler.body)) for handler in node.handlers])
    orelse, final = lower_body(state, node.orelse), lower_body(state, node.finalbody)
    out.append(("try", *state.span(node), calls, calls, body, handlers, orelse, final))


def _with(state: Lowering, node: ast.With | ast.AsyncWith, out: list[Statement]) -> None:
    first = len(state.calls)
    items = tuple([(state.lower(item.context_expr), state.lower_optional(item.optional_vars)) for item in node.items])
    last = _flush(state, out)
    out.append(("with", *state.span(node), first, last, items, lower_body(state, node.body)))


def _match(state: Lowering, node: ast.Match, out: list[Statement]) -> None:
    patterns = [case.pattern for case in node.cases]
    is_chain = not _is_wildcard(patterns[0]) and all(_is_wildcard(one) or _is_value(one) for one in patterns)
    if is_chain and len(patterns) <= _LONGEST_ELIF_CHAIN:
        _match_values(state, node, out)
    else:
        _match_shapes(state, node, out)


def _match_values(state: Lowering, node: ast.Match, out: list[Statement]) -> None:
    """A `match` over values as a chain of `if`s."""
    start, end = state.span(node)
    first, subject, before, links = len(state.calls), state.lower(node.subject), out, []
    orelse: Body = ()
    for case in node.cases:
        test = _test_of(state, subject, case)
        last = _flush(state, before)
        body = lower_body(state, case.body)
        if test is None:
            orelse = body
            break
        links.append((before, ("if", start, end, first, last, test, body)))
        start, first, before = state.span(case.pattern)[0], len(state.calls), []
    _chain(links, orelse, out)


def _test_of(state: Lowering, subject: Expression, case: ast.match_case) -> Expression | None:
    """The test that a case stands for; None where it always matches."""
    start, end = state.span(case.pattern)
    test = None if _is_wildcard(case.pattern) else _equals(state, subject, case.pattern)
    guard = state.lower_optional(case.guard)
    return ("and", start, end, (test, guard)) if test is not None and guard is not None else test or guard


def _equals(state: Lowering, subject: Expression, pattern: Any) -> Expression:
    start, end = state.span(pattern)
    if isinstance(pattern, ast.MatchOr):
        return ("or", start, end, tuple([_equals(state, subject, one) for one in pattern.patterns]))
    if isinstance(pattern, ast.MatchSingleton):
        return ("cmp", start, end, "is", subject, ("const", start, end, pattern.value))
    return ("cmp", start, end, "==", subject, state.lower(pattern.value))


def _is_value(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_value, pattern.patterns))
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None


def _match_shapes(state: Lowering, node: ast.Match, out: list[Statement]) -> None:
    first = len(state.calls)
    subject = state.lower(node.subject)
    for case in node.cases:
        state.lower_optional(case.guard)
    last = _flush(state, out)
    cases: list[tuple[Any, ...]] = [(_bound(case.pattern), lower_body(state, case.body)) for case in node.cases]
    final = node.cases[-1]
    if final.guard is None and _irrefutable(final.pattern):
        cases[-1] = (*cases[-1], "irrefutable")
    out.append(("match", *state.span(node), first, last, subject, tuple(cases)))


def _bound(pattern: ast.pattern) -> tuple[str, ...]:
    """Names that a pattern binds."""
    names = []
    for node in ast.walk(pattern):
        name = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
        if name is not None:
            names.append(name)
    return tuple(names)


def _irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return _irrefutable(pattern.patterns[-1])
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _irrefutable(pattern.pattern))


def _import(state: Lowering, node: ast.Import, out: list[Statement]) -> None:
    bindings = []
    for name in node.names:
        module = intern(name.name)
        if name.asname:
            bindings.append((module, None, name.asname, 0))
            continue
        root = intern(module.partition(".")[0])
        bindings.append((root, None, root, 0))
        if root != module:
            state.imports.append((module, None, "", 0))
    _bind(state, node, out, tuple(bindings))


def _import_from(state: Lowering, node: ast.ImportFrom, out: list[Statement]) -> None:
    module = intern(node.module or "")
    bindings = tuple([(module, name.name, name.asname or name.name, node.level) for name in node.names])
    _bind(state, node, out, bindings)


def _bind(
    state: Lowering, node: ast.stmt, out: list[Statement], bindings: tuple[tuple[str, str | None, str, int], ...]
) -> None:
    state.imports.extend(bindings)
    calls = len(state.calls)
    out.append(("import", *state.span(node), calls, calls, bindings))


def _raise(state: Lowering, node: ast.Raise, out: list[Statement]) -> None:
    first = len(state.calls)
    state.lower_optional(node.exc)
    state.lower_optional(node.cause)
    last = _flush(state, out)
    out.append(("stop", *state.span(node), first, last, "raise"))


def _jump(kind: str) -> LowerStatement:
    def lower(state: Lowering, node: ast.stmt, out: list[Statement]) -> None:
        calls = len(state.calls)
        out.append(("stop", *state.span(node), calls, calls, kind))

    return lower


def _assert(state: Lowering, node: ast.Assert, out: list[Statement]) -> None:
    first = len(state.calls)
    start, end = state.span(node)
    run(state, node.test.values if isinstance(node.test, ast.BoolOp) else (node.test,))
    last = _flush(state, out)
    if last > first:
        out.append(("expression", start, end, first, last, ("unk", start, end, "assertion")))


def _delete(state: Lowering, node: ast.Delete, out: list[Statement]) -> None:
    first = len(state.calls)
    targets = tuple([state.lower(target) for target in node.targets])
    last = _flush(state, out)
    out.append(("delete", *state.span(node), first, last, targets))


def _outer_names(tag: str) -> LowerStatement:
    def lower(state: Lowering, node: Any, out: list[Statement]) -> None:
        calls = len(state.calls)
        names = tuple(node.names)
        if tag == "global":
            state.global_names += names
        out.append((tag, *state.span(node), calls, calls, names))

    return lower


def _nothing(_state: Lowering, _node: ast.Pass, _out: list[Statement]) -> None:
    """`pass` leaves no fact."""


def _type_alias(state: Lowering, node: Any, out: list[Statement]) -> None:
    calls = len(state.calls)
    start, end = state.span(node)
    target = state.lower(node.name)
    out.append(("assign", start, end, calls, calls, (target,), ("unk", *state.span(node.value), "type")))


def _function(state: Lowering, node: Any, out: list[Statement]) -> None:
    first = len(state.calls)
    decorators = node.decorator_list and [state.lower(decorator) for decorator in node.decorator_list]
    params = _parameters(state, node.args)
    last = _flush(state, out)
    is_async = type(node) is ast.AsyncFunctionDef
    keyword = state.origins[node.lineno] + node.col_offset
    if is_async:
        keyword = state.text.find("def", keyword + 5)
    scope = _definition(state, node, "function", keyword + 4)
    scope.params, scope.decorators, scope.is_async = params, tuple(decorators), is_async
    scope.returns = _annotation(state, node.returns)
    index = _fill(state, scope, node.body, f"{scope.name}.<locals>.")
    out.append(("def", scope.start, scope.end, first, last, node.name, index))


def _class(state: Lowering, node: ast.ClassDef, out: list[Statement]) -> None:
    first = len(state.calls)
    decorators = tuple([state.lower(decorator) for decorator in node.decorator_list])
    bases = tuple([state.lower(expression) for expression in node.bases])
    last = _flush(state, out)
    scope = _definition(state, node, "class", state.origins[node.lineno] + node.col_offset + 6)
    scope.decorators, scope.bases = decorators, bases
    index = _fill(state, scope, node.body, f"{scope.name}.")
    out.append(("class", scope.start, scope.end, first, last, node.name, index))


def _definition(state: Lowering, node: Any, kind: str, after_keyword: int) -> Scope:
    origins = state.origins
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    name_start = max(start, state.text.find(node.name, after_keyword, end))
    if node.decorator_list:
        start = state.text.rfind("@", 0, state.span(node.decorator_list[0])[0])
    name = state.prefix + node.name
    return Scope(kind, name, state.scope, start, end, name_start, name_start + len(node.name))


def _fill(state: Lowering, scope: Scope, body: list[ast.stmt], prefix: str) -> int:
    """Lower a scope's body into it; returns its index."""
    outer = (state.scope, state.prefix, state.calls, state.hoisted, state.generator, state.global_names)
    index = len(state.scopes)
    state.scopes.append(scope)
    state.scope, state.prefix, state.calls = index, prefix, []
    state.hoisted, state.generator, state.global_names = [], False, ()
    scope.docstring = _docstring(state, body)
    scope.body = lower_body(state, body)
    scope.calls = tuple(state.calls)
    scope.is_generator = state.generator
    scope.globals = state.global_names
    state.scope, state.prefix, state.calls, state.hoisted, state.generator, state.global_names = outer
    return index


def _docstring(state: Lowering, body: list[Any]) -> Expression | None:
    first = body[0] if body else None
    if type(first) is ast.Expr and type(first.value) is ast.Constant and type(first.value.value) is str:
        return state.lower(first.value)
    return None


def _parameters(state: Lowering, node: ast.arguments) -> tuple[ParameterFact, ...]:
    positional = [*node.posonlyargs, *node.args] if node.posonlyargs else node.args
    required = len(positional) - len(node.defaults)
    result = []
    for index, parameter in enumerate(positional):
        default = None if index < required else node.defaults[index - required]
        result.append(_parameter(state, parameter, default, "positional"))
    if node.vararg:
        result.append(_parameter(state, node.vararg, None, "args"))
    for index, parameter in enumerate(node.kwonlyargs):
        result.append(_parameter(state, parameter, node.kw_defaults[index], "keyword"))
    if node.kwarg:
        result.append(_parameter(state, node.kwarg, None, "kwargs"))
    return tuple(result)


def _parameter(state: Lowering, node: Any, default: ast.expr | None, kind: str) -> ParameterFact:
    origins = state.origins
    start = origins[node.lineno] + node.col_offset
    end = origins[node.end_lineno] + node.end_col_offset
    lowered = None if default is None else state.lower(default)
    return ParameterFact(node.arg, kind, start, end, lowered, _annotation(state, node.annotation))


def _annotation(state: Lowering, node: Any) -> str | None:
    """The source of an annotation."""
    if node is None:
        return None
    return node.id if type(node) is ast.Name else intern(state.source(node))


def _lambda(state: Lowering, node: ast.Lambda) -> Expression:
    params = _parameters(state, node.args)
    start, end = state.span(node)
    scope = Scope("lambda", f"{state.prefix}<lambda>", state.scope, start, end, start, start + 6, params)
    result = ast.Return(node.body)
    ast.copy_location(result, node.body)
    index = _fill(state, scope, [result], f"{scope.name}.<locals>.")
    return ("lambda", start, end, index)


def lower_module(state: Lowering, tree: ast.Module) -> None:
    """Lower a whole module into `state`; the module is scope 0."""
    _fill(state, Scope("module", "", -1, 0, len(state.text)), tree.body, "")


ALL_EXPRESSIONS: Final[dict[type, Lower]] = {**EXPRESSIONS, **STRINGS, ast.Lambda: _lambda}

STATEMENTS: Final[dict[type, LowerStatement]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Raise: _raise,
    ast.Break: _jump("break"),
    ast.Continue: _jump("continue"),
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _outer_names("global"),
    ast.Nonlocal: _outer_names("nonlocal"),
    ast.Pass: _nothing,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}
if hasattr(ast, "TypeAlias"):
    STATEMENTS[ast.TypeAlias] = _type_alias
