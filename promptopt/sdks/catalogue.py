"""The SDK files as one catalogue that answers look-ups of resolved dotted names.

Every look-up is one dictionary access by the last component and a comparison with the few patterns
that end in it; of several that fit, the one with the longest suffix is the answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeAlias, TypeVar

from promptopt.sdks.decoding import DecodingError, decode
from promptopt.sdks.schema import (
    PARAMETERS,
    BlockShape,
    CallShape,
    ClientShape,
    EngineShape,
    HookShape,
    KeepingShape,
    MessageShape,
    RerankerShape,
    RetrieverShape,
    RetrieverUseShape,
    Sdk,
    TemplateShape,
)
from promptopt.symbols import Symbol, SymbolIndex, index_parsed, parse_symbol

Shape = TypeVar("Shape")

_ROOT: Final = re.compile(r"[A-Za-z_]\w*\*?")
_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

_Claims: TypeAlias = Iterable[tuple[str, Sdk, Shape]]


class SdkDataError(ValueError):
    """A file of SDK facts is malformed; the message names file and key."""


@dataclass(frozen=True, slots=True)
class SdkCatalogue:
    """All SDK files; a name is dotted and resolved (`openai.AsyncOpenAI`), an answer None or a pair.

    `packages` are the import roots (globs) of all SDKs that send requests. `method_names` are the last components of
    every method, function and constructor that sends a request: a call by another name is none.
    """

    sdks: tuple[Sdk, ...]
    packages: tuple[str, ...]
    method_names: frozenset[str]
    _clients: SymbolIndex[tuple[Sdk, ClientShape]]
    _annotations: SymbolIndex[tuple[Sdk, ClientShape]]
    _functions: SymbolIndex[tuple[Sdk, CallShape]]
    _constructors: SymbolIndex[tuple[Sdk, CallShape]]
    _messages: SymbolIndex[tuple[Sdk, MessageShape]]
    _blocks: SymbolIndex[tuple[Sdk, BlockShape]]
    _templates: SymbolIndex[tuple[Sdk, TemplateShape]]
    _engines: SymbolIndex[tuple[Sdk, EngineShape]]
    _hooks: SymbolIndex[tuple[Sdk, HookShape]]
    _constants: SymbolIndex[tuple[Sdk, str]]
    _retriever_uses: SymbolIndex[tuple[Sdk, RetrieverUseShape]]
    _rerankers: SymbolIndex[tuple[Sdk, RerankerShape]]
    _retrievers: dict[str, tuple[RetrieverShape, ...]]
    _keeping: SymbolIndex[tuple[Sdk, KeepingShape]]
    _methods: dict[tuple[str, str], tuple[Sdk, CallShape]]
    _unmistakable: SymbolIndex[tuple[Sdk, CallShape]]
    _owners: dict[ClientShape, Sdk]

    def client(self, dotted: str) -> tuple[Sdk, ClientShape] | None:
        """The client that calling `dotted` makes."""
        return self._clients.find(dotted)

    def client_annotation(self, dotted: str) -> tuple[Sdk, ClientShape] | None:
        """The client that a parameter annotated with `dotted` holds."""
        return self._annotations.find(dotted)

    def function(self, dotted: str) -> tuple[Sdk, CallShape] | None:
        """The request that calling the function `dotted` sends."""
        return self._functions.find(dotted)

    def constructor(self, dotted: str) -> tuple[Sdk, CallShape] | None:
        """The request that an object made by calling `dotted` will send."""
        return self._constructors.find(dotted)

    def message(self, dotted: str) -> tuple[Sdk, MessageShape] | None:
        """The message that calling `dotted` makes."""
        return self._messages.find(dotted)

    def block(self, dotted: str) -> tuple[Sdk, BlockShape] | None:
        """The content block that calling `dotted` makes."""
        return self._blocks.find(dotted)

    def template(self, dotted: str) -> tuple[Sdk, TemplateShape] | None:
        """The prompt template that calling `dotted` makes."""
        return self._templates.find(dotted)

    def engine(self, dotted: str) -> tuple[Sdk, EngineShape] | None:
        """What of a template engine calling `dotted` makes."""
        return self._engines.find(dotted)

    def hook(self, dotted: str) -> tuple[Sdk, HookShape] | None:
        """The hook that decorating a function with `dotted` registers."""
        return self._hooks.find(dotted)

    def retriever_use(self, dotted: str) -> RetrieverUseShape | None:
        """How calling `dotted` puts what a retriever finds into a prompt."""
        found = self._retriever_uses.find(dotted)
        return found[1] if found else None

    def reranker(self, dotted: str) -> RerankerShape | None:
        """How many passages an object that calling `dotted` makes keeps."""
        found = self._rerankers.find(dotted)
        return found[1] if found else None

    def search(self, method: str, given: Collection[str]) -> RetrieverShape | None:
        """The search of an index that a method of that name is when it is called with these keywords."""
        return next((one for one in self._retrievers.get(method, ()) if set(one.needs) <= set(given)), None)

    @property
    def searching_methods(self) -> Iterable[str]:
        """Names of methods that search an index or make what does."""
        return self._retrievers

    @property
    def retriever_uses(self) -> Iterable[str]:
        """Last names of what puts what a retriever finds into a prompt."""
        return self._retriever_uses.entries

    def keeping(self, dotted: str) -> KeepingShape | None:
        """How `dotted` keeps a conversation; a method of an object of unknown type is `?.name`."""
        found = self._keeping.find(dotted)
        return found[1] if found else None

    @property
    def keeping_names(self) -> Iterable[str]:
        """Last names of what keeps conversations."""
        return self._keeping.entries

    def is_constant(self, dotted: str) -> bool:
        """Whether `dotted` is text that the SDK itself ships."""
        return self._constants.find(dotted) is not None

    def method(self, client: ClientShape | Sdk, path: str) -> tuple[Sdk, CallShape] | None:
        """The request that the attribute path `path` (`chat.completions.create`) of a client sends."""
        sdk = client if isinstance(client, Sdk) else self._owners.get(client)
        return self._methods.get((sdk.name, _without(path, sdk.transparent))) if sdk else None

    def unmistakable(self, path: str) -> tuple[Sdk, CallShape] | None:
        """The request that a call of `path` on a receiver of unknown type must be, from its end.

        Only the shape is certain: the receiver may be any compatible client, so the provider and
        what it caches stay unknown.
        """
        for symbol, (sdk, shape) in self._unmistakable.entries.get(path[path.rfind(".") + 1 :], ()):
            parts = _without(path, sdk.transparent).split(".")
            if tuple(parts[-len(symbol.suffix) :]) == symbol.suffix:
                return sdk, shape
        return None


def _without(path: str, transparent: tuple[str, ...]) -> str:
    if not any(name in path for name in transparent):
        return path
    return ".".join(part for part in path.split(".") if part not in transparent)


@cache
def load_catalogue() -> SdkCatalogue:
    """The catalogue of the files that ship with promptopt, read once per process.

    Raises:
        SdkDataError: see `read_sdk` and `build_catalogue`.
    """
    files = sorted(resources.files(__package__).iterdir(), key=lambda file: file.name)
    return build_catalogue(read_sdk(file) for file in files if file.name.endswith(".toml"))


def read_sdk(file: Traversable) -> Sdk:
    """Read and check one file of SDK facts.

    Raises:
        SdkDataError: not TOML, an unknown or missing key, a value of another type, or a malformed
            symbol, path, parameter name or date.
    """
    try:
        sdk = decode(Sdk, tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, DecodingError) as error:
        raise SdkDataError(f"{file.name}: {error}") from error
    for fault in _faults(sdk):
        raise SdkDataError(f"{file.name}: {fault}")
    return sdk


def build_catalogue(sdks: Iterable[Sdk]) -> SdkCatalogue:
    """Index SDKs for look-up.

    Raises:
        SdkDataError: two SDKs of one name, or two entries that claim one symbol or method.
    """
    sdks = tuple(sdks)
    return SdkCatalogue(
        sdks=sdks,
        packages=tuple(sorted({package for sdk in sdks if sdk.sends for package in sdk.packages})),
        method_names=frozenset(path.rpartition(".")[2] for sdk in sdks for path in _request_names(sdk)),
        _clients=_index("clients", ((s, sdk, c) for sdk in sdks for c in sdk.clients for s in c.symbols)),
        _annotations=_index(
            "annotations",
            ((s, sdk, c) for sdk in sdks for c in sdk.clients for s in (*c.symbols, *c.annotations)),
        ),
        _functions=_index("functions", ((s, sdk, c) for sdk in sdks for c in sdk.calls for s in c.functions)),
        _constructors=_index("constructors", ((s, sdk, c) for sdk in sdks for c in sdk.calls for s in c.constructors)),
        _messages=_index("messages", ((s, sdk, m) for sdk in sdks for m in sdk.messages for s in m.symbols)),
        _blocks=_index("blocks", ((s, sdk, b) for sdk in sdks for b in sdk.blocks for s in b.symbols)),
        _templates=_index("templates", ((s, sdk, t) for sdk in sdks for t in sdk.templates for s in t.symbols)),
        _engines=_index("engines", ((s, sdk, e) for sdk in sdks for e in sdk.engines for s in e.symbols)),
        _hooks=_index("hooks", ((s, sdk, h) for sdk in sdks for h in sdk.hooks for s in h.symbols)),
        _constants=_index("constants", ((s, sdk, s) for sdk in sdks for s in sdk.constants)),
        _retriever_uses=_index(
            "retriever_uses", ((s, sdk, u) for sdk in sdks for u in sdk.retriever_uses for s in u.symbols)
        ),
        _rerankers=_index("rerankers", ((s, sdk, r) for sdk in sdks for r in sdk.rerankers for s in r.symbols)),
        _retrievers=_retrievers(sdks),
        _keeping=_index("keeping", ((s, sdk, k) for sdk in sdks for k in sdk.keeping for s in _kept(k))),
        _methods=_methods(sdks),
        _unmistakable=_index(
            "unmistakable", ((f"*:{path}", sdk, c) for sdk in sdks for c in sdk.calls for path in c.unmistakable)
        ),
        _owners={client: sdk for sdk in sdks for client in sdk.clients},
    )


def _index(kind: str, claims: _Claims[Shape]) -> SymbolIndex[tuple[Sdk, Shape]]:
    rows = [(parse_symbol(pattern), (sdk, shape)) for pattern, sdk, shape in claims]
    claimed: dict[tuple[str, ...], list[tuple[Symbol, Sdk]]] = {}
    for symbol, (sdk, _) in rows:
        rivals = claimed.setdefault(symbol.suffix, [])
        for rival, owner in rivals:
            if rival.overlaps(symbol):
                name = f"{symbol.root}:{'.'.join(symbol.suffix)}"
                raise SdkDataError(f"{sdk.name}: {kind}: {name} is claimed already by {owner.name}")
        rivals.append((symbol, sdk))
    return index_parsed(rows)


def _kept(shape: KeepingShape) -> Iterator[str]:
    yield from shape.symbols
    yield from (f"*:{method}" for method in shape.methods)


def _retrievers(sdks: tuple[Sdk, ...]) -> dict[str, tuple[RetrieverShape, ...]]:
    found: dict[str, tuple[RetrieverShape, ...]] = {}
    for sdk in sdks:
        for shape in sdk.retrievers:
            for method in shape.methods:
                found[method] = (*found.get(method, ()), shape)
    return found


def _methods(sdks: tuple[Sdk, ...]) -> dict[tuple[str, str], tuple[Sdk, CallShape]]:
    names: set[str] = set()
    methods: dict[tuple[str, str], tuple[Sdk, CallShape]] = {}
    for sdk in sdks:
        if sdk.name in names:
            raise SdkDataError(f"{sdk.name}: another file has this name already")
        names.add(sdk.name)
        for call in sdk.calls:
            for path in call.methods:
                if (sdk.name, path) in methods:
                    raise SdkDataError(f"{sdk.name}: calls.methods: {path} is listed twice")
                methods[sdk.name, path] = sdk, call
    return methods


def _request_names(sdk: Sdk) -> Iterator[str]:
    """Attribute paths and symbol suffixes whose calls send requests."""
    for call in sdk.calls:
        yield from (*call.methods, *call.unmistakable)
        yield from (symbol.partition(":")[2] for symbol in (*call.functions, *call.constructors))


def _faults(sdk: Sdk) -> Iterator[str]:
    """What the types of the schema cannot say, each with its key."""
    for key in ("name", "version", "source"):
        if not getattr(sdk, key).strip():
            yield f"{key}: empty"
    if not _is_iso_date(sdk.date):
        yield f"date: {sdk.date!r} is not a date such as 2026-11-30"
    yield from _malformed("packages", sdk.packages, _ROOT.fullmatch)
    for n, call in enumerate(sdk.calls):
        for name in call.parameters.keys() - PARAMETERS:
            yield f"calls[{n}].parameters.{name}: unknown; known are {', '.join(sorted(PARAMETERS))}"
        for field in ("methods", "unmistakable", "hooks"):
            yield from _malformed(f"calls[{n}].{field}", getattr(call, field), _PATH.fullmatch)
    for n, search in enumerate(sdk.retrievers):
        yield from _malformed(f"retrievers[{n}].methods", search.methods, str.isidentifier)
    for key, symbols in _symbols(sdk):
        yield from _malformed(key, symbols, _is_symbol)


def _symbols(sdk: Sdk) -> Iterator[tuple[str, tuple[str, ...]]]:
    for n, client in enumerate(sdk.clients):
        yield f"clients[{n}].symbols", client.symbols
        yield f"clients[{n}].annotations", client.annotations
    for n, call in enumerate(sdk.calls):
        yield f"calls[{n}].functions", call.functions
        yield f"calls[{n}].constructors", call.constructors
    yield "constants", sdk.constants
    for key in ("messages", "blocks", "templates", "engines", "hooks", "retriever_uses", "rerankers", "keeping"):
        for n, shape in enumerate(getattr(sdk, key)):
            yield f"{key}[{n}].symbols", shape.symbols


def _malformed(key: str, values: tuple[str, ...], test: Callable[[str], object]) -> Iterator[str]:
    return (f"{key}: {value!r} is malformed" for value in values if not test(value))


def _is_symbol(value: str) -> bool:
    root, colon, path = value.partition(":")
    return bool(colon and _ROOT.fullmatch(root) and _PATH.fullmatch(path))


def _is_iso_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False
