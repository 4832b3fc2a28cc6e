"""Methods of library objects: prompt templates, chat models, composed chains, files, string templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project import braces, files, jinja, members, methods, mustache, strings
from promptopt.project.values import (
    Arguments,
    CallResult,
    External,
    Fixed,
    Function,
    Grown,
    Item,
    JinjaTemplate,
    Lazy,
    Literal,
    MapValue,
    Member,
    Method,
    Pipe,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.sdks.schema import TemplateShape

_ROLES = {"human": "user", "ai": "assistant", "placeholder": "placeholder"}
ENGINES: Final = ("f-string", "jinja2", "mustache")
"""Engines whose templates are filled in."""

_SAME = frozenset({"to_messages", "to_string", "messages", "copy", "with_config", "text"})


def call(
    ev: Evaluator, base: CallResult | Pipe, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    """A method of a library object."""
    if isinstance(base, Pipe):
        return _pipe_method(ev, base, name, place, frame)
    template = ev.sdks.template(base.dotted)
    if template is not None:
        return _template_method(ev, base, template[1], name, arguments, place)
    client = ev.sdks.client(base.dotted)
    if client is not None:
        if name in client[1].passthrough:
            extra = dict(base.extra)
            if name in client[1].tools_methods and arguments.positional:
                extra["tools"] = ev.force(arguments.positional[0])
            return CallResult(base.dotted, base.arguments, base.place, base.function, extra)
        if ev.sdks.method(client[1], name) is not None:
            return ev.volatile("model-output", place, frame)
    return _other(ev, base, name, arguments, place, frame)


def _pipe_method(ev: Evaluator, base: Pipe, name: str, place: Place, frame: Frame | None) -> Value:
    if name in ("with_config", "with_retry", "bind", "with_fallbacks"):
        return base
    if any(isinstance(step, CallResult) and ev.sdks.client(step.dotted) for step in base.steps):
        return ev.volatile("model-output", place, frame)
    return Unknown("chain", place=place)


def _other(
    ev: Evaluator, base: CallResult, name: str, arguments: Arguments, place: Place, frame: Frame | None
) -> Value:
    if files.is_read(name):
        return files.read(ev, base, place)
    if base.dotted == "string.Template" and name in ("substitute", "safe_substitute"):
        return _string_template(ev, base, arguments, place)
    if base.dotted == "pathlib.Path" and name in ("joinpath", "resolve", "absolute", "expanduser"):
        return CallResult(base.dotted, Arguments((*base.arguments.positional, *arguments.positional)), place)
    path = members.external(ev, f"{base.dotted}.{name}", place, frame)
    if isinstance(path, External):
        source = ev.sources.function(path.dotted, len(arguments.positional))
        if source is not None and source.kind == "directory-order":
            order = ev.volatile(source.kind, place, frame)
            return Sequence("list", (Splice(Fixed("directory", place=place), place),), order, place)
        if source is not None:
            return ev.volatile(source.kind, place, frame)
    if name == "__call__":
        return Member(base, "", "call", place)
    return methods.call_unknown(ev, base, name, arguments, place, frame)


def _string_template(ev: Evaluator, base: CallResult, arguments: Arguments, place: Place) -> Value:
    if not base.arguments.positional:
        return Unknown("template")
    text = ev.force(base.arguments.positional[0])
    values, places = variables(ev, arguments, place)
    return strings.substitute(text, strings.lookup_in(values, places, ev), ev)


def variables(ev: Evaluator, arguments: Arguments, place: Place) -> tuple[dict[str, Value], dict[str, Place | None]]:
    """Template variables given as one mapping, as keywords, or both."""
    values: dict[str, Value] = {}
    places: dict[str, Place | None] = {}
    for given in arguments.positional[:1]:
        mapping = ev.force(given)
        if isinstance(mapping, MapValue):
            for key, value in mapping.entries.items():
                values[str(key)] = value
                places[str(key)] = _own_place(value) or (given.place if isinstance(given, Lazy) else place)
    for key, given in arguments.keywords.items():
        values[key] = ev.force(given)
        places[key] = given.place if isinstance(given, Lazy) else place
    return values, places


def _own_place(value: Value) -> Place | None:
    place = getattr(value, "place", None)
    return place if isinstance(place, Place) else None


def _template_method(
    ev: Evaluator, base: CallResult, shape: TemplateShape, name: str, arguments: Arguments, place: Place
) -> Value:
    if name in shape.partial:
        return CallResult(
            base.dotted, base.arguments, base.place, base.function, {**base.extra, **_keywords(ev, arguments)}
        )
    if name in shape.render:
        values, places = variables(ev, arguments, place)
        return rendered(ev, base, values, places)
    if name in _SAME:
        return base
    if name in ("append", "extend"):
        return base
    return Member(Member(base, name, "attribute", place), "", "call", place)


def _keywords(ev: Evaluator, arguments: Arguments) -> dict[str, Value]:
    return {key: ev.force(value) for key, value in arguments.keywords.items()}


def rendered(ev: Evaluator, base: CallResult, values: Mapping[str, Value], places: Mapping[str, Place | None]) -> Value:
    """A template with its variables filled in: text, or a list of messages."""
    found = ev.sdks.template(base.dotted)
    if found is None:
        return Unknown("template")
    shape = found[1]
    source = ev.world.argument(base.arguments, shape.source, ev)
    engine = _engine(ev, base, shape)
    if source is None or engine not in ENGINES:
        return Unknown("template", tuple(values.values()))
    fixed = dict(base.extra)
    if shape.partial_argument is not None:
        partial = ev.world.argument(base.arguments, (shape.partial_argument,), ev)
        if isinstance(partial, MapValue):
            fixed.update({str(key): value for key, value in partial.entries.items()})
    bound = {name: _called(ev, value) for name, value in {**fixed, **values}.items()}
    filling = _Filling(ev, bound, places, engine)
    if shape.kind == "text":
        return filling.text(source)
    return _chat(ev, source, shape, filling)


class _Filling:
    """A template's variables and the engine that puts them into text."""

    def __init__(
        self, ev: Evaluator, bound: Mapping[str, Value], places: Mapping[str, Place | None], engine: str
    ) -> None:
        self.ev = ev
        self.bound = bound
        self.places = places
        self.engine = engine

    def text(self, source: Value) -> Value:
        """A text with its variables filled in."""
        if self.engine == "jinja2":
            place = _own_place(source) or Place("", 0, 0)
            if not isinstance(source, TextValue):
                return Unknown("template", (source,))
            return jinja.render(
                self.ev, JinjaTemplate(source, None, place), jinja.Context(self.bound, open=True), place, None
            )
        lookup = strings.lookup_in(self.bound, self.places, self.ev)
        if self.engine == "mustache":
            return mustache.fill(source, lookup, self.ev)
        braces.note(source, self.ev)
        return strings.format_fields(source, lookup, self.ev)


def _called(ev: Evaluator, value: Value) -> Value:
    """Partial variables may be functions that are called on each rendering."""
    return ev.world.call(value, None, ev) if isinstance(value, (Function, Method)) else value


def _engine(ev: Evaluator, base: CallResult, shape: TemplateShape) -> str:
    if shape.format_argument is None:
        return shape.format
    given = ev.world.argument(base.arguments, (shape.format_argument,), ev)
    return shape.format if given is None else plain(given) or "unknown"


def _chat(ev: Evaluator, source: Value, shape: TemplateShape, filling: _Filling) -> Value:
    if isinstance(source, TextValue):
        source = Sequence("list", (source,))
    if not isinstance(source, Sequence):
        return Unknown("template", (source,))
    items: list[Item] = []
    for item in source.items:
        items.extend(_chat_item(ev, item, shape, filling))
    return Sequence("list", tuple(items), None, source.place)


def _chat_item(ev: Evaluator, item: Item, shape: TemplateShape, filling: _Filling) -> list[Item]:
    if isinstance(item, TextValue):
        return [_message(literal("user"), filling.text(item), item)]
    if isinstance(item, Sequence) and len(item.items) == 2:
        role, text = item.items
        return _pair(ev, role, text, filling, item.place)
    if isinstance(item, MapValue) and "content" in item.entries:
        entries = {**item.entries, "content": _filled(item.entries["content"], filling)}
        return [MapValue(entries, item.rest, item.place)]
    if isinstance(item, CallResult):
        return _object(ev, item, shape, filling)
    return [item]


def _pair(ev: Evaluator, role: Item, text: Item, filling: _Filling, place: Place | None) -> list[Item]:
    if not isinstance(role, Value) or not isinstance(text, Value):
        return [Splice(Unknown("message"), place)]
    name = plain(role)
    if isinstance(role, External):
        message = ev.sdks.message(role.dotted)
        name = message[1].role if message is not None else None
    if name is None:
        return [Splice(Unknown("message"), place)]
    if name == "placeholder":
        return [_placeholder((plain(text) or "").strip("{}"), filling.bound, place)]
    return [MapValue({"role": literal(_ROLES.get(name, name)), "content": _filled(text, filling)}, (), place)]


def _filled(content: Value, filling: _Filling) -> Value:
    if isinstance(content, Sequence):
        blocks = [_filled_block(block, filling) for block in content.items]
        return Sequence(content.kind, tuple(blocks), content.order, content.place)
    return filling.text(content)


def _filled_block(block: Item, filling: _Filling) -> Item:
    if isinstance(block, MapValue) and "text" in block.entries:
        entries = {**block.entries, "text": filling.text(block.entries["text"])}
        return MapValue(entries, block.rest, block.place)
    return block


def _message(role: Value, content: Value, item: Value) -> Value:
    place = None
    if isinstance(item, TextValue) and item.pieces and isinstance(item.pieces[0], Literal):
        place = item.pieces[0].origin
    return MapValue({"role": role, "content": content}, (), place)


def _placeholder(name: str, bound: Mapping[str, Value], place: Place | None) -> Item:
    given = bound.get(name)
    if isinstance(given, Sequence):
        return Splice(given, place)
    return Splice(Grown("store", place) if given is None else given, place)


def _object(ev: Evaluator, item: CallResult, shape: TemplateShape, filling: _Filling) -> list[Item]:
    found = ev.sdks.message(item.dotted)
    if found is None:
        return [item]
    message = found[1]
    content = ev.world.argument(item.arguments, message.content, ev)
    if message.placeholder:
        return [_placeholder((plain(content) if content is not None else None) or "", filling.bound, item.place)]
    if not (message.template or shape.formats_messages) or content is None:
        return [item]
    if isinstance(content, CallResult):
        content = rendered(ev, content, dict(filling.bound), {})
    role = ev.world.role(item, ev)
    return [MapValue({"role": literal(role or "user"), "content": _filled(content, filling)}, (), item.place)]
