"""`formats.toml`: which requests ask a model for text, and where in them things stand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the address of a request says of it.

    Attributes:
        name: the kind of request, such as `chat.completions`.
        model: the model, where the address names it.
        stream: whether the address asks for a stream.
    """

    name: str
    model: str | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of an AWS client; `body` is the argument that holds the request, None where all of them are it."""

    endpoint: str
    body: str | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of messages and blocks; see `formats.toml`."""

    text: tuple[str, ...]
    written: tuple[str, ...]
    media: tuple[str, ...]
    calls: tuple[str, ...]
    results: tuple[str, ...]
    ids: tuple[str, ...]


def find_endpoint(path: str) -> Endpoint | None:
    """The kind of request that the path of a URL is for; None where it asks no model for text."""
    for name, pattern in _endpoints():
        if found := pattern.search(path):
            groups = found.groupdict()
            model = groups.get("model")
            return Endpoint(name, unquote(model) if model else None, bool(groups.get("stream")))
    return None


@cache
def operations() -> Mapping[str, Operation]:
    """Operations of Bedrock by name."""
    return {
        entry["name"]: Operation(entry["endpoint"], entry.get("body"), entry.get("stream", False))
        for entry in _document()["operations"]
    }


@cache
def request_paths(what: str) -> tuple[tuple[str, ...], ...]:
    """Where `model`, `tools`, `system`, `messages`, `cap` or `stream` may stand: keys to follow."""
    return tuple(tuple(path.split(".")) for path in _document()["request"][what])


@cache
def request_keys() -> frozenset[str]:
    """Names of arguments or members that say anything of that."""
    return frozenset(path.partition(".")[0] for paths in _document()["request"].values() for path in paths)


@cache
def content_keys() -> Keys:
    """Keys of messages and blocks."""
    return Keys(**{name: tuple(keys) for name, keys in _document()["content"].items()})


@cache
def _endpoints() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((entry["name"], re.compile(entry["path"])) for entry in _document()["endpoints"])


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("formats.toml").read_text("utf-8"))
