"""Jinja's filters (3.1.6), by what they leave of a value; others are not known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from promptopt.project import indexing, members, strings
from promptopt.project.values import (
    Constant,
    Derived,
    MapValue,
    Place,
    Sequence,
    TextValue,
    Unknown,
    Value,
    Variable,
    Volatile,
    alternatives,
    constant_key,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame


class Given(NamedTuple):
    """What a filter is given besides the value, and where it stands."""

    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]
    place: Place
    frame: Frame

    def argument(self, index: int, name: str) -> Value | None:
        """An argument by position or keyword."""
        return self.positional[index] if index < len(self.positional) else self.keywords.get(name)


def apply(ev: Evaluator, name: str, value: Value, given: Given) -> Value:
    """The filtered value."""
    handler = _FILTERS.get(name)
    if handler is not None:
        return handler(ev, value, given)
    if name in _KEEPING:
        return value
    if name in _DERIVING:
        return Derived(name, (value, *given.positional), given.place)
    if isinstance(value, Volatile):
        return _moment(ev, value, given)
    return Unknown("filter", (value, *given.positional), place=given.place)


def _moment(ev: Evaluator, value: Volatile, given: Given) -> Value:
    """A filter of the project's own on a time: its first argument is how it is printed."""
    directives = plain(given.positional[0]) if given.positional else None
    return members.formatted(ev, value, "strftime", directives, given.place, given.frame)


def _trim(_ev: Evaluator, value: Value, given: Given) -> Value:
    characters = given.argument(0, "chars")
    text = plain(characters) if characters is not None else None
    return strings.strip(value, text, "lr") if isinstance(value, TextValue) else value


def _transformed(change: Callable[[str], str]) -> Callable[[Evaluator, Value, Given], Value]:
    def apply_to(_ev: Evaluator, value: Value, _given: Given) -> Value:
        return strings.transform(value, change) if isinstance(value, TextValue) else value

    return apply_to


def _replace(ev: Evaluator, value: Value, given: Given) -> Value:
    old, new = given.argument(0, "old"), given.argument(1, "new")
    return value if old is None or new is None else strings.replace(value, old, new, given.place, ev)


def _default(ev: Evaluator, value: Value, given: Given) -> Value:
    """The default where a variable is not given; which of the two it is, nothing here tells."""
    default = given.argument(0, "default_value") or literal("")
    if isinstance(value, Variable):
        return alternatives(ev.text(given.place), (value, default))
    boolean = given.argument(1, "boolean")
    empty = isinstance(value, Constant) and not value.value
    return default if empty and isinstance(boolean, Constant) and boolean.value else value


def _join(ev: Evaluator, value: Value, given: Given) -> Value:
    if given.argument(1, "attribute") is not None:
        return Derived("join", (value,), given.place)
    separator = given.argument(0, "d") or literal("")
    return strings.join(separator, value, given.place, ev.text(given.place))


def _json(_ev: Evaluator, value: Value, given: Given) -> Value:
    """Jinja sorts the keys of what it prints as JSON."""
    return Derived("json", (value,), given.place, ordered=True)


def _size(_ev: Evaluator, value: Value, given: Given) -> Value:
    return Derived("size", (value,), given.place)


def _sorted(_ev: Evaluator, value: Value, given: Given) -> Value:
    if isinstance(value, Sequence):
        return Sequence("list", value.items, None, given.place)
    return Derived("sorted", (value,), given.place)


def _items(ev: Evaluator, value: Value, given: Given) -> Value:
    if not isinstance(value, MapValue) or value.rest:
        return Derived("sorted", (value,), given.place)
    pairs = [(literal(key) if isinstance(key, str) else Constant(key), one) for key, one in value.entries.items()]
    return Sequence("list", tuple(Sequence("tuple", pair) for pair in pairs), None, given.place)


def _at(index: int) -> Callable[[Evaluator, Value, Given], Value]:
    return lambda ev, value, given: indexing.item(ev, value, Constant(index), given.place)


def _indent(_ev: Evaluator, value: Value, given: Given) -> Value:
    if not isinstance(value, TextValue):
        return value
    width = given.argument(0, "width")
    number = constant_key(width) if width is not None else 4
    margin = number if isinstance(number, str) else " " * (number if isinstance(number, int) else 4)
    return strings.transform(value, lambda text: text.replace("\n", f"\n{margin}"))


def _format(ev: Evaluator, value: Value, given: Given) -> Value:
    if not isinstance(value, TextValue):
        return Derived("%", (value, *given.positional), given.place)
    return strings.format_percent(value, Sequence("tuple", given.positional), given.place, ev)


def _random(ev: Evaluator, _value: Value, given: Given) -> Value:
    return ev.volatile("random-value", given.place, given.frame)


def _attribute(ev: Evaluator, value: Value, given: Given) -> Value:
    name = plain(given.positional[0]) if given.positional else None
    return ev.attribute(value, name, given.place) if name else Derived("attr", (value,), given.place)


_KEEPING: Final = frozenset(
    {"safe", "e", "escape", "forceescape", "string", "list", "striptags", "urlencode", "pprint"}
)
_DERIVING: Final = frozenset(
    {
        "abs", "batch", "center", "filesizeformat", "float", "groupby", "int", "map", "max", "min", "reject",
        "rejectattr", "reverse", "round", "select", "selectattr", "slice", "sum", "truncate", "unique", "urlize",
        "wordwrap", "xmlattr",
    }
)  # fmt: skip

_FILTERS: Final[dict[str, Callable[[Evaluator, Value, Given], Value]]] = {
    "trim": _trim,
    "upper": _transformed(str.upper),
    "lower": _transformed(str.lower),
    "title": _transformed(str.title),
    "capitalize": _transformed(str.capitalize),
    "replace": _replace,
    "default": _default,
    "d": _default,
    "join": _join,
    "tojson": _json,
    "length": _size,
    "count": _size,
    "wordcount": _size,
    "sort": _sorted,
    "dictsort": _items,
    "items": _items,
    "first": _at(0),
    "last": _at(-1),
    "indent": _indent,
    "format": _format,
    "random": _random,
    "attr": _attribute,
}
