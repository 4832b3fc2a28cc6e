"""Lowers a template to a function of its context that returns the text it renders.

Every stretch of output becomes a variable of its own (`out~1`), and the function returns them joined: loops
and branches then say about text what they say in Python. Macros, blocks and what a `call` hands to a macro are
functions inside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from jinja2 import nodes

from promptopt.readers.facts import Expression, ParameterFact, Statement
from promptopt.readers.jinja.expressions import arguments_of, lower
from promptopt.readers.jinja.lexing import TokenPlace
from promptopt.readers.jinja.names import LOOP, Range, ScopeBuilder, TemplateBuilder, span_of
from promptopt.readers.jinja.segments import Segment

TEMPLATE: Final = "template"
"""Kind of the scope that is a whole template."""

_NOTHING: Final[Range] = (0, 0)


class Lowering:
    """Lowers the statements of one function. `printed` are the segments that print expressions."""

    def __init__(self, scope: ScopeBuilder, printed: tuple[Segment, ...]) -> None:
        self.scope = scope
        self.printed = printed
        self._starts = [segment.start for segment in printed]

    def body(self, found: Iterable[Any]) -> tuple[list[Statement], Expression]:
        """Statements that compute a run of output, and the text they give."""
        statements: list[Statement] = []
        outputs: list[Expression] = []
        pieces: list[Expression] = []
        for node in found:
            if isinstance(node, nodes.Output):
                pieces += self._pieces(node)
                continue
            made = _STATEMENTS[type(node)](self, node) if type(node) in _STATEMENTS else self._unknown(node)
            if made and pieces:
                outputs.append(self._kept(statements, tuple(pieces)))
                pieces = []
            for statement in made:
                if statement[0] == "fmt":
                    pieces.append(statement)
                else:
                    statements.append(statement)
        pieces = [*[("fmt", *_NOTHING, output, None, None) for output in outputs], *pieces]
        return statements, ("fstr", *_NOTHING, tuple(pieces))

    def _kept(self, statements: list[Statement], pieces: tuple[Expression, ...]) -> Expression:
        """A variable that holds output."""
        name = self._output()
        statements.append(_assign(name, ("fstr", *_NOTHING, pieces)))
        return name

    def _output(self, node: Any = None) -> Expression:
        """A variable for what a statement outputs."""
        span = _NOTHING if node is None else self.scope.place(node)
        return ("name", *span, f"out~{self.scope.template.number()}")

    def _pieces(self, output: nodes.Output) -> Iterator[Expression]:
        for node in output.nodes:
            place = node.lineno
            if not isinstance(node, nodes.TemplateData):
                yield self._print(node)
            elif isinstance(place, TokenPlace):
                yield ("part", *self.scope.span((place.start, place.end)), place.start, place.end)

    def _print(self, node: Any) -> Expression:
        value = lower(node, self.scope)
        self.scope.template.outputs.append(value)
        start, end = getattr(node, "outer", None) or span_of(node)
        index = bisect_right(self._starts, start) - 1
        if index >= 0 and end <= self.printed[index].end:
            start, end = self.printed[index].start, self.printed[index].end
        return ("print", *self.scope.span((start, end)), value)

    def _branch(self, found: Iterable[Any], out: Expression) -> tuple[Statement, ...]:
        """Statements that set `out` to what they output."""
        statements, text = self.body(found)
        return (*statements, _assign(out, text))

    def condition(self, node: nodes.If) -> list[Statement]:
        """`if`: a choice between texts; what it sets on some paths only keeps its value on others."""
        shadowed = list(self._shadowed(node))
        out = self._output(node)
        orelse = self._branch(node.else_, out)
        for one in reversed([node, *node.elif_]):
            self.scope.guard_all(one.test)
            test = lower(one.test, self.scope)
            orelse = (("if", test[1], test[2], 0, 0, test, self._branch(one.body, out), orelse),)
        return [*shadowed, *orelse, _printed(out)]

    def _shadowed(self, node: nodes.If) -> Iterator[Statement]:
        """Names of an outer scope that a branch inside a loop sets, as names of the loop."""
        if len(self.scope.locals) == 1:
            return
        for name in _set_below(node):
            outer = self.scope.known(name)
            if outer is not None and name not in self.scope.locals[-1]:
                yield _assign(("name", *_NOTHING, self.scope.bind(name)), ("name", *_NOTHING, outer))

    def loop(self, node: nodes.For) -> list[Statement]:
        """`for`: the output of all rounds; what stands in its `else` where there is none."""
        iterable = lower(node.iter, self.scope)
        out = self._output(node)
        self.scope.locals.append({"loop": LOOP})
        target = self._target(node.target)
        test = None if node.test is None else lower(node.test, self.scope)
        statements, text = self.body(node.body)
        self.scope.locals.pop()
        span = self.scope.place(node)
        round_ = (*statements, ("augmented", *span, 0, 0, out, "+", text))
        if test is not None:
            round_ = (("if", test[1], test[2], 0, 0, test, round_, ()),)
        made: list[Statement] = [
            _assign(out, ("str", *_NOTHING, "")),
            ("for", *span, 0, 0, target, iterable, round_, ()),
        ]
        if node.else_:
            rest, text = self.body(node.else_)
            empty = ("not", iterable[1], iterable[2], iterable)
            body = (*rest, ("augmented", *span, 0, 0, out, "+", text))
            made.append(("if", iterable[1], iterable[2], 0, 0, empty, body, ()))
        return [*made, _printed(out)]

    def _target(self, node: Any) -> Expression:
        span = self.scope.place(node)
        if isinstance(node, nodes.Tuple):
            return ("seq", *span, "tuple", tuple([self._target(item) for item in node.items]))
        if isinstance(node, nodes.NSRef):
            return ("attr", *span, ("name", *span, self.scope.read(node.name, span)), node.attr)
        return ("name", *span, self.scope.bind(node.name))

    def assigned(self, node: nodes.Assign) -> list[Statement]:
        """`set x = value`."""
        value = lower(node.node, self.scope)
        return [("assign", value[1], value[2], 0, 0, (self._target(node.target),), value)]

    def captured(self, node: nodes.AssignBlock) -> list[Statement]:
        """`set x` with a body."""
        statements, text = self._inner(node.body)
        value = text if node.filter is None else self._filtered(node.filter, text)
        return [*statements, ("assign", *_NOTHING, 0, 0, (self._target(node.target),), value)]

    def _inner(self, found: Iterable[Any]) -> tuple[list[Statement], Expression]:
        """A body with a scope of its own."""
        self.scope.locals.append({})
        made = self.body(found)
        self.scope.locals.pop()
        return made

    def _filtered(self, node: Any, text: Expression) -> Expression:
        value = text if node.node is None else self._filtered(node.node, text)
        return ("filter", *self.scope.place(node), node.name, value, *arguments_of(node, self.scope))

    def filtered(self, node: nodes.FilterBlock) -> list[Statement]:
        """`filter` around a body."""
        statements, text = self._inner(node.body)
        return [*statements, _printed(self._filtered(node.filter, text))]

    def within(self, node: nodes.With) -> list[Statement]:
        """`with`: names for its body."""
        values = [lower(value, self.scope) for value in node.values]
        self.scope.locals.append({})
        targets = [self._target(target) for target in node.targets]
        statements, text = self.body(node.body)
        self.scope.locals.pop()
        out = self._output(node)
        made = [_assign(target, value) for target, value in zip(targets, values, strict=True)]
        return [*made, *statements, _assign(out, text), _printed(out)]

    def macro(self, node: nodes.Macro) -> list[Statement]:
        """`macro`: a function."""
        function = self._function(node, node.name)
        return [("def", *self.scope.place(node), 0, 0, self.scope.bind(node.name), function)]

    def _function(self, node: Any, name: str) -> int:
        inner = ScopeBuilder(self.scope.template, name, self.scope)
        defaults = [None] * (len(node.args) - len(node.defaults)) + [lower(one, self.scope) for one in node.defaults]
        for argument, default in zip(node.args, defaults, strict=True):
            span = self.scope.place(argument)
            inner.parameters.append(ParameterFact(inner.bind(argument.name), "positional", *span, default))
        return self._nested(inner, node.body, span_of(node))

    def _nested(self, inner: ScopeBuilder, found: Iterable[Any], span: Range) -> int:
        statements, text = Lowering(inner, self.printed).body(found)
        inner.finish((*statements, ("return", *_NOTHING, 0, 0, text)), self.scope.span(span))
        return inner.index

    def handed(self, node: nodes.CallBlock) -> list[Statement]:
        """`call`: a macro that is handed a body as `caller`."""
        caller = f"caller~{self.scope.template.number()}"
        function = self._function(node, "caller")
        call = lower(node.call, self.scope)
        if call[0] != "call":
            return []
        start, end, called, arguments, keywords = self.scope.calls[call[3]]
        with_caller = (*keywords, ("caller", ("name", *_NOTHING, caller)))
        value = self.scope.called((start, end, called, arguments, with_caller))
        return [("def", *self.scope.place(node), 0, 0, caller, function), _printed(value)]

    def block(self, node: nodes.Block) -> list[Statement]:
        """`block`: printed where it stands, unless a template that extends this one has another."""
        inner = ScopeBuilder(self.scope.template, node.name, _outermost(self.scope))
        inner.parameters.append(ParameterFact("super", "keyword", 0, 0, ("str", *_NOTHING, "")))
        inner.locals[0]["super"] = "super"
        function = self._nested(inner, node.body, span_of(node))
        self.scope.template.blocks[node.name] = function
        return [_printed(("block", *self.scope.place(node), node.name, function))]

    def extends(self, node: nodes.Extends) -> list[Statement]:
        """`extends`: the parent's output takes the place of this template's."""
        name = self._reference(node.template)
        self.scope.template.parent = name
        return []

    def _reference(self, node: Any) -> Expression:
        name = lower(node, self.scope)
        self.scope.template.references.append(name)
        return name

    def _context(self, node: Any) -> tuple[tuple[str, str], ...] | None:
        """The names that another template sees; None where it is given no context."""
        return self.scope.visible() if node.with_context else None

    def include(self, node: nodes.Include) -> list[Statement]:
        """`include`: another template's output."""
        name = self._reference(node.template)
        return [_printed(("include", *self.scope.place(node), name, self._context(node)))]

    def imported(self, node: nodes.Import) -> list[Statement]:
        """`import x as y`: the macros and variables of another template."""
        module = ("import", *self.scope.place(node), self._reference(node.template), self._context(node))
        return [_assign(("name", *_NOTHING, self.scope.bind(node.target)), module)]

    def names_imported(self, node: nodes.FromImport) -> list[Statement]:
        """`from x import y`."""
        span = self.scope.place(node)
        module = ("import", *span, self._reference(node.template), self._context(node))
        pairs = [(one, one) if isinstance(one, str) else one for one in node.names]
        return [
            _assign(("name", *_NOTHING, self.scope.bind(alias)), ("attr", *span, module, name)) for name, alias in pairs
        ]

    def done(self, node: nodes.ExprStmt) -> list[Statement]:
        """`do`."""
        value = lower(node.node, self.scope)
        return [("expression", value[1], value[2], 0, 0, value)]

    def stop(self, _node: nodes.Node) -> list[Statement]:
        """`break` and `continue`."""
        return [("stop", *_NOTHING, 0, 0, "break")]

    def _unknown(self, node: nodes.Node) -> list[Statement]:
        """A statement that is passed by, but for what stands in it."""
        return [one for child in node.iter_child_nodes() for one in self.body([child])[0]]


def lower_template(tree: nodes.Template, builder: TemplateBuilder, segments: tuple[Segment, ...], length: int) -> None:
    """Fill `builder` with the facts of a template of `length` characters; its scope is the first."""
    scope = ScopeBuilder(builder, "")
    printed = tuple([segment for segment in segments if segment.kind == "expression"])
    statements, text = Lowering(scope, printed).body(tree.body)
    if builder.parent is not None:
        text = (
            "extends",
            builder.parent[1],
            builder.parent[2],
            builder.parent,
            scope.visible(),
            tuple(builder.blocks.items()),
        )
    scope.parameters = [
        ParameterFact(one.name, "keyword", *one.places[0]) for one in builder.variables.values() if one.places
    ]
    scope.finish((*statements, ("return", *_NOTHING, 0, 0, text)), builder.place(0, length), TEMPLATE)


def _assign(target: Expression, value: Expression) -> Statement:
    return ("assign", value[1], value[2], 0, 0, (target,), value)


def _printed(value: Expression) -> Expression:
    return ("fmt", value[1], value[2], value, None, None)


def _outermost(scope: ScopeBuilder) -> ScopeBuilder:
    while scope.outer is not None:
        scope = scope.outer
    return scope


def _set_below(node: nodes.Node) -> Iterator[str]:
    """Names that a branch sets, those of nested loops and macros aside."""
    for child in node.iter_child_nodes():
        if isinstance(child, (nodes.Assign, nodes.AssignBlock)) and isinstance(child.target, nodes.Name):
            yield child.target.name
        if not isinstance(child, (nodes.For, nodes.Macro, nodes.CallBlock, nodes.With)):
            yield from _set_below(child)


_STATEMENTS: Final[dict[type[nodes.Node], Callable[[Lowering, Any], list[Statement]]]] = {
    nodes.If: Lowering.condition,
    nodes.For: Lowering.loop,
    nodes.Assign: Lowering.assigned,
    nodes.AssignBlock: Lowering.captured,
    nodes.FilterBlock: Lowering.filtered,
    nodes.With: Lowering.within,
    nodes.Macro: Lowering.macro,
    nodes.CallBlock: Lowering.handed,
    nodes.Block: Lowering.block,
    nodes.Extends: Lowering.extends,
    nodes.Include: Lowering.include,
    nodes.Import: Lowering.imported,
    nodes.FromImport: Lowering.names_imported,
    nodes.ExprStmt: Lowering.done,
    nodes.Break: Lowering.stop,
    nodes.Continue: Lowering.stop,
}
