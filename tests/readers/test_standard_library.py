"""The reader on real code: files of the running interpreter's standard library."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from promptopt.readers.facts import Module
from promptopt.readers.packing import Packer, release
from promptopt.readers.python import PythonSyntaxError, literal_segments, read_module
from promptopt.source import SourceFile, UnreadableSourceError, read_source

LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
FULL_OF_STRINGS: Final = (
    "test/test_fstring.py",
    "test/test_unicode_identifiers.py",
    "test/test_grammar.py",
    "textwrap.py",
)


def _sample() -> list[Path]:
    files = sorted(path for path in LIBRARY.rglob("*.py") if "site-packages" not in path.parts)
    sample = random.Random(7).sample(files, min(60, len(files)))  # noqa: S311 (which files are read)
    return sample + [LIBRARY / name for name in FULL_OF_STRINGS if (LIBRARY / name).exists()]


def _facts(fact: Any) -> Iterator[tuple[Any, ...]]:
    """All facts inside a fact."""
    stack = [fact]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(item)
            if len(item) > 2 and isinstance(item[0], str) and isinstance(item[1], int) and isinstance(item[2], int):
                yield item


@pytest.mark.parametrize("file", _sample(), ids=lambda file: str(file.relative_to(LIBRARY)))
def test_places_slice_back_to_the_source(file: Path) -> None:
    """Names, literals, fields, attributes and calls stand where the facts say."""
    try:
        source = read_source(file, file.name)
        module = read_module(source)
    except (UnreadableSourceError, PythonSyntaxError):
        pytest.skip("the library keeps some files that are no Python, for its own tests")
    for scope in module.scopes:
        for part in (scope.body, scope.calls, scope.decorators, scope.bases, scope.docstring):
            for fact in _facts(part):
                _check(source, fact)
        if scope.kind in ("function", "class"):
            assert source.text[scope.name_start : scope.name_end] == scope.name.rpartition(".")[2]
            assert source.text.startswith(("@", "def", "async", "class"), scope.start)


def _check(source: SourceFile, fact: tuple[Any, ...]) -> None:
    text = source.text[fact[1] : fact[2]]
    if fact[0] == "name" and text.isascii():
        assert text == fact[3]
    elif fact[0] == "attr" and text.isascii():
        assert text.endswith(fact[4])
    elif fact[0] == "fmt":
        assert (text[0], text[-1]) == ("{", "}")
    elif fact[0] == "lit":
        segments = literal_segments(source.text, fact)
        if not segments and "#" in text:
            return  # `{x = # comment` shows the text without the comment
        assert sum(length for _, length, _, _ in segments) == len(fact[3])
        for offset, length, start, end in segments:
            if length == end - start:
                assert source.text[start:end] == fact[3][offset : offset + length]
    elif fact[0] == "unk":
        assert fact[3] not in ("field", "too deep")


@pytest.mark.parametrize("plain", [0, 1 << 30])
def test_packed_facts_are_the_same(plain: int) -> None:
    """Packing, compressed or not, changes how facts are kept, not what they say."""
    module = read_module(read_source(LIBRARY / "argparse.py", "argparse.py"))
    packed = Packer(plain).module(module)
    assert _attributes(packed) == _attributes(module)
    release(packed)
    assert _attributes(packed) == _attributes(module)


@pytest.mark.parametrize("plain", [0, 1 << 30])
def test_packed_texts_are_the_same(plain: int) -> None:
    """Whatever characters and line ends it has."""
    source = SourceFile("a.py", "x = 'äß€'\r\ny = 1\r", newline="\r\n", bom=True)
    packed = Packer(plain).source(source)
    assert (packed.text, packed.path, packed.newline, packed.bom) == (source.text, "a.py", "\r\n", True)
    assert packed.position(13) == source.position(13)


def _attributes(module: Module) -> list[Any]:
    return [
        module.path,
        module.calls_by_name,
        module.imports,
        [[getattr(scope, name) for name in scope.__dataclass_fields__] for scope in module.scopes],
    ]


def test_packed_scope_has_no_other_attributes() -> None:
    """A misspelt attribute is an error of the usual kind."""
    with pytest.raises(AttributeError):
        getattr(Packer().module(read_module(SourceFile("m.py", "x = 1"))).scopes[0], "bodi")  # noqa: B009 (mypy knows that it is none)
