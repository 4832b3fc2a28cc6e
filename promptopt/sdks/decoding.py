"""Strict decoding of parsed TOML into frozen dataclasses.

The dataclass is the schema: a key it does not know, a required key that is missing or a value of
another type is refused with the path of the key. Nothing is converted but arrays to tuples.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodingError(ValueError):
    """A table does not fit its dataclass; the message names the key and what is wrong with it."""


def decode(schema: type[T], table: object, key: str = "") -> T:
    """An instance of the dataclass `schema` made from `table`; `key` is where the table stands.

    Raises:
        DecodingError: unknown or missing key, or a value of another type.
    """
    if not isinstance(table, dict):
        raise DecodingError(f"{key}: expected a table, got {_type_name(table)}")
    known = _fields(cast(Hashable, schema))
    for name in table:
        if name not in known:
            raise DecodingError(f"{_join(key, name)}: unknown key{_suggestion(name, known)}")
    hints = _hints(cast(Hashable, schema))
    missing = [name for name, item in known.items() if name not in table and _is_required(item)]
    if missing:
        raise DecodingError(f"{_join(key, missing[0])}: missing; every {schema.__name__} needs it")
    return schema(**{name: _value(hints[name], value, _join(key, name)) for name, value in table.items()})


@cache
def _fields(schema: Hashable) -> dict[str, Field[Any]]:
    return {item.name: item for item in fields(cast(Any, schema))}


@cache
def _hints(schema: Hashable) -> dict[str, Any]:
    return get_type_hints(cast(Any, schema))


def _value(hint: Any, value: object, key: str) -> Any:
    if is_dataclass(hint):
        return decode(cast("type[Any]", hint), value, key)
    origin = get_origin(hint)
    if origin is tuple:
        return _items(get_args(hint)[0], value, key)
    if origin is dict:
        return _mapping(get_args(hint)[1], value, key)
    if not _is_instance(hint, value):
        raise DecodingError(f"{key}: expected {_describe(hint)}, got {value!r}")
    return value


def _items(hint: Any, value: object, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise DecodingError(f"{key}: expected an array, got {_type_name(value)}")
    return tuple(_value(hint, item, f"{key}[{n}]") for n, item in enumerate(value))


def _mapping(hint: Any, value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DecodingError(f"{key}: expected a table, got {_type_name(value)}")
    return {name: _value(hint, item, _join(key, name)) for name, item in value.items()}


def _is_instance(hint: Any, value: object) -> bool:
    origin = get_origin(hint)
    if origin is Literal:
        return value in get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_is_instance(choice, value) for choice in get_args(hint))
    return type(value) is hint


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    choices = [choice for choice in get_args(hint) if choice is not type(None)]
    if choices:
        return " or ".join(map(_describe, choices))
    return str(hint.__name__)


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _suggestion(name: str, known: dict[str, Field[Any]]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known keys are {', '.join(known)}"


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _type_name(value: object) -> str:
    return type(value).__name__
