"""Calls of template engines: environments give templates, templates give text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptopt.project import engines, jinja
from promptopt.project.values import (
    Alternatives,
    Arguments,
    CallResult,
    JinjaTemplate,
    Lazy,
    MapValue,
    Place,
    Sequence,
    TextValue,
    Unknown,
    Value,
    alternatives,
    plain_options,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame

_BY_NAME: Final = frozenset({"get_template", "select_template", "get_or_select_template"})
_BY_TEXT: Final = frozenset({"from_string"})
_RENDERING: Final = frozenset({"render", "render_async", "generate", "generate_async", "stream"})
_ITSELF: Final = frozenset({"overlay"})

GETTERS: Final = _BY_NAME | _BY_TEXT | _ITSELF
"""Methods that give a template, whatever object they are called on."""

MAX_NAMES: Final = 8
"""Templates that one call may stand for."""


def method(ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place) -> Value | None:
    """A method of an environment, or of an object that may be one; None where it is none of a template engine."""
    environment = base if isinstance(base, CallResult) and engines.shape_of(ev, base) is not None else None
    if environment is not None and name in _ITSELF:
        return environment
    if name in _BY_TEXT:
        text = ev.world.argument(arguments, ("source", 0), ev)
        return _of_text(ev, text, environment, place) if text is not None else None
    if name not in _BY_NAME:
        return None
    given = ev.world.argument(arguments, ("name", "template", "names", "template_name_or_list", 0), ev)
    return None if given is None else _named(ev, given, environment, place)


def made(ev: Evaluator, dotted: str, arguments: Arguments, place: Place, frame: Frame | None) -> Value | None:
    """What calling a constructor or function of a template engine gives; None where the object itself is kept."""
    found = ev.sdks.engine(dotted)
    if found is None or found[1].kind not in ("template", "rendered"):
        return None
    shape = found[1]
    environment = CallResult(dotted, arguments, place)
    text = ev.world.argument(arguments, shape.source, ev)
    name = ev.world.argument(arguments, shape.name, ev)
    if text is not None:
        template = _of_text(ev, text, environment, place)
    else:
        template = _named(ev, name, environment, place) if name is not None else Unknown("template")
    if shape.kind == "template":
        return template
    return rendered(ev, template, Arguments((), arguments.keywords, arguments.rest), place, frame)


def call(
    ev: Evaluator, base: JinjaTemplate, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    """A method of a template."""
    if name in _RENDERING:
        return rendered(ev, base, arguments, place, frame)
    return Unknown("template", place=place)


def rendered(ev: Evaluator, template: Value, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    """The text that a template gives for a context: mappings, then keywords."""
    if isinstance(template, Alternatives):
        return template.over(lambda one: rendered(ev, one, arguments, place, frame))
    if not isinstance(template, JinjaTemplate):
        return Unknown("template", place=place)
    context: dict[str, Lazy | Value] = {}
    rest: list[Lazy | Value] = list(arguments.rest)
    for given in arguments.positional:
        mapping = ev.force(given)
        if isinstance(mapping, MapValue):
            context.update({key: value for key, value in mapping.entries.items() if isinstance(key, str)})
            rest.extend(mapping.rest)
        else:
            rest.append(mapping)
    context.update(arguments.keywords)
    return jinja.render(ev, template, jinja.Context(context, tuple(rest)), place, frame)


def _of_text(ev: Evaluator, text: Value, environment: Value | None, place: Place) -> Value:
    if isinstance(text, Alternatives):
        return text.over(lambda one: _of_text(ev, one, environment, place))
    return JinjaTemplate(text, environment, place) if isinstance(text, TextValue) else Unknown("template", (text,))


def _named(ev: Evaluator, name: Value, environment: Value | None, place: Place) -> Value:
    """The template of a name, or the first that is found of several names."""
    if isinstance(name, JinjaTemplate):
        return name
    if isinstance(name, Sequence):
        found = (_named(ev, one, environment, place) for one in name.items if isinstance(one, Value))
        return next((one for one in found if isinstance(one, JinjaTemplate)), Unknown("template"))
    options = plain_options(name, MAX_NAMES)
    texts = [text for option in options if (text := engines.lookup(ev, option, environment, place)) is not None]
    if not texts:
        return Unknown("template", (name,), place=place)
    return alternatives(ev.text(place), tuple(JinjaTemplate(text, environment, place) for text in texts))
