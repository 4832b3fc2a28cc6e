"""The shipped data files: well formed, free of contradictions, traced to what was read."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from promptopt.prompt import Volatility
from promptopt.sources import SourceDataError, load_sources
from promptopt.sources.catalogue import build_catalogue
from promptopt.sources.loading import read_all, read_file
from promptopt.sources.schema import SourceData
from promptopt.symbols import parse_symbol

NEWER: Final = {
    "pathlib:walk": (3, 12),
    "itertools:batched": (3, 12),
    "random:binomialvariate": (3, 12),
    "copy:replace": (3, 13),
    "os:process_cpu_count": (3, 13),
    "uuid:uuid6": (3, 14),
    "uuid:uuid7": (3, 14),
    "uuid:uuid8/0": (3, 14),
}
"""Symbols of the standard library and the Python that brought them."""

ELSEWHERE: Final = {"os:getrandom", "os:getpgid", "os:getuid", "os:geteuid", "os:getgid", "os:getloadavg", "os:uname"}
"""Symbols that some operating systems lack."""

PLATFORM_MODULES: Final = {"resource"}


def _patterns(content: SourceData) -> Iterator[str]:
    for source in content.sources:
        yield from (*source.functions, *source.attributes, *source.annotations)
    passing = content.passing
    sizes = (size for size in passing.sizes if ":" in size)
    yield from (*passing.functions, *passing.ordering, *sizes, *passing.caching_decorators, *passing.runners)


def _all_patterns() -> list[str]:
    return sorted({pattern for content in read_all().values() for pattern in _patterns(content)})


def _is_stdlib(pattern: str) -> bool:
    root = parse_symbol(pattern).root
    return root in sys.stdlib_module_names or root == "builtins"


@pytest.mark.parametrize("name", sorted(read_all()))
def test_every_file_says_something(name: str) -> None:
    """A file of the folder reads without a fault and is not empty."""
    content = read_all()[name]
    assert content.sources or content.references or any(_patterns(content))


def _resolves(pattern: str) -> bool:
    """Whether a suffix of dotted names under the root leads to an object of the standard library."""
    symbol = parse_symbol(pattern)
    if symbol.root == "builtins":
        owner: object = builtins
    elif symbol.root == "pathlib":
        owner = importlib.import_module("pathlib")
        owner = owner if hasattr(owner, symbol.suffix[0]) else Path
    else:
        owner = importlib.import_module(symbol.root)
    walked = symbol.root
    for component in symbol.suffix:
        walked = f"{walked}.{component}"
        if not hasattr(owner, component):
            try:
                owner = importlib.import_module(walked)
            except ImportError:
                return False
        else:
            owner = getattr(owner, component)
    return True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("pattern", [pattern for pattern in _all_patterns() if _is_stdlib(pattern)])
def test_symbols_of_the_standard_library_exist(pattern: str) -> None:
    """A misspelt function would never be found in anyone's code."""
    if sys.version_info[:2] < NEWER.get(pattern, (3, 0)):
        assert not _resolves(pattern), f"{pattern} is not new in Python {NEWER[pattern]}"
        return
    if sys.platform != "linux" and (pattern in ELSEWHERE or parse_symbol(pattern).root in PLATFORM_MODULES):
        pytest.skip("not on this operating system")
    assert _resolves(pattern)


def test_third_party_symbols_have_a_reference() -> None:
    """Whoever doubts a symbol finds the package, version and files that were read."""
    documented = {root for content in read_all().values() for entry in content.references for root in entry.roots}
    named = {parse_symbol(pattern).root for pattern in _all_patterns() if not _is_stdlib(pattern)}
    assert named - documented == set(), "symbols without a reference"
    assert documented - named == set(), "references that nothing needs"


def test_labels_are_words_that_end_a_sentence() -> None:
    """A label stands in a message as it is: `the time of day changes on every call`."""
    for source in load_sources().kinds.values():
        assert source.label == source.label.strip()
        assert source.label.split()[0] in {"the", "a", "an", "who", "what"}, source.label
        assert not source.label.endswith(".")


def test_names_are_whole_and_few_letters_are_no_name() -> None:
    """Names of one or two letters mean anything."""
    for source in load_sources().kinds.values():
        for name in (*source.names, *source.template_names):
            assert len(name) > len("ab"), f"{source.kind}: {name}"


def test_nothing_shipped_is_of_unknown_volatility() -> None:
    """A source says how often it changes; that is its use."""
    levels = {source.volatility for source in load_sources().kinds.values()}
    assert levels == set(Volatility) - {Volatility.UNKNOWN, Volatility.CONSTANT}


SOURCE: Final = '[[sources]]\nkind = "clock"\nlabel = "the clock"\nvolatility = "call"\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[sources", "faulty.toml: "),
        ("sources = 3", "faulty.toml: sources"),
        ("[[source]]\n", "faulty.toml: source: unknown key"),
        (SOURCE + 'functoins = ["time:time"]', "faulty.toml: sources[0].functoins: unknown key"),
        ('[[sources]]\nkind = "clock"\nlabel = "the clock"\n', "faulty.toml: sources[0].volatility: missing"),
        (
            SOURCE.replace("call", "often"),
            "faulty.toml: sources[0].volatility: 'often' is none of constant, deployment",
        ),
        (SOURCE.replace("call", "unknown"), "faulty.toml: sources[0].volatility: 'unknown' is none of"),
        (SOURCE.replace('"call"', "8"), "faulty.toml: sources[0].volatility: expected Volatility, got 8"),
        (SOURCE.replace("clock", "The Clock", 1), "faulty.toml: sources[0].kind: 'The Clock' is not a word"),
        (SOURCE.replace("the clock", " "), "faulty.toml: sources[0].label: empty"),
        (SOURCE + 'functions = ["time.time"]', "faulty.toml: sources[0].functions: 'time.time' is not a symbol"),
        (SOURCE + 'functions = "time:time"', "faulty.toml: sources[0].functions: expected an array, got str"),
        (SOURCE + 'attributes = ["sys:"]', "faulty.toml: sources[0].attributes: 'sys:' is not a symbol"),
        (SOURCE + 'names = ["Now"]', "faulty.toml: sources[0].names: 'Now' is malformed"),
        (SOURCE + 'template_names = ["$now"]', "faulty.toml: sources[0].template_names: '$now' is malformed"),
        (SOURCE + 'members = ["*.*"]', "faulty.toml: sources[0].members: '*.*' is malformed"),
        (SOURCE + 'members = ["user"]', "faulty.toml: sources[0].members: 'user' is malformed"),
        (SOURCE + 'commands = [" date"]', "faulty.toml: sources[0].commands: ' date' is malformed"),
        ('[passing]\nordering = ["sorted"]', "faulty.toml: passing.ordering: 'sorted' is not a symbol"),
        ('[passing]\nsizes = ["builtins:len:x"]', "faulty.toml: passing.sizes: 'builtins:len:x' is not a symbol"),
        (
            '[[references]]\npackage = "p"\nroots = ["p"]\nversion = "1"\nsource = "p.py"\ndate = "last week"',
            "faulty.toml: references[0].date: 'last week' is not a date",
        ),
        (
            '[[references]]\npackage = "p"\nroots = []\nversion = "1"\nsource = "p.py"\ndate = "2026-11-30"',
            "faulty.toml: references[0].roots: empty",
        ),
    ],
)
def test_faults_name_file_and_key(tmp_path: Path, text: str, fault: str) -> None:
    """Whoever adds data is told what is wrong with it, and where."""
    file = tmp_path / "faulty.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceDataError) as caught:
        read_file(file)
    assert str(caught.value).startswith(fault)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """A file in another encoding is a fault of that file, not a crash."""
    file = tmp_path / "faulty.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SourceDataError, match=r"^faulty\.toml: "):
        read_file(file)


def _read(folder: Path, name: str, text: str) -> SourceData:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_file(file)


@pytest.mark.parametrize(
    ("one", "other", "fault"),
    [
        ("", 'names = ["now"]', "kind: 'clock' is claimed by clock in a.toml"),
        ('functions = ["t:now"]', 'functions = ["t:now"]', "functions: 't:now' is claimed by clock in a.toml"),
        ('names = ["user_id"]', 'names = ["userid"]', "names: 'userid' is claimed by clock in a.toml"),
        ('members = ["user.*"]', 'members = ["user.*"]', "members: 'user.*' is claimed by clock in a.toml"),
    ],
)
def test_two_entries_cannot_claim_one_thing(tmp_path: Path, one: str, other: str, fault: str) -> None:
    """What a name means does not depend on which file was read last."""
    kind = "clock" if fault.startswith("kind") else "watch"
    files = {
        "a.toml": _read(tmp_path, "a.toml", SOURCE + one),
        "b.toml": _read(tmp_path, "b.toml", SOURCE.replace('"clock"', f'"{kind}"') + other),
    }
    with pytest.raises(SourceDataError) as caught:
        build_catalogue(files)
    assert str(caught.value) == f"b.toml: {kind}.{fault}"


@pytest.mark.parametrize("key", ["of", "to"])
def test_narrowings_speak_of_kinds_that_exist(tmp_path: Path, key: str) -> None:
    """A misspelt kind would be looked up in vain when a rule needs its label."""
    kinds = {"of": "clock", "to": "clock"} | {key: "watch"}
    text = f'[[narrowings]]\nof = "{kinds["of"]}"\nto = "{kinds["to"]}"\nmembers = ["hands"]\n'
    with pytest.raises(SourceDataError, match=rf"^a\.toml: narrowings\[0\]\.{key}: no file defines the kind 'watch'$"):
        build_catalogue({"a.toml": _read(tmp_path, "a.toml", SOURCE + text)})
