"""Ignore comments: where they count, what they cover, and text that only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptopt.source import Location, SourceFile, Span
from promptopt.suppression import read_suppressions, removal_of


def covered(text: str, needle: str = "HERE") -> bool:
    """Whether a comment of `text` reaches the place of `needle`."""
    source = SourceFile("app.py", text)
    start = text.index(needle)
    place = Location("app.py", Span(start, start + len(needle)))
    return any(comment.reaches(place) for comment in read_suppressions(source))


@pytest.mark.parametrize(
    "text",
    [
        "x = HERE  # promptopt: ignore[PO101]\n",
        "x = HERE  # noqa: E501  # promptopt: ignore[PO101] because\n",
        "x = HERE  #promptopt:ignore[PO101]",
        "# promptopt: ignore[PO101]\nx = HERE\n",
        "# promptopt: ignore[PO101]\n# a reason\nx = HERE\n",
        "# promptopt: ignore[PO102]\n# promptopt: ignore[PO101]\nx = HERE\n",
        "call(  # promptopt: ignore[PO101]\n    a,\n    HERE,\n)\n",
        "call(\n    a,\n    HERE,\n)  # promptopt: ignore[PO101]\n",
        'x = f"""\nHERE\n"""  # promptopt: ignore[PO101]\n',
        "# promptopt: ignore[PO101]\ncall(\n    HERE,\n)\n",
        "x = 1 + \\\n  HERE  # promptopt: ignore[PO101]\n",
        "a = 1; b = HERE  # promptopt: ignore[PO101]\n",
        "if x:\n\ty = HERE  # promptopt: ignore[PO101]\n",
        "if x:\n    # promptopt: ignore[PO101]\n    y = HERE\n",
        "@deco  # promptopt: ignore[PO101]\ndef HERE(): ...\n",
        "# promptopt: ignore[PO101]\n@deco\n@other(\n    1\n)\ndef HERE(): ...\n",
        "@HERE\ndef f(): ...  # promptopt: ignore[PO101]\n",
        "class HERE:  # promptopt: ignore[PO101]\n    pass\n",
        "\fx = HERE  # promptopt: ignore[PO101]\n",
        "ä = '😀'; x = HERE  # promptopt: ignore[PO101]\n",
        "# promptopt: ignore-file[PO101]\n\n\nx = HERE\n",
        "x = HERE\n# promptopt: ignore-file[PO101]",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_covered(text: str, newline: str) -> None:
    """Ends of first and last lines, the lines before a statement, and whole files; any line end."""
    assert covered(text.replace("\n", newline))


@pytest.mark.parametrize(
    "text",
    [
        "x = HERE\n# promptopt: ignore[PO101]\n",
        "# promptopt: ignore[PO101]\n\nx = HERE\n",
        "# promptopt: ignore[PO101]\nx = 1\ny = HERE\n",
        "call(\n    a,  # promptopt: ignore[PO101]\n    HERE,\n)\n",
        "if x:  # promptopt: ignore[PO101]\n    y = HERE\n",
        "x = HERE, '# promptopt: ignore[PO101]'\n",
        'x = """\nHERE  # promptopt: ignore[PO101]\n"""\n',
        "x = HERE  # promptopt: ignored[PO101]\n",
        "x = HERE  # promptopt: ignore-files[PO101]\n",
        "x = (HERE  # promptopt: ignore[PO101]\n",
        "def f():\n        x\n    HERE  # promptopt: ignore[PO101]\n",
    ],
)
def test_not_covered(text: str) -> None:
    """Other lines, strings, other words, and files that cannot be tokenized."""
    assert not covered(text)


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("# promptopt: ignore", ()),
        ("# promptopt: ignore[]", ()),
        ("# promptopt: ignore this", ()),
        ("# promptopt: ignore[PO101]", ("PO101",)),
        ("# promptopt: ignore[PO101, unstable-order]", ("PO101", "unstable-order")),
        ("# promptopt: ignore[ PO101,PO102 ]", ("PO101", "PO102")),
        ("# promptopt: ignore [PO101", ("PO101",)),
    ],
)
def test_words(comment: str, words: tuple[str, ...]) -> None:
    """Codes and names between brackets, separated by commas; none is a blanket."""
    (found,) = read_suppressions(SourceFile("app.py", f"x = 1  {comment}\n"))
    assert found.words == words
    assert found.silences("PO101", "volatile-prefix") is (not words or "PO101" in words)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = 1  # promptopt: ignore[PO101]\ny\n", "x = 1\ny\n"),
        ("if x:\n    # promptopt: ignore[PO101]\n    y\n", "if x:\n    y\n"),
        ("# promptopt: ignore[PO101]\r\nx\r\n", "x\r\n"),
        ("x\n# promptopt: ignore[PO101]", "x\n"),
        ("x  # promptopt: ignore[PO101]  # noqa\n", None),
        ("x  # noqa # promptopt: ignore[PO101]\n", "x  # noqa\n"),
    ],
)
def test_removal(text: str, left: str | None) -> None:
    """Deleting a comment takes its line along where it stands alone, and no other comment."""
    source = SourceFile("app.py", text)
    (found,) = read_suppressions(source)
    place = removal_of(found, source)
    assert (text[: place.span.start] + text[place.span.end :] if place else None) == left


@given(st.text(alphabet="# promptopt:ignore-file[]\n\r\t\f'\"\\(){}@:=fx1é", max_size=200))
def test_any_text_is_survived(text: str) -> None:
    """Whatever the text is, comments found in it stand where they say and begin with `#`."""
    source = SourceFile("app.py", f"# promptopt: ignore\n{text}")
    for comment in read_suppressions(source):
        assert source[comment.location.span].startswith("#")
