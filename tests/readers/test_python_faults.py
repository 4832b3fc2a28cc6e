"""Files that are no Python, too deep, or newer than the interpreter."""

from __future__ import annotations

import marshal
import sys
import warnings
from typing import Any

import pytest

from promptopt.readers.facts import Module
from promptopt.readers.python import PythonSyntaxError, read_module
from promptopt.source import SourceFile


def read(text: str) -> Module:
    """Facts of a text."""
    return read_module(SourceFile("module.py", text))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x = 1\ny = (2\n", "(2"),
        ("é = '😀'\r\nfor in a: pass", "in a"),
        ("a\rb c", "c"),
        ("x = '", "'"),
        ("if 1:\n", ""),
    ],
)
def test_syntax_error_tells_where(text: str, place: str) -> None:
    """The offset is a character offset into the text, whatever its line ends and letters."""
    with pytest.raises(PythonSyntaxError) as caught:
        read(text)
    assert caught.value.message
    assert caught.value.offset is not None
    assert text[caught.value.offset :].startswith(place)


@pytest.mark.parametrize("text", ["x = 1\0", "x = '\ud800\udc00\ud800'; é = \udfff", "\ufeffx = 1"])
def test_text_that_the_parser_refuses_is_a_syntax_error(text: str) -> None:
    """NUL, lone surrogates and stray byte-order marks are no crash."""
    with pytest.raises(PythonSyntaxError):
        read(text)


def _newer(text: str, version: tuple[int, int]) -> Any:
    mark = pytest.mark.skipif(sys.version_info >= version, reason="this Python knows the syntax")
    return pytest.param(text, ".".join(map(str, version)), marks=mark)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        _newer("x = 1\ntype A[T] = list[T]\n", (3, 12)),
        _newer("def f[T](x: T): pass", (3, 12)),
        _newer("class A[T]: pass", (3, 12)),
        _newer("x = f'{d['a']}'", (3, 12)),
        _newer("x = f'{\"\\n\".join(a)}'", (3, 12)),
        _newer("x = 1\nx = t'{a}'", (3, 14)),
        _newer("try: a\nexcept A, B: b", (3, 14)),
    ],
)
def test_newer_syntax_names_the_version_it_needs(text: str, version: str) -> None:
    """A file that is fine on a newer Python is not called wrong."""
    with pytest.raises(PythonSyntaxError, match=rf"needs Python {version}.* run promptopt on {version} or later"):
        read(text)


def test_plain_mistakes_are_not_called_newer_syntax() -> None:
    """Only what looks like newer syntax is."""
    with pytest.raises(PythonSyntaxError) as caught:
        read("def f(:\n    pass")
    assert "needs Python" not in caught.value.message


@pytest.mark.parametrize("levels", [1_000, 10_000])
@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("lambda: ", "")])
def test_deep_expressions_do_not_crash(levels: int, opening: str, closing: str) -> None:
    """However deep an expression is, the file is read or refused."""
    _check_readable(f"x = {opening * levels}1{closing * levels}\nlast = 1")


@pytest.mark.parametrize("count", [100, 900, 5_000])
@pytest.mark.parametrize(
    ("start", "link", "end"),
    [
        ("a", " + b", ""),
        ("a", " * b", ""),
        ("'a'", " + f()", ""),
        ("a - b", " + c", ""),
        ("a", ".b", ""),
        ("a", ".b()", ""),
        ("a", "[0]", ""),
        ("a", " and b", ""),
        ("a", " < b", ""),
        ("a", " if b else c", ""),
        ("f'{a}'", " f'{b}'", ""),
        ("[a", ", b", "]"),
        ("1\nif a: b", "\nelif c: d", ""),
    ],
)
def test_long_chains_do_not_crash(start: str, link: str, end: str, count: int) -> None:
    """However long a chain is, the file is read or refused."""
    _check_readable(f"x = {start}{link * count}{end}\nlast = 1")


def _check_readable(text: str) -> None:
    """Facts end with the last statement, are shallow, and can be stored; or the error says that it is too deep."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module = read(text)
    except PythonSyntaxError as error:
        assert "too deep" in error.message or "too many nested parentheses" in error.message  # noqa: PT017 (either is right)
        return
    assert module.scopes[0].body[-1][0] == "assign"
    for scope in module.scopes:
        assert marshal.dumps((scope.body, scope.calls))
        assert _depth(scope.body) < 600


def _depth(fact: Any) -> int:
    """Levels of nested tuples, counted without recursion."""
    level, row = 0, [fact]
    while row:
        row = [part for item in row if isinstance(item, tuple) for part in item]
        level += 1
    return level


def test_too_deep_statement_leaves_the_others_alone() -> None:
    """One statement is unknown; what stands around it is read, inside functions too."""
    deep = "x" + ".a" * 500
    module = read(f"def f():\n    before(1)\n    y = {deep}\n    after(2)\nz = {deep}\nlast(3)")
    assert [statement[0] for statement in module.scopes[1].body] == ["expression", "expression", "expression"]
    assert module.scopes[1].body[1][5][3] == "too deep"
    assert module.calls_by_name == {"before": ((1, 0),), "after": ((1, 1),), "last": ((0, 0),)}


def test_a_long_sum_keeps_its_terms() -> None:
    """Texts added up in a long chain are all there, in order."""
    terms = [f"'{n}'" for n in range(300)]
    fact = read("x = " + " + ".join(terms)).scopes[0].body[0][6]
    assert _leaves(fact) == [str(n) for n in range(300)]


def _leaves(fact: Any) -> list[str]:
    return [fact[3]] if fact[0] == "lit" else _leaves(fact[4]) + _leaves(fact[5])


def test_warnings_of_the_parser_are_not_shown() -> None:
    """Invalid escapes in the code under analysis are its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("x = '\\d'; y = f'{a:\\d}'; 1 is 1").scopes[0].body[0][6][3] == "\\d"


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\x0c", "\r\n\r\n"])
def test_files_without_statements(text: str) -> None:
    """An empty file has a module scope and nothing in it."""
    module = read(text)
    assert len(module.scopes) == 1
    assert module.scopes[0].body == ()
