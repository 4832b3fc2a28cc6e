"""Facts and texts kept as bytes until they are asked for.

Of a large project's functions a run evaluates one in ten; as nested tuples their facts take nine times
the memory that their bytes take, and three times less again compressed.
"""

from __future__ import annotations

import marshal
import zlib
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from promptopt.readers.facts import Module, ParameterFact, Scope
from promptopt.source import SourceFile

PLAIN_BYTES: Final = 48_000_000
"""Facts and texts of one run that are kept as they are; what comes after them is compressed, which takes time."""

_PACKED: Final = ("params", "body", "calls", "docstring")
_KEPT: Final = tuple(field.name for field in fields(Scope) if field.name not in _PACKED)
_OF_SOURCE: Final = tuple(field.name for field in fields(SourceFile) if field.name != "text")
_FASTEST: Final = 1


class _Facts:
    """The packed scopes of one module, all compressed together or each by itself; `opened` are those unpacked."""

    __slots__ = ("_compressed", "_parts", "opened")

    def __init__(self, parts: tuple[bytes, ...], *, compress: bool) -> None:
        self._compressed = zlib.compress(marshal.dumps(parts), _FASTEST) if compress else None
        self._parts: tuple[bytes, ...] | None = None if compress else parts
        self.opened: list[PackedScope] = []

    def part(self, number: int) -> bytes:
        """The facts of one scope."""
        parts = self._parts
        if parts is None:
            parts = self._parts = marshal.loads(zlib.decompress(self._compressed or b""))  # noqa: S302 (our own dump)
        return parts[number]

    def release(self) -> None:
        """Give back what was unpacked; it unpacks again when it is asked for."""
        for scope in self.opened:
            for name in _PACKED:
                delattr(scope, name)
        self.opened.clear()
        if self._compressed is not None:
            self._parts = None


class PackedScope(Scope):
    """A scope that unpacks its parameters, body and calls at first use."""

    __slots__ = ("facts", "number")
    facts: _Facts
    number: int

    def __getattr__(self, name: str) -> Any:
        # called for slots that are not set; unpacking sets them all
        if name not in _PACKED:
            raise AttributeError(name)
        params, *others = marshal.loads(self.facts.part(self.number))  # noqa: S302 (our own dump)
        self.params = tuple([ParameterFact(*param) for param in params])
        self.body, self.calls, self.docstring = others
        self.facts.opened.append(self)
        return getattr(self, name)


class PackedSource(SourceFile):
    """A file whose text is kept compressed."""

    __slots__ = ("packed",)
    packed: bytes

    def __getattr__(self, name: str) -> Any:
        # called for slots that are not set
        if name != "text":
            raise AttributeError(name)
        return _text(self.packed)


@lru_cache(maxsize=64)
def _text(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


def release(module: Module) -> None:
    """Give back what was unpacked of a module."""
    scope = module.scopes[0]
    if isinstance(scope, PackedScope):
        scope.facts.release()


class Packer:
    """Packs what one run reads: the first `plain` bytes are not compressed."""

    def __init__(self, plain: int = PLAIN_BYTES) -> None:
        self._left = plain
        self._places: dict[tuple[int, int], tuple[int, int]] = {}

    def compress_all(self) -> None:
        """Compress whatever comes from now on."""
        self._left = 0

    def module(self, module: Module) -> Module:
        """The module with packed scopes."""
        parts = tuple([_dumped(scope) for scope in module.scopes])
        facts = _Facts(parts, compress=not self._fits(sum(map(len, parts))))
        scopes = tuple([_packed(scope, facts, number) for number, scope in enumerate(module.scopes)])
        shared = self._places.setdefault
        calls = {
            name: tuple([shared(place, place) for place in places]) for name, places in module.calls_by_name.items()
        }
        return Module(module.path, scopes, calls, module.imports)

    def source(self, source: SourceFile) -> SourceFile:
        """The file, with its text packed where it has to be."""
        if self._fits(len(source.text)):
            return source
        packed = PackedSource.__new__(PackedSource)
        for name in _OF_SOURCE:
            object.__setattr__(packed, name, getattr(source, name))
        text = source.text.encode("utf-8", "surrogatepass")
        object.__setattr__(packed, "packed", zlib.compress(text, _FASTEST))
        return packed

    def _fits(self, size: int) -> bool:
        self._left -= size
        return self._left >= 0


def _dumped(scope: Scope) -> bytes:
    params = [(one.name, one.kind, one.start, one.end, one.default, one.annotation) for one in scope.params]
    return marshal.dumps((params, scope.body, scope.calls, scope.docstring))


def _packed(scope: Scope, facts: _Facts, number: int) -> PackedScope:
    packed = PackedScope.__new__(PackedScope)
    for name in _KEPT:
        setattr(packed, name, getattr(scope, name))
    packed.facts, packed.number = facts, number
    return packed
