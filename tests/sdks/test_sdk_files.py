"""What must hold for every file of SDK facts that ships."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib import resources

import pytest

from promptopt.sdks import load_catalogue
from promptopt.sdks.catalogue import read_sdk
from promptopt.sdks.schema import Argument, CallShape, Sdk
from promptopt.sources import load_sources
from promptopt.symbols import root_fits

FILES = sorted(file.name for file in resources.files("promptopt.sdks").iterdir() if file.name.endswith(".toml"))
SDKS = [read_sdk(resources.files("promptopt.sdks") / name) for name in FILES]
CALLS = [pytest.param(sdk, call, id=f"{sdk.name}-{n}") for sdk in SDKS for n, call in enumerate(sdk.calls)]

REFERENCE = re.compile(r"(\d+|[A-Za-z_]\w*)(\.(\d+|[A-Za-z_]\w*))*")

each_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
each_call = pytest.mark.parametrize(("sdk", "call"), CALLS)


def symbols(sdk: Sdk) -> Iterator[tuple[str, str]]:
    """All symbols of a file with their kinds."""
    for client in sdk.clients:
        yield from (("client", symbol) for symbol in (*client.symbols, *client.annotations))
    for call in sdk.calls:
        yield from (("function", symbol) for symbol in call.functions)
        yield from (("constructor", symbol) for symbol in call.constructors)
    for kind in ("messages", "blocks", "templates", "engines", "hooks"):
        yield from ((kind, symbol) for shape in getattr(sdk, kind) for symbol in shape.symbols)
    yield from (("constant", symbol) for symbol in sdk.constants)


def slots(call: CallShape) -> dict[str, tuple[Argument, ...]]:
    """The slots of a call by name."""
    return {"tools": call.tools, "system": call.system, "messages": call.messages, "input": call.input}


def test_shipped_catalogue() -> None:
    """All files together make one catalogue, the main providers among them."""
    assert [sdk.name for sdk in load_catalogue().sdks] == [sdk.name for sdk in SDKS]
    assert {"openai", "anthropic", "litellm", "google-genai", "vllm"} <= {sdk.name for sdk in SDKS}


@pytest.mark.parametrize("file", FILES)
def test_file_names(file: str) -> None:
    """A file is named after its SDK."""
    sdk = read_sdk(resources.files("promptopt.sdks") / file)
    assert file.removesuffix(".toml").replace("_", "-") == sdk.name


@each_sdk
def test_provenance(sdk: Sdk) -> None:
    """Every file says which version was read, where and when; the date has passed."""
    assert re.fullmatch(r"\d+(\.\d+)+\S*", sdk.version)
    assert sdk.version in sdk.source
    assert date(2026, 1, 1) <= date.fromisoformat(sdk.date) <= datetime.now(UTC).date()


@each_sdk
def test_roots(sdk: Sdk) -> None:
    """Every symbol stands under a root that makes a file worth reading."""
    for _, symbol in symbols(sdk):
        root = symbol.partition(":")[0]
        assert any(root_fits(package, root.rstrip("*")) or package == root for package in sdk.packages), symbol


def test_claims() -> None:
    """No symbol is claimed by two SDKs, or as two kinds of thing."""
    claims = Counter(symbol for sdk in SDKS for symbol in {(kind, symbol) for kind, symbol in symbols(sdk)})
    kinds = Counter(symbol for _, symbol in claims)
    assert [symbol for symbol, count in kinds.items() if count > 1] == []
    assert [claim for claim, count in claims.items() if count > 1] == []


@each_sdk
def test_every_symbol(sdk: Sdk) -> None:
    """Every symbol is found below any module of its package, and in no other package."""
    catalogue = load_catalogue()
    look_ups = {
        "client": catalogue.client_annotation,
        "function": catalogue.function,
        "constructor": catalogue.constructor,
        "messages": catalogue.message,
        "blocks": catalogue.block,
        "templates": catalogue.template,
        "engines": catalogue.engine,
        "hooks": catalogue.hook,
    }
    for kind, symbol in symbols(sdk):
        root, _, path = symbol.partition(":")
        if kind == "constant":
            assert catalogue.is_constant(f"{root.rstrip('*')}.{path}")
            continue
        for name in (f"{root.rstrip('*')}.{path}", f"{root.rstrip('*')}.some.module.{path}"):
            found = look_ups[kind](name)
            assert found is not None, symbol
            assert found[0].name == sdk.name, symbol
        assert look_ups[kind](f"elsewhere.{path}") is None


@each_sdk
def test_clients(sdk: Sdk) -> None:
    """An SDK with clients has methods and the reverse; methods that take tools pass the client through."""
    methods = [path for call in sdk.calls for path in call.methods]
    assert bool(methods) == bool(sdk.clients)
    for client in sdk.clients:
        assert client.symbols or client.annotations
        assert set(client.tools_methods) <= set(client.passthrough)


@each_call
def test_calls(sdk: Sdk, call: CallShape) -> None:
    """Every call can be reached and has a slot for content; what is unmistakable is one of its methods."""
    assert call.methods or call.functions or call.constructors or call.unmistakable
    assert any(slots(call).values())
    for path in call.unmistakable:
        assert not call.methods or any(f".{method}".endswith(f".{path}") for method in call.methods), path
    for path in call.methods:
        assert load_catalogue().method(sdk, path) is not None


@each_call
def test_arguments(sdk: Sdk, call: CallShape) -> None:
    """Argument references are positions or dotted paths."""
    references = [
        *(reference for slot in slots(call).values() for reference in slot),
        *(reference for references in call.parameters.values() for reference in references),
        *call.history_when,
        *(flag.argument for flag in call.flags),
        *(flag.format for flag in call.flags if flag.format is not None),
    ]
    for reference in references:
        assert reference >= 0 if isinstance(reference, int) else REFERENCE.fullmatch(reference), (sdk.name, reference)


@each_call
def test_distinct_arguments(sdk: Sdk, call: CallShape) -> None:
    """An argument fills one slot and carries one parameter."""
    for table in (slots(call), call.parameters):
        uses = Counter(reference for references in table.values() for reference in references)
        assert [reference for reference, count in uses.items() if count > 1] == [], sdk.name


@each_call
def test_server_history(sdk: Sdk, call: CallShape) -> None:
    """History kept by a server says which argument tells; an agent's may."""
    assert call.history_when or call.history != "server", sdk.name
    assert call.history or not call.history_when, sdk.name


@each_call
def test_flags(sdk: Sdk, call: CallShape) -> None:
    """Flags name causes that the source catalogue knows."""
    for flag in call.flags:
        assert flag.cause in load_sources().kinds, sdk.name


@each_sdk
def test_roles(sdk: Sdk) -> None:
    """Messages have a role, fixed or from an argument, and content."""
    for message in sdk.messages:
        assert (message.role is None and not message.role_argument) == message.placeholder, message
        assert message.content
        assert message.role in (None, "system", "developer", "user", "assistant", "tool")


@each_sdk
def test_blocks(sdk: Sdk) -> None:
    """A block holds text or something else."""
    for block in sdk.blocks:
        assert bool(block.text) != bool(block.media), block
