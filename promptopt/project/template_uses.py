"""Templates that are part of prompts, with what they read and what they are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from promptopt.project import engines, prompt_files
from promptopt.project.describe import location
from promptopt.project.jinja import Rendering as Made
from promptopt.project.jinja import Unit
from promptopt.project.values import Lazy, Literal, Place, Value
from promptopt.prompt import (
    BracedText,
    ChatTemplate,
    Interpolation,
    Message,
    Prompt,
    PromptTemplate,
    Rendering,
    TemplateVariable,
    Volatility,
    flatten,
)
from promptopt.source import Location, Span

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator

_DEFINING = (".globals", "context_processor")
"""What code that gives templates further names mentions."""


def find(ev: Evaluator, prompts: Iterable[Prompt]) -> list[PromptTemplate]:
    """The templates that are rendered and part of one of `prompts`."""
    by_unit: dict[Unit, list[Made]] = {}
    for made in ev.world.renderings:
        if ev.world.is_python(made.place.path) and not made.blocks:
            by_unit.setdefault(made.unit, []).append(made)
    if not by_unit:
        return []
    sent = _sent(prompts)
    shared = _shared(by_unit)
    supplied = any(word in source.text for source in ev.world.files.values() for word in _DEFINING)
    return [
        _use(ev, unit, made, supplied=supplied, shared=bool(shared & {one.place for one in made}))
        for unit, made in by_unit.items()
        if _is_sent(unit, sent)
    ]


def chat_templates(ev: Evaluator) -> Iterator[ChatTemplate]:
    """The chat templates among those that were read."""
    for unit in ev.world.units.all():
        found, path = unit.facts.conversation, unit.ref.path
        text = "".join(piece.value for piece in unit.pieces if isinstance(piece, Literal))
        if found is None or not prompt_files.is_chat_template(path, text):
            continue
        scope = unit.facts.scopes[0]
        clocks = tuple((Location(path, Span(*place)), _how_often(ev, directives)) for place, directives in found.clocks)
        rewritten = tuple(Location(path, Span(*place)) for place in found.rewritten)
        yield ChatTemplate(Location(path, Span(scope.start, max(scope.start, scope.end))), clocks, rewritten)


def braced(ev: Evaluator) -> Iterator[BracedText]:
    """JSON in format strings whose braces are read as fields."""
    for place, braces in ev.world.braced.items():
        yield BracedText(location(place), tuple(location(one) for one in braces))


def _how_often(ev: Evaluator, directives: str | None) -> Volatility:
    """How often a time changes that is printed by these directives."""
    kind = "time-of-day" if directives is None else ev.sources.formatted("time-of-day", directives)
    return ev.sources.kind(kind).volatility if kind else Volatility.CONSTANT


def _shared(by_unit: dict[Unit, list[Made]]) -> set[Place]:
    """Calls that render one of several templates: what one of these does not read is for another."""
    seen: dict[Place, Unit] = {}
    return {one.place for unit, made in by_unit.items() for one in made if seen.setdefault(one.place, unit) is not unit}


def _sent(prompts: Iterable[Prompt]) -> dict[str, list[Span]]:
    """Where the text and the values of prompts stand, by file."""
    found: dict[str, list[Span]] = {}
    for prompt in prompts:
        for message in prompt.messages:
            for block in message.blocks if isinstance(message, Message) else ():
                for part in flatten(block.parts):
                    if isinstance(part, Interpolation):
                        places = [part.location] if part.location is not None else []
                    else:
                        places = [segment.location for segment in getattr(part, "map", ())]
                    for place in places:
                        found.setdefault(place.path, []).append(place.span)
    return found


def _is_sent(unit: Unit, sent: dict[str, list[Span]]) -> bool:
    scope = unit.facts.scopes[0]
    return any(scope.start <= span.start < scope.end for span in sent.get(unit.ref.path, ()))


def _use(ev: Evaluator, unit: Unit, made: list[Made], *, supplied: bool, shared: bool) -> PromptTemplate:
    scope = unit.facts.scopes[0]
    units = dict.fromkeys([unit])
    complete = _gather(ev, unit, made[0].environment, made[0].place, units)
    path = unit.ref.path
    variables = tuple(
        TemplateVariable(one.name, tuple(Location(path, Span(*place)) for place in one.places), one.guarded)
        for one in unit.facts.variables
        if one.places
    )
    used = frozenset(one.name for inner in units for one in inner.facts.variables)
    renderings = tuple(dict.fromkeys(_renderings(made)))
    where = Location(path, Span(scope.start, max(scope.start, scope.end)))
    return PromptTemplate(where, variables, used, renderings, complete, supplied, shared)


def _renderings(made: list[Made]) -> Iterator[Rendering]:
    """What calls pass; of a wrapper that hands on what it is given, what its callers give it."""
    closed = {one.place for one in made if not one.context.rest}
    for one in made:
        is_open = bool(one.context.rest or one.context.open)
        if not is_open or one.place not in closed:
            names = tuple((name, _written(value)) for name, value in one.context.names.items())
            yield Rendering(location(one.place), names, is_open)


def _written(value: Lazy | Value) -> Location | None:
    return location(value.place) if isinstance(value, Lazy) else None


def _gather(ev: Evaluator, unit: Unit, environment: Value | None, place: Place, units: dict[Unit, None]) -> bool:
    """Add the templates that a template uses to `units`; whether all of them are known."""
    complete = True
    for reference in unit.facts.references:
        text = engines.lookup(ev, reference[3], environment, place) if reference[0] == "str" else None
        found = None
        if text is not None:
            found = ev.world.units.read(ev, text, engines.syntax(ev, environment), place)
        if found is None:
            complete = False
        elif found not in units:
            units[found] = None
            complete = _gather(ev, found, environment, place, units) and complete
    return complete
