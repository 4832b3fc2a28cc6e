from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from promptopt.sdks import SdkCatalogue, SdkDataError, build_catalogue, load_catalogue
from promptopt.sdks.catalogue import read_sdk
from promptopt.sdks.schema import BlockShape, CallShape, ClientShape, HookShape, MessageShape, Sdk, TemplateShape

HEAD = """
name = "acme"
packages = ["acme"]
version = "1.0"
source = "wheel acme 1.0"
date = "2026-11-30"
"""

CLIENT = ClientShape(symbols=("acme*:Client", "acme*:aio.Client.connect"), annotations=("acme*:BaseClient",))
CALL = CallShape(
    endpoint="chat",
    methods=("chat.send", "models.generate"),
    functions=("acme*:ask",),
    constructors=("acme*:Agent",),
    unmistakable=("chat.send",),
    messages=("messages",),
)
ACME = Sdk(
    name="acme",
    packages=("acme*",),
    version="1.0",
    source="wheel acme 1.0",
    date="2026-11-30",
    transparent=("aio", "raw"),
    clients=(CLIENT,),
    calls=(CALL,),
    messages=(MessageShape(symbols=("acme*:System",), content=(0,), role="system"),),
    blocks=(BlockShape(symbols=("acme*:Text",), text=("text",)),),
    templates=(TemplateShape(symbols=("acme*:Template.from_text",), kind="text", source=(0,)),),
    hooks=(HookShape(symbols=("acme*:hooks.prompt",), endpoint="agent"),),
    constants=("acme*:PREAMBLE",),
)


@pytest.fixture
def catalogue() -> SdkCatalogue:
    """A catalogue of one made-up SDK."""
    return build_catalogue([ACME])


def sdk_file(folder: Path, text: str) -> Path:
    """A file of SDK facts with this text."""
    file = folder / "acme.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["acme.Client", "acme_beta.deep.down.Client", "acme.aio.Client.connect"])
def test_fitting_names(catalogue: SdkCatalogue, name: str) -> None:
    """A name fits a pattern by its root and its last components, whatever stands between."""
    assert catalogue.client(name) == (ACME, CLIENT)


@pytest.mark.parametrize("name", ["Client", "twilio.rest.Client", "acme.Client.close", "acme.aio.connect", "acme", ""])
def test_other_names(catalogue: SdkCatalogue, name: str) -> None:
    """Another root, another ending or no root at all fits nothing."""
    assert catalogue.client(name) is None


def test_kinds_of_symbols(catalogue: SdkCatalogue) -> None:
    """Each kind of symbol is found by its own look-up only."""
    look_ups = {
        "acme.Client": catalogue.client,
        "acme.ask": catalogue.function,
        "acme.Agent": catalogue.constructor,
        "acme.System": catalogue.message,
        "acme.Text": catalogue.block,
        "acme.Template.from_text": catalogue.template,
        "acme.hooks.prompt": catalogue.hook,
    }
    for name in look_ups:
        found = [other for other, look_up in look_ups.items() if look_up(name) is not None]
        assert found == [name]
    assert catalogue.is_constant("acme.prompts.PREAMBLE")
    assert not catalogue.is_constant("acme.ask")


def test_annotations(catalogue: SdkCatalogue) -> None:
    """A parameter may be annotated with the class itself or with a further symbol, which makes no client."""
    assert catalogue.client_annotation("acme.BaseClient") == (ACME, CLIENT)
    assert catalogue.client_annotation("acme.Client") == (ACME, CLIENT)
    assert catalogue.client("acme.BaseClient") is None


def test_longest_suffix() -> None:
    """Of several patterns that fit, the most specific one counts."""
    narrow = replace(CLIENT, symbols=("acme*:legacy.Client",), annotations=(), provider="old")
    catalogue = build_catalogue([replace(ACME, clients=(CLIENT, narrow))])
    found = catalogue.client("acme.legacy.Client")
    assert found is not None
    assert found[1] is narrow


@pytest.mark.parametrize("path", ["chat.send", "aio.chat.send", "chat.raw.send", "raw.chat.send"])
def test_transparent_attributes(catalogue: SdkCatalogue, path: str) -> None:
    """A method is found on client and SDK, transparent attributes anywhere on its path."""
    assert catalogue.method(CLIENT, path) == (ACME, CALL)
    assert catalogue.method(ACME, path) == (ACME, CALL)
    assert catalogue.unmistakable(f"self.client.{path}") == (ACME, CALL)


@pytest.mark.parametrize("path", ["send", "x.chat.send", "chat.send.x", "chat", "rawish.chat.send", ""])
def test_other_methods(catalogue: SdkCatalogue, path: str) -> None:
    """A method needs its whole path, no more and no less."""
    assert catalogue.method(CLIENT, path) is None


@pytest.mark.parametrize("path", ["send", "mychat.send", "models.generate", "x.models.generate", "chat.send.x"])
def test_mistakable_paths(catalogue: SdkCatalogue, path: str) -> None:
    """On an unknown receiver only the paths that are listed as unmistakable count."""
    assert catalogue.unmistakable(path) is None


def test_foreign_client(catalogue: SdkCatalogue) -> None:
    """A client shape of no SDK here has no methods."""
    assert catalogue.method(ClientShape(symbols=("other:Client",)), "chat.send") is None


def test_method_names(catalogue: SdkCatalogue) -> None:
    """Names of calls to look at are the last components of everything that sends a request."""
    assert catalogue.method_names == {"send", "generate", "ask", "Agent"}
    assert catalogue.packages == ("acme*",)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(ACME, clients=(), calls=()), "acme: another file has this name already"),
        (replace(ACME, name="twin"), "twin: clients: acme*:Client is claimed already by acme"),
        (
            Sdk("twin", ("acme_x",), "1.0", "s", "2026-11-30", hooks=(HookShape(("acme_x:hooks.prompt",), "agent"),)),
            "twin: hooks: acme_x:hooks.prompt is claimed already by acme",
        ),
    ],
)
def test_rival_claims(other: Sdk, message: str) -> None:
    """One name for two SDKs, or one symbol claimed by two, is refused."""
    bare = replace(other, messages=(), blocks=(), templates=(), constants=())
    with pytest.raises(SdkDataError) as raised:
        build_catalogue([ACME, bare if other.name == "twin" else replace(bare, hooks=())])
    assert str(raised.value) == message


def test_rival_methods() -> None:
    """A method that two calls of an SDK list is refused: nothing could choose between them."""
    with pytest.raises(SdkDataError, match=r"acme: calls\.methods: chat\.send is listed twice"):
        build_catalogue([replace(ACME, calls=(CALL, replace(CALL, functions=(), constructors=(), unmistakable=())))])


def test_reading(tmp_path: Path) -> None:
    """A file becomes the dataclasses of the schema, arrays as tuples."""
    sdk = read_sdk(
        sdk_file(
            tmp_path,
            HEAD
            + """
            [[clients]]
            symbols = ["acme:Client"]

            [[calls]]
            endpoint = "chat"
            methods = ["chat.send"]
            messages = ["messages", 1]
            [calls.parameters]
            max_tokens = ["config.max_tokens"]
            """,
        )
    )
    assert sdk.clients == (ClientShape(symbols=("acme:Client",)),)
    assert sdk.calls[0].messages == ("messages", 1)
    assert sdk.calls[0].parameters == {"max_tokens": ("config.max_tokens",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "Invalid value"),
        (HEAD + "licence = 'MIT'", "licence: unknown key"),
        (HEAD + "[[client]]\nsymbols = ['acme:A']", "client: unknown key; did you mean clients?"),
        (HEAD + "[[calls]]\nendpoint = 'a'\nmethod = ['b']", "calls[0].method: unknown key; did you mean methods?"),
        (HEAD + "[clients]\nsymbols = ['acme:A']", "clients: expected an array, got dict"),
        (HEAD + "clients = ['acme:A']", "clients[0]: expected a table, got str"),
        (HEAD + "[[clients]]\nprovider = 'a'", "clients[0].symbols: missing; every ClientShape needs it"),
        (HEAD + "[[clients]]\nsymbols = 'acme:A'", "clients[0].symbols: expected an array, got str"),
        (HEAD + "[[clients]]\nsymbols = ['A']", "clients[0].symbols: 'A' is malformed"),
        (HEAD + "[[clients]]\nsymbols = ['ac*e:A']", "clients[0].symbols: 'ac*e:A' is malformed"),
        (HEAD + "[[clients]]\nsymbols = ['acme:A.']", "clients[0].symbols: 'acme:A.' is malformed"),
        (HEAD + "caching = 'always'", "caching: expected 'automatic' or 'explicit' or 'unknown', got 'always'"),
        (HEAD + "[[calls]]\nendpoint = 'a'\nmessages = [true]", "calls[0].messages[0]: expected str or int, got True"),
        (HEAD + "[[calls]]\nendpoint = 'a'\nbatch = 1", "calls[0].batch: expected bool, got 1"),
        (HEAD + "[[calls]]\nendpoint = 'a'\nmethods = ['a.']", "calls[0].methods: 'a.' is malformed"),
        (HEAD + "[[calls]]\nendpoint = 'a'\n[calls.parameters]\ncap = ['a']", "calls[0].parameters.cap: unknown"),
        (HEAD.replace("2026-11-30", "30.11.2026"), "date: '30.11.2026' is not a date such as 2026-11-30"),
        (HEAD.replace('"2026-11-30"', "2026-11-30"), "date: expected str, got datetime.date(2026, 11, 30)"),
        (HEAD.replace('"wheel acme 1.0"', '" "'), "source: empty"),
        (HEAD.replace('version = "1.0"', ""), "version: missing; every Sdk needs it"),
        (HEAD.replace('["acme"]', '["*"]'), "packages: '*' is malformed"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, message: str) -> None:
    """A malformed file is refused in one line that names file, key and fault."""
    with pytest.raises(SdkDataError) as raised:
        read_sdk(sdk_file(tmp_path, text))
    assert str(raised.value).startswith(f"acme.toml: {message}")
    assert "\n" not in str(raised.value)


def test_encoding(tmp_path: Path) -> None:
    """A file that is not UTF-8 is refused like any other malformed one."""
    file = tmp_path / "acme.toml"
    file.write_bytes(b'name = "\xff"')
    with pytest.raises(SdkDataError, match=r"acme\.toml: 'utf-8' codec"):
        read_sdk(file)


def test_shared_catalogue() -> None:
    """The shipped files are read once per process."""
    assert load_catalogue() is load_catalogue()
