"""What is known about models: window, cache minimum, encoding, prices. Read from `models.toml` once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

FILE: Final = "models.toml"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; None where unknown."""

    input: float
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class Framing:
    """Tokens that a provider puts around messages and tools, by its own published arithmetic.

    `message` and `name` are per message and per name of one; `reply` once per request. `function` is per
    tool, `properties` per tool that has any, `property` each, `enum` per property with choices,
    `enum_item` each; `functions` once where there are tools.
    """

    message: int
    name: int
    reply: int
    function: int
    properties: int
    property: int
    enum: int
    enum_item: int
    functions: int
    source: str
    date: date


@dataclass(frozen=True, slots=True)
class Model:
    """Facts about one model; None is unknown, never a guess.

    Attributes:
        names: what requests may call it; the first is the shortest.
        window: input tokens it takes.
        output: tokens it may answer with.
        cache_minimum: shortest prefix in tokens that its provider caches.
        caches: false where its provider caches no prefixes of it.
        encoding: what text is counted with.
        estimate: whether that encoding is not known to be the model's own.
        framing: published arithmetic of messages and tools.
        source, date: where and when this was read.
    """

    names: tuple[str, ...]
    provider: str
    source: str
    date: date
    window: int | None = None
    output: int | None = None
    cache_minimum: int | None = None
    caches: bool | None = None
    encoding: str | None = None
    estimate: bool = False
    framing: Framing | None = None
    prices: Prices | None = None


def find_model(name: str) -> Model | None:
    """The model that a request calls `name`, with or without its provider's prefix (`openai/` or `openai:`);
    None where unknown.

    A longer name has none of a shorter one's facts: `gpt-4o-house-edition` is unknown.
    """
    models = known_models()
    if name in models:
        return models[name]
    provider, slash, rest = name.partition("/" if "/" in name else ":")
    model = models.get(rest) if slash else None
    return model if model and f"{provider}/" in _tables()["prefixes"].get(model.provider, ()) else None


def breakpoint_limit(provider: str | None) -> int | None:
    """Explicit cache markers that a provider accepts in one request, 0 where it has none; None where unknown."""
    return _caching(provider).get("breakpoints")


def lookback(provider: str | None) -> int | None:
    """Blocks ahead of a marker among which a provider looks for what an earlier request stored; None where unknown."""
    return _caching(provider).get("lookback")


def needs_markers(provider: str | None) -> bool:
    """Whether a provider caches up to explicit markers only."""
    return bool(_caching(provider).get("explicit"))


def largest_cache_minimum(provider: str | None) -> int | None:
    """The longest of the shortest prefixes that a provider caches for its models; None where none is known."""
    minima = [model.cache_minimum for model in known_models().values() if model.provider == provider]
    return max((minimum for minimum in minima if minimum), default=None)


def caches_from_first_block(provider: str | None) -> bool:
    """Whether it is an engine that caches however short a prefix is, down to a block of a few tokens."""
    return bool(_caching(provider).get("first-block"))


def _caching(provider: str | None) -> Mapping[str, Any]:
    return _tables()["caching"].get(provider) or {}


@cache
def known_models() -> Mapping[str, Model]:
    """Every model by each of its names."""
    tables = _tables()
    framings = {name: Framing(**_snake(entry)) for name, entry in tables["framings"].items()}
    models = [_model(_snake(entry), framings) for entry in tables["models"]]
    return MappingProxyType({name: model for model in models for name in model.names})


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))


def _model(entry: dict[str, Any], framings: Mapping[str, Framing]) -> Model:
    prices = Prices(**_snake(entry.pop("prices"))) if "prices" in entry else None
    framing = framings[entry.pop("framing")] if "framing" in entry else None
    return Model(names=tuple(entry.pop("names")), prices=prices, framing=framing, **entry)


def _snake(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in entry.items()}
