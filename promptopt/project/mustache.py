"""Mustache templates: `{{ name }}`, sections and comments, with what their variables stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from promptopt.project.strings import filled, part
from promptopt.project.values import Either, Literal, Piece, Pieces, TextValue, Value

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.strings import Lookup

_TAG: Final = re.compile(
    r"\{\{\{\s*(?P<plain>[\w.]+)\s*\}\}\}|\{\{(?P<kind>[#^/!&>]?)\s*(?P<name>.*?)\s*\}\}", re.DOTALL
)
MAX_SECTIONS: Final = 30
"""Sections within sections."""


class _Token(NamedTuple):
    """A stretch of text (kind `text`) or a tag: `#` and `^` open a section, `/` closes it, empty prints a variable."""

    kind: str
    value: str
    start: int
    end: int


def fill(template: Value, lookup: Lookup, ev: Evaluator) -> Value:
    """The text with its variables filled in; `lookup` gives a variable's value by its name. Not known where a section
    is not closed in the stretch of text that opens it."""
    return filled(template, lambda piece: _Filling(ev, piece, lookup).section(_tokens(piece.value), ""))


def _tokens(text: str) -> Iterator[_Token]:
    done = 0
    for match in _TAG.finditer(text):
        if match.start() > done:
            yield _Token("text", text[done : match.start()], done, match.start())
        yield _Token(match["kind"] or "", match["plain"] or match["name"] or "", *match.span())
        done = match.end()
    if done < len(text):
        yield _Token("text", text[done:], done, len(text))


class _Filling:
    def __init__(self, ev: Evaluator, piece: Literal, lookup: Lookup) -> None:
        self.ev = ev
        self.piece = piece
        self.lookup = lookup
        self.depth = 0

    def section(self, tokens: Iterator[_Token], name: str) -> Pieces | None:
        """Pieces up to the end of a section; None where it has none."""
        self.depth += 1
        pieces: list[Piece] = []
        for token in tokens:
            if token.kind == "/":
                self.depth -= 1
                return tuple(pieces) if token.value == name else None
            made = self._token(token, tokens)
            if made is None:
                return None
            pieces.extend(made)
        return None if name else tuple(pieces)

    def _token(self, token: _Token, tokens: Iterator[_Token]) -> Pieces | None:
        if token.kind == "text":
            return (part(self.piece, token.value, token.start),)
        if token.kind in ("#", "^"):
            inner = self.section(tokens, token.value) if self.depth < MAX_SECTIONS else None
            return None if inner is None else (Either(token.value, (inner, ())),)
        if token.kind in ("!", ">"):
            return ()
        where = self.ev.locate(self.piece, token.start, token.end)
        found = self.lookup(token.value, where)
        return found.pieces if isinstance(found, TextValue) else (found,)
