"""Templates of Jinja, evaluated as functions of their context.

A template's scopes join the module of the file that its text stands in; nothing is rendered by Jinja itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, engines, filters, members, strings
from promptopt.project.frames import Frame
from promptopt.project.values import (
    NONE,
    Constant,
    External,
    Fixed,
    Function,
    Hole,
    JinjaTemplate,
    Lazy,
    Literal,
    MapValue,
    Namespace,
    Piece,
    Pieces,
    Place,
    ScopeRef,
    Sequence,
    TextValue,
    Unknown,
    Value,
    Volatile,
    plain,
)
from promptopt.readers.facts import Module
from promptopt.readers.jinja.environment import DEFAULT_SYNTAX, GLOBALS, TemplateSyntax
from promptopt.source import SourceFile

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression, ParameterFact
    from promptopt.readers.jinja.template import Template

MAX_NESTING: Final = 12
"""Templates within templates."""

_GAP: Final = "\ue000"
"""Stands in a template's text for a value that is put into the text before it is read."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a template is rendered with: names, and mappings of which nothing else is known."""

    names: Mapping[str, Lazy | Value] = field(default_factory=dict)
    rest: tuple[Lazy | Value, ...] = ()
    open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A template that was read: its scope, its facts, its text in pieces and where each piece begins."""

    ref: ScopeRef
    facts: Template
    pieces: Pieces
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rendering(Value):
    """One rendering of a template: its unit, environment and context, the blocks that templates which extend it
    have, innermost first, and where it was asked for."""

    unit: Unit
    environment: Value | None
    context: Context
    blocks: Mapping[str, tuple[Function, ...]]
    place: Place

    def is_within(self) -> bool:
        """Whether another template asks for it."""
        return self.place.path != self.unit.ref.path


_RENDERING: Final = "<rendering>"
"""The binding of a template's frame that holds its `Rendering`; no variable is called so."""


class Units:
    """The templates of a project, each read once for each way to cut it.

    `files` are the paths of its template files, cut by `syntax` unless code says otherwise; `all_prompts` where all of
    them are prompts.
    """

    def __init__(
        self, files: Iterable[str] = (), syntax: TemplateSyntax = DEFAULT_SYNTAX, *, all_prompts: bool = False
    ) -> None:
        self.files = tuple(files)
        self.syntax = syntax
        self.all_prompts = all_prompts
        self._units: dict[tuple[Pieces, TemplateSyntax], Unit | None] = {}
        self._by_scope: dict[ScopeRef, Unit] = {}
        self.faults: dict[str, tuple[str, int | None]] = {}

    def of_scope(self, ref: ScopeRef) -> Unit | None:
        """The template that a scope belongs to."""
        return self._by_scope.get(ref)

    def all(self) -> list[Unit]:
        """The templates that were read."""
        return list(dict.fromkeys(self._by_scope.values()))

    def paths(self) -> set[str]:
        """The files that templates which were read stand in."""
        return {ref.path for ref in self._by_scope}

    def read(self, ev: Evaluator, text: TextValue, syntax: TemplateSyntax, place: Place) -> Unit | None:
        """The template of a text; None where it cannot be read."""
        key = (text.pieces, syntax)
        if key not in self._units:
            self._units[key] = self._read(ev, text, syntax, place)
        return self._units[key]

    def _read(self, ev: Evaluator, text: TextValue, syntax: TemplateSyntax, place: Place) -> Unit | None:
        from promptopt.readers.jinja.template import JinjaSyntaxError, read_template  # noqa: PLC0415 (loads Jinja)

        origin = next((p.origin for p in text.pieces if isinstance(p, Literal) and p.origin is not None), place)
        starts = tuple(accumulate((_length(piece) for piece in text.pieces), initial=0))[:-1]
        world = ev.world
        module = world.modules.get(origin.path) or Module(origin.path, ())
        joined = "".join(piece.value if isinstance(piece, Literal) else _GAP for piece in text.pieces)

        def located(start: int, end: int) -> tuple[int, int]:
            found = _located(ev, text.pieces, starts, start, end)
            if found is not None and found.path == origin.path:
                return found.start, found.end
            return (place.start, place.end) if place.path == origin.path else (0, 0)

        first = len(module.scopes)
        try:
            facts = read_template(SourceFile(origin.path, joined), syntax, located, first)
        except JinjaSyntaxError as error:
            offset = located(error.offset, error.offset)[0] if error.offset is not None else None
            if not world.is_python(origin.path):
                self.faults[origin.path] = (error.message, offset)
            return None
        scopes = (*module.scopes, *facts.scopes)
        world.modules[origin.path] = Module(module.path, scopes, module.calls_by_name, module.imports)
        unit = Unit(ScopeRef(origin.path, first), facts, text.pieces, starts)
        self._by_scope.update((ScopeRef(origin.path, first + index), unit) for index in range(len(facts.scopes)))
        return unit


def _length(piece: object) -> int:
    return len(piece.value) if isinstance(piece, Literal) else len(_GAP)


def _located(ev: Evaluator, pieces: Pieces, starts: tuple[int, ...], start: int, end: int) -> Place | None:
    """Where characters of a template's text stand: those of the piece that they begin in."""
    index = bisect_right(starts, start) - 1
    if index < 0:
        return None
    piece = pieces[index]
    if not isinstance(piece, Literal):
        return piece.place if isinstance(piece, Hole) else None
    offset = start - starts[index]
    return ev.locate(piece, offset, min(max(end - starts[index], offset + 1), len(piece.value)))


def render(ev: Evaluator, template: JinjaTemplate, context: Context, place: Place, caller: Frame | None) -> Value:
    """The text that a template gives for a context."""
    unit = ev.world.units.read(ev, template.text, engines.syntax(ev, template.environment), template.place)
    if unit is None:
        return Unknown("template", place=place)
    return _entered(ev, Rendering(unit, template.environment, context, {}, place), caller)


def _entered(ev: Evaluator, rendering: Rendering, caller: Frame | None) -> Value:
    ref = rendering.unit.ref
    depth = caller.depth + 1 if caller is not None else 1
    if depth > MAX_NESTING or ev.active.get(ref):
        return Unknown("nesting", place=rendering.place)
    frame = _frame(ev, rendering, caller, depth)
    ev.active[ref] = 1
    try:
        return ev.result(frame)
    finally:
        ev.active[ref] = 0


def _frame(ev: Evaluator, rendering: Rendering, caller: Frame | None, depth: int) -> Frame:
    bindings = {**rendering.context.names, _RENDERING: rendering}
    level = caller.level if caller is not None else None
    frame = Frame(rendering.unit.ref, bindings, level=level, call=rendering.place, caller=caller, depth=depth)
    ev.world.renderings.append(rendering)
    return frame


def variable(ev: Evaluator, frame: Frame, fact: ParameterFact) -> Value:
    """A variable of a template's context."""
    bound = frame.bindings.get(fact.name)
    if bound is not None:
        return ev.force(bound)
    if fact.name in GLOBALS:
        return External(GLOBALS[fact.name])
    place = Place(frame.scope.path, fact.start, fact.end)
    rendering = _rendering(ev, frame)
    if rendering is not None and rendering.context.rest:
        return members.named_member(ev, ev.force(rendering.context.rest[0]), fact.name, "item", place)
    source = ev.sources.template_name(fact.name)
    if source is not None and ev.sources.takes_format(source.kind, "strftime"):
        # what is printed of a time decides how often it changes
        return Volatile(source.kind, source.label, source.volatility, fact.name, None, by_name=True)
    return ev.variable(fact.name, None)


def _outermost(ev: Evaluator, frame: Frame) -> Frame | None:
    """The frame of the template that a frame of one of its functions belongs to."""
    at: Frame | None = frame
    while at is not None and ev.scope(at.scope).kind != "template":
        at = at.outer or at.closure
    return at


def _rendering(ev: Evaluator, frame: Frame) -> Rendering | None:
    outermost = _outermost(ev, frame)
    while outermost is not None and outermost.origin is not None:
        outermost = outermost.origin
    found = outermost.bindings.get(_RENDERING) if outermost is not None else None
    return found if isinstance(found, Rendering) else None


def _part(ev: Evaluator, e: Expression, frame: Frame) -> Pieces:
    unit = ev.world.units.of_scope(frame.scope)
    if unit is None:
        return ()
    lo, hi = e[3], e[4]
    found: list[Piece] = []
    for index in range(bisect_right(unit.starts, lo) - 1, len(unit.pieces)):
        piece, start = unit.pieces[index], unit.starts[index]
        if start >= hi:
            break
        if isinstance(piece, Literal):
            text = piece.value[max(lo - start, 0) : hi - start]
            offset = piece.offset + max(lo - start, 0) if piece.offset >= 0 else -1
            found.append(Literal(text, piece.origin, offset))
        else:
            found.append(piece)
    return tuple(found)


def pieces(ev: Evaluator, piece: Expression, frame: Frame, position: int) -> Pieces:
    """A piece of a template's output (`part`, `print`) as it appears in the text."""
    return _part(ev, piece, frame) if piece[0] == "part" else _printed(ev, piece, frame, position)


def printed(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """A piece of a template's output."""
    return TextValue(pieces(ev, e, frame, position))


def _printed(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Pieces:
    place = ev.place(e, frame)
    expression = ev.text(Place(frame.scope.path, e[3][1], e[3][2]))
    value = classes.shown(ev, ev.evaluate(e[3], frame, position))
    found = strings.to_pieces(value, place, expression)
    passed = _passed(ev, e[3], frame)
    whole = all(isinstance(one, Literal) for one in found)
    if passed is None or whole or strings.constant_length(found) >= strings.SUBSTANTIAL:
        return found
    return (Hole(value, place, expression, passed),)


def _passed(ev: Evaluator, e: Expression, frame: Frame) -> Place | None:
    """Where the variable that an expression is about was given to the template."""
    while e[0] in ("attr", "index", "slice") or (e[0] == "filter" and e[4] is not None):
        e = e[4] if e[0] == "filter" else e[3]
    if e[0] != "name" or ev.scope(frame.scope).kind != "template":
        return None
    bound = frame.bindings.get(e[3])
    return bound.place if isinstance(bound, Lazy) else frame.call if bound is not None else None


def filtered(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """`value | name(...)`."""
    value = ev.evaluate(e[4], frame, position) if e[4] is not None else NONE
    given = tuple(ev.evaluate(one, frame, position) for one in e[5])
    keywords = {name: ev.evaluate(one, frame, position) for name, one in e[6] if name is not None}
    return filters.apply(ev, e[3], value, filters.Given(given, keywords, ev.place(e, frame), frame))


def fixed(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    """What is the same on every call."""
    return Fixed(e[3], place=ev.place(e, frame))


def _seen(ev: Evaluator, names: tuple[tuple[str, str], ...] | None, frame: Frame, position: int) -> Context:
    """The context of a template that another one uses."""
    rendering = _rendering(ev, frame)
    if names is None or rendering is None:
        return Context(open=True)
    own = {name: Lazy(("name", 0, 0, lowered), frame, position) for name, lowered in names}
    return Context({**rendering.context.names, **own}, rendering.context.rest, rendering.context.open)


def _other(ev: Evaluator, name: Expression, frame: Frame, position: int) -> tuple[Unit | None, Value | None]:
    """Another template, by what names it, and the environment it comes from."""
    rendering = _rendering(ev, frame)
    environment = rendering.environment if rendering is not None else None
    place = ev.place(name, frame)
    value = ev.evaluate(name, frame, position)
    if isinstance(value, JinjaTemplate):
        text: TextValue | None = value.text
    else:
        known = plain(value)
        text = None if known is None else engines.lookup(ev, known, environment, place)
    if text is None:
        return None, environment
    return ev.world.units.read(ev, text, engines.syntax(ev, environment), place), environment


def included(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """`{% include name %}`."""
    unit, environment = _other(ev, e[3], frame, position)
    if unit is None:
        return Unknown("include", place=ev.place(e, frame))
    context = _seen(ev, e[4], frame, position)
    return _entered(ev, Rendering(unit, environment, context, {}, ev.place(e, frame)), frame)


def imported(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """`{% import name as x %}`."""
    unit, environment = _other(ev, e[3], frame, position)
    if unit is None or frame.depth >= MAX_NESTING:
        return Unknown("import", place=ev.place(e, frame))
    context = _seen(ev, e[4], frame, position)
    rendering = Rendering(unit, environment, context, {}, ev.place(e, frame))
    return Namespace(_frame(ev, rendering, frame, frame.depth + 1))


def attribute(ev: Evaluator, base: Namespace, name: str) -> Value:
    """A macro or variable of an imported template."""
    known = name in ev.flow(base.frame.scope).versions
    return ev.final(name, base.frame) if known else Unknown("macro", name=name)


def extended(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    """`{% extends name %}`: the parent, with this template's blocks."""
    unit, environment = _other(ev, e[3], frame, position)
    if unit is None:
        return Unknown("extends", place=ev.place(e, frame))
    rendering = _rendering(ev, frame)
    derived = rendering.blocks if rendering is not None else {}
    own = {name: Function(ScopeRef(frame.scope.path, scope), frame) for name, scope in e[5]}
    names = dict.fromkeys((*derived, *own))
    blocks = {name: (*derived.get(name, ()), *([own[name]] if name in own else ())) for name in names}
    context = _seen(ev, e[4], frame, position)
    return _entered(ev, Rendering(unit, environment, context, blocks, ev.place(e, frame)), frame)


def block(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    """`{% block name %}`: what the innermost template that extends this one has for it."""
    rendering = _rendering(ev, frame)
    derived = rendering.blocks.get(e[3], ()) if rendering is not None else ()
    return _block(ev, (*derived, Function(ScopeRef(frame.scope.path, e[4]), _outermost(ev, frame))), frame)


def _block(ev: Evaluator, functions: tuple[Function, ...], caller: Frame) -> Value:
    """The first function's text; the others are what it calls `super()`."""
    if not functions:
        return TextValue(())
    first, *others = functions
    if ev.active.get(first.scope):
        return Unknown("nesting")
    above = _block(ev, tuple(others), caller)
    frame = Frame(
        first.scope, {"super": above}, closure=first.closure, level=caller.level, caller=caller, depth=caller.depth
    )
    ev.active[first.scope] = 1
    try:
        return ev.result(frame)
    finally:
        ev.active[first.scope] = 0


def is_defined(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool | None:
    """Whether a name is defined; None where that is not known."""
    value = ev.evaluate(test[3], frame, position)
    if isinstance(value, (Constant, TextValue, Sequence, MapValue)):
        return True
    return True if test[3][0] == "name" and test[3][3] in frame.bindings else None
