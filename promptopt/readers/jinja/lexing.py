"""Jinja's own lexer, with the place of every token.

Jinja passes the line number of a token on untouched, to tokens, nodes and errors. Here it is a
`TokenPlace`: an int that knows the token's offsets too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

from jinja2.lexer import Lexer, Token, TokenStream

_LINE_END: Final = re.compile(r"\r\n|\r")

PlacedToken: TypeAlias = tuple["TokenPlace", str, str]


class TokenPlace(int):
    """A line number that carries the half-open range of offsets of its token."""

    start: int
    end: int

    def __new__(cls, line: int, start: int, end: int) -> Self:
        """The line, counted from 1, with offsets into the source."""
        place = super().__new__(cls, line)
        place.start, place.end = start, end
        return place


class UnplacedTokenError(ValueError):
    """A token's text does not stand where the lexer says it does."""


@dataclass(slots=True)
class LineEnds:
    """Text with the line ends that Jinja lexes, and the way back to the original offsets."""

    text: str
    _shortened: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, source: str) -> LineEnds:
        """Jinja turns every line end into a line feed; only `\\r\\n` moves what follows."""
        if "\r" not in source:
            return cls(source)
        pairs = [match.start() - n for n, match in enumerate(re.finditer("\r\n", source))]
        return cls(_LINE_END.sub("\n", source), pairs)

    def original(self, offset: int) -> int:
        """The offset in the source of an offset in `text`."""
        return offset + bisect_left(self._shortened, offset)


class PlacingLexer(Lexer):
    """Lexer whose line numbers are `TokenPlace`."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[PlacedToken]:
        """Tokens as Jinja yields them.

        Raises:
            UnplacedTokenError: something other than white space was left out ahead of a token.
        """
        lines = LineEnds.of(source)
        cursor = 0
        for line, kind, value in super().tokeniter(source, name, filename, state):
            start = _find(lines.text, value, cursor)
            cursor = start + len(value)
            yield TokenPlace(line, lines.original(start), lines.original(cursor)), kind, value

    def tokenize(
        self, source: str, name: str | None = None, filename: str | None = None, state: str | None = None
    ) -> PlacedStream:
        """A stream that keeps the tokens as they were lexed, for the segments."""
        tokens = tuple(self.tokeniter(source, name, filename, state))
        stream = PlacedStream(self.wrap(tokens, name, filename), name, filename)
        stream.lexed = tokens
        return stream


class PlacedStream(TokenStream):
    """Token stream that knows all tokens, white space and comments too, and the end of the one consumed last."""

    lexed: tuple[PlacedToken, ...] = ()
    last_end: int = 0

    def __next__(self) -> Token:
        token = super().__next__()
        if isinstance(token.lineno, TokenPlace) and token.type != "eof":
            self.last_end = token.lineno.end
        return token


def _find(text: str, value: str, cursor: int) -> int:
    """Where a token stands: the lexer leaves out white space only, ahead of tags that strip it."""
    if text.startswith(value, cursor):
        return cursor
    start = text.find(value, cursor)
    if start < 0 or not text[cursor:start].isspace():
        raise UnplacedTokenError(f"the lexer left out text behind offset {cursor}")
    return start
