"""Any SDK's objects as the mappings, lists and scalars that are sent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final

_DEEPEST: Final = 60
"""Levels of nesting; JSON schemas of tools have about ten."""


def plain(value: object, depth: int = 0) -> Any:
    """The value as JSON has it: mappings for objects, lists for sequences; bytes stay bytes, None's are left out.

    Raises:
        ValueError: it nests without end.
    """
    if depth > _DEEPEST:
        raise ValueError(f"it nests deeper than {_DEEPEST} levels")
    if value is None or isinstance(value, str | int | float | bool | bytes):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    members = _members(value)
    if members is not None:
        return {str(key): plain(member, depth + 1) for key, member in members.items() if member is not None}
    if isinstance(value, Iterable):
        return [plain(element, depth + 1) for element in value]
    return str(value)


def _members(value: object) -> Mapping[Any, Any] | None:
    """What an object is made of; None where it is no object with parts."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
        return {"name": value.__name__, "description": value.__doc__}
    for dump in ("model_dump", "to_dict", "dict"):
        method = getattr(type(value), dump, None)
        if callable(method):
            with warnings.catch_warnings():  # pydantic's about fields that hold more than they declare
                warnings.simplefilter("ignore")
                dumped = method(value)
            if isinstance(dumped, Mapping):
                return dumped
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Iterable) or not hasattr(value, "__dict__"):
        return None
    return {name: member for name, member in vars(value).items() if not name.startswith("_")}
