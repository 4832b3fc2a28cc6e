"""Methods of texts, lists and mappings, and of values of unknown type."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from promptopt.project import braces, guards, indexing, members, strings
from promptopt.project.targets import last_name
from promptopt.project.values import (
    NONE,
    AgainItems,
    Alternatives,
    Arguments,
    Constant,
    Derived,
    Hole,
    Item,
    Lazy,
    Literal,
    MapValue,
    Member,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    alternatives,
    constant_key,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame


def call(ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    """A method of a text, list or mapping."""
    if isinstance(base, TextValue):
        handler = _TEXT.get(name)
        if handler is not None:
            return handler(ev, base, arguments, place)
        if name in strings.SIMPLE_METHODS:
            return strings.transform(base, strings.SIMPLE_METHODS[name])
    elif isinstance(base, MapValue):
        mapping = _MAP.get(name)
        if mapping is not None:
            return mapping(ev, base, arguments, place)
    elif isinstance(base, Sequence) and name in ("copy", "__iter__"):
        return base
    elif isinstance(base, Sequence) and name in ("pop", "popleft"):
        key = ev.force(arguments.positional[0]) if arguments.positional else Constant(-1 if name == "pop" else 0)
        return indexing.item(ev, base, key, place)
    elif isinstance(base, Sequence) and base.kind == "set" and name in ("union", "intersection", "difference"):
        return Sequence("set", (*base.items, *(Splice(ev.force(a)) for a in arguments.positional)), base.order, place)
    return call_unknown(ev, base, name, arguments, place, frame)


def call_unknown(
    ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place, _frame: Frame | None
) -> Value:
    """A method of a value of unknown type: what it keeps is decided by its name."""
    carried_out = _carried_out(ev, base, name, arguments, place)
    if carried_out is not None:
        return carried_out
    owner = members.identifier(base)
    source = ev.sources.member(owner, name) if owner is not None else None
    if source is not None:
        return ev.volatile(source.kind, place, None, by_name=True)
    order = ev.sources.member("", name) if name in ("iterdir", "rglob") else None
    if order is not None:
        return Sequence("list", (Splice(Derived(name, (base,), place)),), ev.volatile(order.kind, place, None), place)
    if ev.sources.sizes(name):
        return Derived("size", (base,), place)
    if ev.sources.passes_method(name):
        return Derived(name, (base, *everything(ev, arguments)), place)
    if ev.sources.looks_up(name) or any(map(_names_id, (*arguments.positional, *arguments.keywords.values()))):
        return Derived("lookup", members.keys_among(everything(ev, arguments)), place)
    return Member(Member(base, name, "attribute", place), "", "call", place)


def _carried_out(ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place) -> Value | None:
    """What methods of texts and mappings return that keep what they say, whatever they are called on."""
    if name == "replace" and len(arguments.positional) == 2:
        old, new = (ev.force(argument) for argument in arguments.positional)
        return strings.replace(base, old, new, place, ev)
    if name == "replace" and arguments.keywords.keys() >= members.OF_A_DAY:
        return members.set_back(ev, base, frozenset(arguments.keywords), place)
    if name == "join" and arguments.positional:
        return strings.join(base, ev.force(arguments.positional[0]), place, ev.text(place))
    if name == "get" and arguments.positional:
        is_key = constant_key(ev.force(arguments.positional[0])) is not ...
        found = None if is_key else members.kept_under(ev, base, everything(ev, arguments), place)
        return found or _get_unknown(ev, base, arguments, place)
    if name == "copy" and not (arguments.positional or arguments.keywords):
        return base
    if name in ("encode", "decode") and len(arguments.positional) == 1:
        return _tokens(ev, base, name, arguments, place)
    return None


def _names_id(argument: Lazy | Value) -> bool:
    """Whether an argument is written as an id: `conversation.document_id`."""
    if not isinstance(argument, Lazy):
        return members.is_id(argument)
    expression = argument.expression
    return expression[0] in ("name", "attr") and members.is_id_name(last_name(expression))


def _tokens(ev: Evaluator, base: Value, name: str, arguments: Arguments, place: Place) -> Value:
    """A tokenizer's `encode` and `decode`: text that is cut to a number of tokens stays the text."""
    given = ev.force(arguments.positional[0])
    if name == "encode":
        return Derived("tokens", (given, base), place)
    if isinstance(given, Derived) and given.how == "tokens":
        return given.inputs[0]
    return Derived("decode", (base, given), place)


def everything(ev: Evaluator, arguments: Arguments) -> tuple[Value, ...]:
    """All argument values."""
    given = (*arguments.positional, *arguments.keywords.values(), *arguments.rest)
    return tuple(ev.force(value) for value in given)


def _get_unknown(ev: Evaluator, base: Value, arguments: Arguments, place: Place) -> Value:
    found = indexing.item(ev, base, ev.force(arguments.positional[0]), place)
    if len(arguments.positional) < 2:
        return found
    default = ev.force(arguments.positional[1])
    return found if default is NONE else alternatives(ev.text(place), (found, default))


def _format(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
    values: dict[str, Value] = {}
    places: dict[str, Place | None] = {}
    for index, given in enumerate(arguments.positional):
        values[str(index)] = ev.force(given)
        places[str(index)] = given.place if isinstance(given, Lazy) else place
    for key, given in arguments.keywords.items():
        values[key] = ev.force(given)
        places[key] = given.place if isinstance(given, Lazy) else place
    rest = [ev.force(value) for value in arguments.rest]
    lookup = strings.lookup_in(values, places, ev, spread=place)
    braces.note(base, ev)
    return strings.format_fields(base, _with_rest(ev, lookup, values, rest, place), ev)


def _with_rest(
    ev: Evaluator, lookup: strings.Lookup, values: dict[str, Value], rest: list[Value], place: Place
) -> strings.Lookup:
    if not rest:
        return lookup

    def found(name: str, where: Place | None) -> Hole | TextValue:
        if name in values:
            return lookup(name, where)
        return Hole(members.named_member(ev, rest[0], name, "item", where), where, name, place)

    return found


def _format_map(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
    mapping = ev.force(arguments.positional[0]) if arguments.positional else Unknown("argument")
    if not isinstance(mapping, MapValue):
        return _format(ev, base, Arguments((), {}, (mapping,)), place)
    keywords = {str(key): value for key, value in mapping.entries.items()}
    return _format(ev, base, Arguments((), keywords, mapping.rest), place)


def _join(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
    given = arguments.positional[0] if arguments.positional else Unknown("argument")
    where = given.place if isinstance(given, Lazy) else place
    return strings.join(base, ev.force(given), where, ev.text(where))


def _replace(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
    if len(arguments.positional) < 2:
        return Unknown("replace", (base,))
    new = arguments.positional[1]
    where = new.place if isinstance(new, Lazy) else place
    return strings.replace(base, ev.force(arguments.positional[0]), ev.force(new), where, ev)


def _strip(sides: str) -> Callable[[Evaluator, TextValue, Arguments, Place], Value]:
    def strip(ev: Evaluator, base: TextValue, arguments: Arguments, _place: Place) -> Value:
        characters = plain(ev.force(arguments.positional[0])) if arguments.positional else None
        return strings.strip(base, characters, sides)

    return strip


def _whole(method: Callable[..., object]) -> Callable[[Evaluator, TextValue, Arguments, Place], Value]:
    """A method that needs the whole text and constant arguments."""

    def apply(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
        text = plain(base)
        keys = [constant_key(ev.force(argument)) for argument in arguments.positional]
        if text is None or ... in keys or arguments.keywords:
            return Derived("method", (base, *everything(ev, arguments)), place)
        return _lifted(method(text, *keys), place, base)

    return apply


def _cut_at_mark(whole: Callable[..., object]) -> Callable[[Evaluator, TextValue, Arguments, Place], Value]:
    """`split(mark, 1)` and `partition(mark)` of text that is not all known: at a mark in its constant stretches."""
    known = _whole(whole)

    def cut(ev: Evaluator, base: TextValue, arguments: Arguments, place: Place) -> Value:
        mark = plain(ev.force(arguments.positional[0])) if arguments.positional else None
        given = arguments.positional[1:2] or tuple(arguments.keywords.values())
        once = whole is str.partition or [constant_key(ev.force(one)) for one in given] == [1]
        halves = strings.cut_at(base, mark) if mark and once and plain(base) is None else None
        if halves is None:
            return known(ev, base, arguments, place)
        before, between, after = halves
        items = (before, between, after) if whole is str.partition else (before, after)
        return Sequence("tuple" if whole is str.partition else "list", items, None, place)

    return cut


def _lifted(result: object, place: Place, base: TextValue) -> Value:
    origin = base.pieces[0].origin if base.pieces and isinstance(base.pieces[0], Literal) else place
    if isinstance(result, str):
        return TextValue((Literal(result, origin, -1),)) if result else TextValue(())
    if isinstance(result, (list, tuple)):
        return Sequence("list", tuple(literal(str(one), None) for one in result))
    return Constant(result) if isinstance(result, (int, bool)) else Unknown("method")


def _encode(_ev: Evaluator, base: TextValue, _arguments: Arguments, _place: Place) -> Value:
    return base


_TEXT: Final[dict[str, Callable[[Evaluator, TextValue, Arguments, Place], Value]]] = {
    "format": _format,
    "format_map": _format_map,
    "join": _join,
    "replace": _replace,
    "strip": _strip("lr"),
    "lstrip": _strip("l"),
    "rstrip": _strip("r"),
    "split": _cut_at_mark(str.split),
    "rsplit": _whole(str.rsplit),
    "splitlines": _whole(str.splitlines),
    "partition": _cut_at_mark(str.partition),
    "rpartition": _whole(str.rpartition),
    "removeprefix": _whole(str.removeprefix),
    "removesuffix": _whole(str.removesuffix),
    "startswith": _whole(str.startswith),
    "endswith": _whole(str.endswith),
    "zfill": _whole(str.zfill),
    "ljust": _whole(str.ljust),
    "rjust": _whole(str.rjust),
    "center": _whole(str.center),
    "encode": _encode,
    "decode": _encode,
}


def _get(ev: Evaluator, base: MapValue, arguments: Arguments, place: Place) -> Value:
    if not arguments.positional:
        return Unknown("argument")
    key = ev.force(arguments.positional[0])
    name = constant_key(key)
    default = ev.force(arguments.positional[1]) if len(arguments.positional) > 1 else NONE
    if name is not ... and name in base.entries:
        return base.entries[name]
    if name is not ... and not base.rest:
        return default
    allowed = guards.possible_keys(ev, arguments.positional[0]) if name is ... else None
    if allowed and allowed <= base.entries.keys():
        chosen = {plain(one) or id(one): one for key, one in base.entries.items() if key in allowed}
        values = tuple(chosen.values())
        return values[0] if len(values) == 1 else Alternatives(ev.text(place), values)
    found = indexing.item(ev, base, key, place)
    return found if default is NONE else alternatives(ev.text(place), (found, default), limit=indexing.MAX_DISPATCH)


def _items(ev: Evaluator, base: MapValue, _arguments: Arguments, place: Place) -> Value:
    pairs = tuple(Sequence("tuple", (_key(key), value)) for key, value in base.entries.items())
    rest = (_spread(one, "items", lambda v: Sequence("tuple", (Unknown("key"), v)), place) for one in base.rest)
    return Sequence("list", (*pairs, *rest), None, place)


def _spread(rest: Value, method: str, entry: Callable[[Value], Value], place: Place) -> Item:
    """What a part of a mapping contributes to its items: nothing is known of the keys under which a value was set."""
    if isinstance(rest, Derived) and rest.how == "entry":
        return AgainItems("", Unknown("keys"), "", (entry(rest.inputs[0]),))
    return Splice(Member(rest, method, "call", place))


def _key(key: object) -> Value:
    return literal(key) if isinstance(key, str) else Constant(key)  # type: ignore[arg-type]  # keys are constants


def _keys(_ev: Evaluator, base: MapValue, _arguments: Arguments, place: Place) -> Value:
    rest = (_spread(one, "keys", lambda _: Unknown("key"), place) for one in base.rest)
    return Sequence("list", (*map(_key, base.entries), *rest), None, place)


def _values(_ev: Evaluator, base: MapValue, _arguments: Arguments, place: Place) -> Value:
    rest = (_spread(one, "values", lambda value: value, place) for one in base.rest)
    return Sequence("list", (*base.entries.values(), *rest), None, place)


def _same(_ev: Evaluator, base: MapValue, _arguments: Arguments, _place: Place) -> Value:
    return base


_MAP: Final[dict[str, Callable[[Evaluator, MapValue, Arguments, Place], Value]]] = {
    "get": _get,
    "pop": _get,
    "setdefault": _get,
    "items": _items,
    "keys": _keys,
    "values": _values,
    "copy": _same,
    "model_dump": _same,
    "dict": _same,
}


def dedented(text: TextValue, *, clean: bool) -> Value:
    """`textwrap.dedent` or, with `clean`, `inspect.cleandoc`."""
    return strings.transform(text, _cleandoc if clean else textwrap.dedent)


def _cleandoc(text: str) -> str:
    lines = text.expandtabs().split("\n")
    rest = textwrap.dedent("\n".join(lines[1:])).split("\n")
    return "\n".join([lines[0].lstrip(), *rest]).strip("\n")
