"""Seeing calls of a method or function, whatever stands in its place at that moment, and leaving no trace.

The attribute itself stays as it is: what is changed is how it is looked up, so that a replacement is seen, too, be it
put into a class, an object or a module, before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Wrap = Callable[[Any, str, Any], Any]
"""Given the owner, the attribute's name and what stands there, what is handed out instead."""


def watch_class(owner: type, names: Mapping[str, Wrap]) -> Callable[[], None]:
    """Hand out wrapped attributes of a class's objects; the function that is returned ends it."""
    own = vars(owner).get("__getattribute__")
    found: Any = owner.__getattribute__

    def lookup(self: Any, name: str) -> Any:
        value = found(self, name)
        wrap = names.get(name)
        return value if wrap is None else wrap(self, name, value)

    owner.__getattribute__ = lookup  # type: ignore[assignment, method-assign]

    def end() -> None:
        if own is None:
            del owner.__getattribute__
        else:
            owner.__getattribute__ = own  # type: ignore[method-assign]

    return end


def watch_module(module: ModuleType, names: Mapping[str, Wrap]) -> Callable[[], None]:
    """Hand out wrapped functions of a module to those who ask the module for them; the returned function ends it."""
    kind = type(module)

    class Watched(kind):  # type: ignore[misc, valid-type]  # a module's type may be the library's own
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            wrap = names.get(name)
            return value if wrap is None else wrap(self, name, value)

    module.__class__ = Watched

    def end() -> None:
        module.__class__ = kind

    return end


def watch_global(module: ModuleType, name: str, wrap: Wrap) -> Callable[[], None]:
    """Put a wrapped function into the place of one that its module calls itself; the returned function ends it."""
    value = vars(module)[name]
    wrapped = wrap(module, name, value)
    setattr(module, name, wrapped)

    def end() -> None:
        if vars(module).get(name) is wrapped:
            setattr(module, name, value)

    return end
