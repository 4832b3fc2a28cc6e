"""Jinja's scoping, lowered to names of functions: what loops and `with` bind is gone behind them.

A name that nothing in the template binds is a variable of its context, and becomes a parameter of the
template. A name that a loop binds gets a name of its own (`message~3`), because a function's loop
variables live on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from jinja2 import nodes

from promptopt.readers.facts import CallFact, Expression, ParameterFact, Scope
from promptopt.readers.jinja.environment import GLOBALS
from promptopt.readers.jinja.lexing import TokenPlace

LOOP: Final = "loop~"
"""What the name `loop` is read as inside a `for`."""

_OF_MACROS: Final = frozenset({"caller", "varargs", "kwargs"})
_WORDS: Final = frozenset({"true", "false", "none", "True", "False", "None"})

Range: TypeAlias = tuple[int, int]
Placing: TypeAlias = Callable[[int, int], Range]


@dataclass(slots=True)
class Variable:
    """A variable of the template's context and where it is read; `guarded` where the template can do without: it asks
    whether the variable is there (`is defined`, `default`, a test), or every environment defines it."""

    name: str
    places: list[Range] = field(default_factory=list)
    guarded: bool = False


@dataclass(slots=True)
class TemplateBuilder:
    """What the scopes of one template share. `place` leads from offsets of the template to those of the file
    that it stands in; the first scope gets the number `first`."""

    place: Placing
    first: int = 0
    scopes: list[Scope | None] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    outputs: list[Expression] = field(default_factory=list)
    references: list[Expression] = field(default_factory=list)
    blocks: dict[str, int] = field(default_factory=dict)
    parent: Expression | None = None
    numbers: int = 0

    def number(self) -> int:
        """A number for a name of its own."""
        self.numbers += 1
        return self.numbers

    def variable(self, name: str) -> Variable:
        """The variable of the context."""
        return self.variables.setdefault(name, Variable(name))


def span_of(node: nodes.Node) -> Range:
    """Where a node stands in the template: its own span, else its first token."""
    found = getattr(node, "span", None)
    if found is not None:
        return found[0], found[1]
    return (node.lineno.start, node.lineno.end) if isinstance(node.lineno, TokenPlace) else (0, 0)


class ScopeBuilder:
    """One function of the lowered template: the template itself, a macro, a block, what is handed to a macro.

    `index` is its number among the template's scopes, `parent` that of the one around it. `locals` are the
    bindings of the Jinja scopes that are open, innermost last.
    """

    def __init__(self, template: TemplateBuilder, name: str, outer: ScopeBuilder | None = None) -> None:
        self.template = template
        self.name = name
        self.outer = outer
        self.index = template.first + len(template.scopes)
        template.scopes.append(None)
        self.locals: list[dict[str, str]] = [{}]
        self.calls: list[CallFact] = []
        self.parameters: list[ParameterFact] = []

    def span(self, span: Range) -> Range:
        """Offsets of the template as those of the file."""
        return self.template.place(*span)

    def place(self, node: nodes.Node) -> Range:
        """Where a node stands in the file."""
        return self.span(span_of(node))

    def called(self, fact: CallFact) -> Expression:
        """A call expression, its facts noted."""
        self.calls.append(fact)
        return ("call", fact[0], fact[1], len(self.calls) - 1)

    def known(self, name: str) -> str | None:
        """What a name is bound to here; None for a variable of the context."""
        for names in reversed(self.locals):
            if name in names:
                return names[name]
        if self.outer is not None and name in _OF_MACROS:
            self._takes(name)
            return name
        return self.outer.known_outside(name) if self.outer is not None else None

    def known_outside(self, name: str) -> str | None:
        """What a function inside this one sees: names of the whole function."""
        found = self.locals[0].get(name)
        return found if found is not None or self.outer is None else self.outer.known_outside(name)

    def _takes(self, name: str) -> None:
        kind = {"varargs": "args", "kwargs": "kwargs"}.get(name, "keyword")
        self.parameters.append(ParameterFact(name, kind, 0, 0, ("const", 0, 0, None) if kind == "keyword" else None))
        self.locals[0][name] = name

    def visible(self) -> tuple[tuple[str, str], ...]:
        """What a template that is included here sees of this one's own names, and what these are lowered to."""
        scopes: list[dict[str, str]] = []
        outer = self.outer
        while outer is not None:
            scopes.insert(0, outer.locals[0])
            outer = outer.outer
        names = {name: lowered for scope in (*scopes, *self.locals) for name, lowered in scope.items()}
        return tuple([pair for pair in names.items() if pair[1] != LOOP])

    def read(self, name: str, place: Range) -> str:
        """The name that a name in the template is lowered to."""
        found = self.known(name)
        if found is None and name not in _WORDS:
            variable = self.template.variable(name)
            variable.places.append(place)
            variable.guarded = variable.guarded or name in GLOBALS
        return found or name

    def guard(self, name: str) -> None:
        """Note that the template asks whether a variable is there."""
        if self.known(name) is None:
            self.template.variable(name).guarded = True

    def guard_all(self, test: nodes.Node) -> None:
        """Note that the template tests the variables in an expression."""
        for node in (test, *test.find_all(nodes.Name)):
            if isinstance(node, nodes.Name):
                self.guard(node.name)

    def bind(self, name: str) -> str:
        """Bind a name in the innermost open scope; returns what it is lowered to."""
        names = self.locals[-1]
        if name not in names:
            names[name] = name if len(self.locals) == 1 else f"{name}~{self.template.number()}"
        return names[name]

    def finish(self, body: tuple[tuple[object, ...], ...], place: Range, kind: str = "function") -> None:
        """Put the scope's facts among those of the template."""
        parent = -1 if self.outer is None else self.outer.index
        self.template.scopes[self.index - self.template.first] = Scope(
            kind,
            self.name,
            parent,
            *place,
            params=tuple(self.parameters),
            body=body,
            calls=tuple(self.calls),
        )
