"""Values and places of string literals: plain, concatenated, f-strings and t-strings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptopt.readers.python import literal_segments, read_module
from promptopt.source import SourceFile

PEP_701: Final = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
PEP_750: Final = pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of Python 3.14")


def expression_of(text: str) -> Any:
    """Facts of the expression that `text` assigns first."""
    return read_module(SourceFile("m.py", text)).scopes[0].body[0][6]


def places(text: str, fact: Any) -> list[tuple[str, str, str]]:
    """Kind, source and value of the pieces of an f-string; the value of a field is its expression's source."""
    result = []
    for piece in fact[3]:
        inner = piece[3] if piece[0] == "lit" else text[piece[3][1] : piece[3][2]]
        result.append((piece[0], text[piece[1] : piece[2]], inner))
        result += places(text, (0, 0, 0, piece[5])) if piece[0] == "fmt" and piece[5] else []
    return result


@pytest.mark.parametrize(
    ("literal", "pieces"),
    [
        ("f'a{b}c'", [("lit", "a", "a"), ("fmt", "{b}", "b"), ("lit", "c", "c")]),
        ("f'{a.b.c}'", [("fmt", "{a.b.c}", "a.b.c")]),
        ("f'{ a [0] }'", [("fmt", "{ a [0] }", "a [0]")]),
        ("f'{(a + b)}'", [("fmt", "{(a + b)}", "a + b")]),
        ("f'{a, b}'", [("fmt", "{a, b}", "a, b")]),
        ("f'{(a, b)}'", [("fmt", "{(a, b)}", "(a, b)")]),
        ("f'{{{a}}}'", [("lit", "{{", "{"), ("fmt", "{a}", "a"), ("lit", "}}", "}")]),
        (r"f'\n\N{BULLET}{a}\x41'", [("lit", r"\n\N{BULLET}", "\n•"), ("fmt", "{a}", "a"), ("lit", r"\x41", "A")]),
        (r"rf'\n{a}'", [("lit", r"\n", "\\n"), ("fmt", "{a}", "a")]),
        (
            "f'{a!r:>{w}.{p}}'",
            [
                ("fmt", "{a!r:>{w}.{p}}", "a"),
                ("lit", ">", ">"),
                ("fmt", "{w}", "w"),
                ("lit", ".", "."),
                ("fmt", "{p}", "p"),
            ],
        ),
        ("f'{a = }'", [("lit", "a = ", "a = "), ("fmt", "{a = }", "a")]),
        ("f'x{a=:>5}'", [("lit", "x", "x"), ("lit", "a=", "a="), ("fmt", "{a=:>5}", "a"), ("lit", ">5", ">5")]),
        ("f'{a!=b}{c==d}{e<=f}'", [("fmt", "{a!=b}", "a!=b"), ("fmt", "{c==d}", "c==d"), ("fmt", "{e<=f}", "e<=f")]),
        ("f'{a[\"}\"]}'", [("fmt", '{a["}"]}', 'a["}"]')]),
        ("f'{d[f\"{k}\"]}'", [("fmt", '{d[f"{k}"]}', 'd[f"{k}"]')]),
        ("f'{(lambda x: x)(1)}'", [("fmt", "{(lambda x: x)(1)}", "(lambda x: x)(1)")]),
        ("f'é{a}€{b}'", [("lit", "é", "é"), ("fmt", "{a}", "a"), ("lit", "€", "€"), ("fmt", "{b}", "b")]),
        ("f'{ü.x + 1}'", [("fmt", "{ü.x + 1}", "ü.x + 1")]),
        ("f'''a\n{\nb}\n'''", [("lit", "a\n", "a\n"), ("fmt", "{\nb}", "b"), ("lit", "\n", "\n")]),
        ("f'''a'b\"{c}'''", [("lit", "a'b\"", "a'b\""), ("fmt", "{c}", "c")]),
        ("f'a\\\nb{c}'", [("lit", "a\\\nb", "ab"), ("fmt", "{c}", "c")]),
        (
            "f'a{b}' 'c{d}' rf'\\{e}'",
            [
                ("lit", "a", "a"),
                ("fmt", "{b}", "b"),
                ("lit", "c{d}", "c{d}"),
                ("lit", "\\", "\\"),
                ("fmt", "{e}", "e"),
            ],
        ),
        ("(f'a'  # one\n  'b' \\\n  f'{c}')", [("lit", "a", "a"), ("lit", "b", "b"), ("fmt", "{c}", "c")]),
        ("f'{a}' f'{b}'", [("fmt", "{a}", "a"), ("fmt", "{b}", "b")]),
        pytest.param("f'{a['b']}'", [("fmt", "{a['b']}", "a['b']")], marks=PEP_701),
        pytest.param("f'{f'{f'{a}'}'}'", [("fmt", "{f'{f'{a}'}'}", "f'{f'{a}'}'")], marks=PEP_701),
        pytest.param("f'{'\\n'.join(a)}'", [("fmt", "{'\\n'.join(a)}", "'\\n'.join(a)")], marks=PEP_701),
        pytest.param("f'''{\na # }'\n}'''", [("fmt", "{\na # }'\n}", "a")], marks=PEP_701),
        pytest.param(
            "t'a{b!r:>{w}}'",
            [("lit", "a", "a"), ("fmt", "{b!r:>{w}}", "b"), ("lit", ">", ">"), ("fmt", "{w}", "w")],
            marks=PEP_750,
        ),
    ],
)
def test_pieces_stand_where_they_are_written(literal: str, pieces: list[tuple[str, str, str]]) -> None:
    """Pieces of f-strings have exact places on every version."""
    text = f"é = {literal}"
    fact = expression_of(text)
    assert places(text, fact) == pieces
    assert fact[0] == ("tstr" if literal.startswith("t") else "fstr")


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_in_literals_are_newlines_at_run_time(newline: str) -> None:
    """Python reads every line end of a literal as a line feed."""
    text = f"x = f'''a{newline}{{b}}{newline}''' '''c{newline}'''"
    fact = expression_of(text)
    assert [(text[p[1] : p[2]], p[3]) for p in fact[3] if p[0] == "lit"] == [
        (f"a{newline}", "a\n"), (newline, "\n"), (f"c{newline}", "c\n"),
    ]  # fmt: skip


def test_expressions_inside_fields_have_exact_places() -> None:
    """Whatever stands in a field is placed, calls included."""
    text = "x = 1; y = f'''é\n  {first(a, \"b\")} {\n second(c) + d.e[0]}'''"
    module = read_module(SourceFile("m.py", text))
    assert [text[call[0] : call[1]] for call in module.scopes[0].calls] == ['first(a, "b")', "second(c)"]
    for call in module.scopes[0].calls:
        assert [text[a[1] : a[2]] for a in call[3]] in (["a", '"b"'], ["c"])


# Property tests

_ESCAPES: Final = [
    "\\n",
    "\\\\",
    "\\'",
    '\\"',
    "\\x41",
    "\\u00e9",
    "\\U0001f600",
    "\\N{BULLET}",
    "\\101",
    "\\q",
    "\\\n",
]
_TEXTS: Final = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\\{}'\"\r\n\0", exclude_categories=["Cs"]), max_size=8),
        st.sampled_from(["{{", "}}", "'", '"', "\n", "\r\n", " ", "é", "€", "😀"]),
        st.sampled_from(_ESCAPES),
    ),
    max_size=6,
).map("".join)
_FIELDS: Final = st.sampled_from(
    [
        "{1}",
        "{ 2 }",
        "{'s'!r}",
        "{3:>4}",
        "{3:>{4}}",
        "{(5)}",
        "{'é'}",
        "{1=}",
        "{ 1 = }",
        "{1, 2}",
        "{[x for x in 'ab']}",
    ]
)
_BODIES: Final = st.lists(st.one_of(_TEXTS, _FIELDS), max_size=5).map("".join)
_PREFIXES: Final = st.sampled_from(["f", "F", "rf", "fR", "", "r", "u"])


def _valid(literal: str) -> Any:
    """What the literal evaluates to, or None where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(literal)  # noqa: S307 (built from constants here)
    except (SyntaxError, ValueError, NameError):
        return None


@st.composite
def _literals(draw: st.DrawFn) -> str:
    tokens = []
    for _ in range(draw(st.integers(1, 3))):
        quote = draw(st.sampled_from(["'", '"', "'''", '"""']))
        prefix = draw(_PREFIXES)
        body = draw(_BODIES)
        tokens.append(prefix + quote + body + quote)
    return draw(st.sampled_from([" ", "", "\n", " # c'\n"])).join(tokens)


@given(_literals())
def test_pieces_concatenate_to_the_run_time_text(literal: str) -> None:
    """The texts of a literal and its evaluated fields are what Python evaluates it to."""
    expected = _valid(f"({literal})")
    assume(expected is not None)
    text = f"x = ({literal})"
    fact = expression_of(text)
    assert _evaluated(text, fact) == expected
    for lit in [fact] if fact[0] == "lit" else [piece for piece in fact[3] if piece[0] == "lit"]:
        _check_segments(text, lit)


_CONVERSIONS: Final[dict[str | None, Callable[[Any], Any]]] = {
    "r": repr,
    "a": ascii,
    "s": str,
    None: lambda value: value,
}


def _evaluated(text: str, fact: Any) -> str:
    if fact[0] == "lit":
        return str(fact[3])
    result = ""
    for piece in fact[3]:
        if piece[0] == "lit":
            result += piece[3]
            continue
        assert text[piece[1]] == "{"
        assert text[piece[2] - 1] == "}"
        value = eval(f"({text[piece[3][1] : piece[3][2]]})")  # noqa: S307 (built from constants here)
        shown = _CONVERSIONS[piece[4]](value)
        result += format(shown, _evaluated(text, ("fstr", 0, 0, piece[5] or ())))
    return result


def _check_segments(text: str, lit: Any) -> None:
    """Segments tile the value, stay inside the literal and say what their source says."""
    at = 0
    last = lit[1]
    for offset, length, start, end in literal_segments(text, lit):
        assert offset == at
        assert lit[1] <= last <= start < end <= lit[2]
        value = lit[3][offset : offset + length]
        if length == end - start:
            assert text[start:end].replace("\r", "\n") == value
        at, last = offset + length, end
    assert at == len(lit[3])


@pytest.mark.parametrize(
    ("literal", "segments"),
    [
        ("'abc'", [("abc", "abc")]),
        (r"'a\nb'", [("a", "a"), ("\n", r"\n"), ("b", "b")]),
        (r"r'a\nb'", [(r"a\nb", r"a\nb")]),
        ("'a' 'b'", [("a", "a"), ("b", "b")]),
        ("'a\\\nb'", [("a", "a"), ("b", "b")]),
        ("'''a\r\nb'''", [("a", "a"), ("\n", "\r\n"), ("b", "b")]),
        (r"'\N{BULLET}\x41é'", [("•", r"\N{BULLET}"), ("A", r"\x41"), ("é", "é")]),
        (r"'\d'", [(r"\d", r"\d")]),
        ("''", []),
    ],
)
def test_segments_map_values_to_source(literal: str, segments: list[tuple[str, str]]) -> None:
    """Characters and escapes of a value are found where they are written."""
    text = f"x = {literal}"
    lit = expression_of(text)
    assert [(lit[3][o : o + n], text[a:b]) for o, n, a, b in literal_segments(text, lit)] == segments


def test_segments_of_text_inside_an_f_string() -> None:
    """Doubled braces are segments of their own; quotes of an f-string's text are text."""
    text = "x = f'''\"a\"{{b}}{c}'''"
    lit = expression_of(text)[3][0]
    found = [(lit[3][o : o + n], text[a:b]) for o, n, a, b in literal_segments(text, lit)]
    assert found == [('"a"', '"a"'), ("{", "{{"), ("b", "b"), ("}", "}}")]


def test_segments_of_a_value_that_the_source_does_not_show_are_empty() -> None:
    """A place whose text gives another value has no map."""
    assert literal_segments("x = 'abc'", ("lit", 4, 9, "other")) == ()
