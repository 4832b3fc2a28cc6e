"""Templates that are prompts although no request that was found sends them.

One that code renders has the values it is given; of one that nobody renders only the names of its variables are
known. Templates that others include, extend or import are parts of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from promptopt.project import jinja, prompt_files
from promptopt.project.describe import location
from promptopt.project.engines import syntax, text_of_file
from promptopt.project.evaluate import FUEL
from promptopt.project.messages import MessageBuilder
from promptopt.project.values import JinjaTemplate, Place, TextValue, Value
from promptopt.prompt import Block, Call, Interpolation, Message, Prompt, Volatility, constant_texts, flatten
from promptopt.source import Location, Span

if TYPE_CHECKING:
    from promptopt.project.callers import Callers
    from promptopt.project.describe import Describer
    from promptopt.project.evaluate import Evaluator

MAX_RENDERING_CALLS: Final = 400
"""Calls that are looked at for what they render."""

RENDERING_STEPS: Final = 100_000
"""Evaluation steps for all of them."""

MAX_HOPS: Final = 2
"""Callers of callers that a function which renders a template of any name is followed through."""

_RENDERING: Final = ("render", "render_async", "render_template", "render_template_string")
_WORD: Final = re.compile(r"\w+")
_ROLE: Final = re.compile(r"(?:^|[^a-z])(system|user)(?:$|[^a-z])", re.IGNORECASE)


@dataclass(slots=True)
class Standing:
    """Prompts of their own, templates that could not be read by what is wrong with them and where, and the number of
    those that another engine reads, or Jinja with tags of an extension. `strangers` are templates that are no prompts.
    """

    prompts: list[Prompt] = field(default_factory=list)
    faults: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    others: int = 0
    strangers: frozenset[str] = frozenset()


def find(ev: Evaluator, describer: Describer, callers: Callers, sent: Iterable[Prompt]) -> Standing:
    """Templates of the project that are prompts and part of none of `sent`."""
    found = Standing()
    # what could not be read so far was asked for by a request
    asked = set(ev.world.units.faults)
    paths = [path for path in ev.world.units.files if path in asked or _is_prompt(ev, path)]
    known = {path for prompt in sent for path in _paths(prompt)}
    left = [path for path in paths if path not in known]
    rendered = _rendered(ev, callers, set(left)) if left else {}
    values: dict[str, tuple[Value, Place]] = {}
    for path in left:
        made = rendered.get(path) or _by_names(ev, path)
        if made is not None:
            values[path] = made
    within = (one for one in ev.world.renderings if one.is_within() and not ev.world.is_python(one.place.path))
    used = {one.unit.ref.path for one in within}
    for path, (value, place) in values.items():
        if path not in used:
            found.prompts.append(_prompt(ev, describer, path, value, place))
    found.strangers = frozenset(ev.world.units.files) - {*paths, *ev.world.units.paths()}
    _tell_faults(ev, paths, found)
    return found


def _is_prompt(ev: Evaluator, path: str) -> bool:
    if ev.world.units.all_prompts or prompt_files.is_named_as_prompt(path):
        return True
    text = ev.world.read_text(path)
    return text is not None and prompt_files.has_role_markers(text)


def _paths(prompt: Prompt) -> Iterator[str]:
    """Files that the text of a prompt stands in."""
    for message in prompt.messages:
        for block in message.blocks if isinstance(message, Message) else ():
            for text in constant_texts(block.parts):
                yield from (segment.location.path for segment in text.map)


def _by_names(ev: Evaluator, path: str) -> tuple[Value, Place] | None:
    """A template that nobody renders, its variables known by name only."""
    text, source = text_of_file(ev, path), ev.world.read_text(path) or ""
    if text is None or prompt_files.has_front_matter(path, source):
        return None
    place = Place(path, 0, 0)
    template = JinjaTemplate(text, None, place)
    ev.refuel()
    unit = ev.world.units.read(ev, text, syntax(ev, None), place)
    if unit is None or (unit.facts.conversation is not None and prompt_files.is_chat_template(path, source)):
        return None
    return jinja.render(ev, template, jinja.Context(open=True), place, None), place


def _rendered(ev: Evaluator, callers: Callers, wanted: set[str]) -> dict[str, tuple[Value, Place]]:
    """What calls of the project make of templates, by the path of the template; the first call counts."""
    queue = [(ref, call, 0) for name in _RENDERING for ref, call in ev.world.calls_named(name)]
    found: dict[str, tuple[Value, Place]] = {}
    steps = 0
    for count, (ref, call, hops) in enumerate(queue):
        if count >= MAX_RENDERING_CALLS or steps > RENDERING_STEPS:
            break
        ev.refuel()
        before = len(ev.world.renderings)
        fact = ev.scope(ref).calls[call]
        value = ev.evaluate(("call", fact[0], fact[1], call), ev.open_frame(ref), ev.flow(ref).call_position(call))
        place = Place(ref.path, fact[0], fact[1])
        fresh = [one for one in ev.world.renderings[before:] if ev.world.is_python(one.place.path)]
        templates = [one.unit.ref.path for one in fresh if one.unit.ref.path in wanted]
        steps += FUEL - ev.fuel
        for path in templates if isinstance(value, TextValue) else ():
            found.setdefault(path, (value, place))
        if not templates and hops < MAX_HOPS:
            queue += [(site.scope, site.call, hops + 1) for site in callers.of(ref)]
    return found


def _prompt(ev: Evaluator, describer: Describer, path: str, value: Value, place: Place) -> Prompt:
    sdk = next(sdk for sdk in ev.sdks.sdks if sdk.name == "jinja2")
    start = Location(path, Span(0, 0))
    call = Call(sdk.name, "template", None, location(place), "<template>", sent=False)
    builder = MessageBuilder(ev, describer, sdk)
    blocks = builder.blocks(value, Place(path, 0, 0))
    return Prompt(path, call, start, None, (Message(_role(path, blocks), blocks, start),))


def _role(path: str, blocks: tuple[Block, ...]) -> str:
    """The role of the message that a template is likely to become: what holds the words of a request is a user's."""
    named = _ROLE.search(path.rpartition("/")[2])
    if named is not None:
        return named[1].lower()
    values = (part for block in blocks for part in flatten(block.parts) if isinstance(part, Interpolation))
    return "user" if any(value.volatility is Volatility.REQUEST for value in values) else "system"


def _tell_faults(ev: Evaluator, paths: Iterable[str], found: Standing) -> None:
    for path in paths:
        text = ev.world.read_text(path) or ""
        fault = ev.world.units.faults.get(path)
        if _is_other(path, text, fault):
            found.others += 1
        elif fault is not None:
            found.faults[path] = fault


def _is_other(path: str, text: str, fault: tuple[str, int | None] | None) -> bool:
    """Whether another engine reads the template, or Jinja with an extension."""
    if fault is None:
        return prompt_files.has_front_matter(path, text)
    return prompt_files.is_of_another_engine(text) or _is_own_tag(text, *fault)


def _is_own_tag(text: str, message: str, offset: int | None) -> bool:
    """Whether a template has a tag of an extension: one that Jinja itself neither opens nor closes."""
    tag = _WORD.match(text, offset or 0)
    return "unknown tag" in message and tag is not None and not tag[0].startswith(("end", "el"))
