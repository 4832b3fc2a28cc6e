"""Facts kept as bytes until they are asked for.

Of a large project's functions a run evaluates one in ten; as nested tuples their facts take nine times
the memory that their bytes take.
"""

from __future__ import annotations

import marshal
from contextlib import suppress
from dataclasses import fields
from typing import Any, Final

from promptopt.readers.facts import Module, Scope

_PACKED: Final = ("body", "calls", "docstring")
_KEPT: Final = tuple(field.name for field in fields(Scope) if field.name not in _PACKED)


class PackedScope(Scope):
    """A scope that unpacks its body and calls at first use."""

    __slots__ = ("packed",)
    packed: bytes

    def __getattr__(self, name: str) -> Any:
        # called for slots that are not set; unpacking sets them all
        if name not in _PACKED:
            raise AttributeError(name)
        for part, value in zip(_PACKED, marshal.loads(self.packed), strict=True):  # noqa: S302 (our own dump)
            setattr(self, part, value)
        return getattr(self, name)

    def release(self) -> None:
        """Give the unpacked parts back; they unpack again when they are asked for."""
        with suppress(AttributeError):
            for name in _PACKED:
                delattr(self, name)


def release(module: Module) -> None:
    """Release all scopes of a module."""
    for scope in module.scopes:
        if isinstance(scope, PackedScope):
            scope.release()


def pack(module: Module) -> Module:
    """The module with packed scopes."""
    return Module(module.path, tuple([_packed(scope) for scope in module.scopes]), module.calls_by_name, module.imports)


def _packed(scope: Scope) -> PackedScope:
    packed = PackedScope.__new__(PackedScope)
    for name in _KEPT:
        setattr(packed, name, getattr(scope, name))
    packed.packed = marshal.dumps(tuple([getattr(scope, name) for name in _PACKED]))
    return packed
