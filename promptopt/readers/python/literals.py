"""String literals in source text: their tokens, their values, and where each character comes from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from promptopt.readers.facts import Expression

_OPENING: Final = re.compile(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_GAP: Final = re.compile(r"(?:[ \t\f\r\n]++|\\(?:\r\n|\r|\n)|#[^\r\n]*+)*+")
_BODY: Final = {
    "'": re.compile(r"(?:[^'\\]++|\\[\s\S])*+(?=')"),
    '"': re.compile(r'(?:[^"\\]++|\\[\s\S])*+(?=")'),
    "'''": re.compile(r"(?:[^'\\]++|\\[\s\S]|'(?!''))*+(?=''')"),
    '"""': re.compile(r'(?:[^"\\]++|\\[\s\S]|"(?!""))*+(?=""")'),
}
_ESCAPE = (
    r"\\(?:(?P<newline>\r\n|\r|\n)|(?P<octal>[0-7]{1,3})|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})"
    r"|U(?P<U>[0-9a-fA-F]{8})|N\{(?P<name>[^}]+)\}|(?P<simple>[\\'\"abfnrtv]))"
)
_LINE_END = r"(?P<end>\r\n?)"
_BRACES = r"(?P<brace>\{\{|\}\})"
_SPECIAL: Final = {
    (False, False): re.compile(f"{_ESCAPE}|{_LINE_END}"),
    (False, True): re.compile(f"{_ESCAPE}|{_LINE_END}|{_BRACES}"),
    (True, False): re.compile(_LINE_END),
    (True, True): re.compile(f"{_LINE_END}|{_BRACES}"),
}
_SIMPLE: Final = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip


class ScanError(ValueError):
    """Text that is not the string literal it was taken for."""


class Run(NamedTuple):
    """Characters of a literal without quotes; `raw`: backslashes are text; `braces`: `{{` is `{`."""

    start: int
    end: int
    raw: bool
    braces: bool


def opening(text: str, start: int) -> tuple[str, str, int]:
    """Prefix (lower case), quotes and the offset of the body of the literal at `start`."""
    match = _OPENING.match(text, start)
    if match is None:
        raise ScanError(f"no string literal at offset {start}")
    return match[1].lower(), match[2], match.end()


def body_end(text: str, start: int, quote: str) -> int:
    """Where the body of a plain literal ends that begins at `start`."""
    match = _BODY[quote].match(text, start)
    if match is None:
        raise ScanError(f"string literal before offset {start} does not end")
    return match.end()


def skip_gap(text: str, start: int, end: int) -> int:
    """The next token after blanks, comments and line ends, at most `end`."""
    match = _GAP.match(text, start, end)
    return match.end() if match else start


def plain_runs(text: str, start: int, end: int) -> list[Run]:
    """The bodies of the plain literals, implicitly concatenated, that fill `start:end`."""
    runs = []
    while start < end:
        prefix, quote, body = opening(text, start)
        if prefix not in ("", "r", "u"):
            raise ScanError(f"not a plain string literal: {prefix}{quote}")
        stop = body_end(text, body, quote)
        runs.append(Run(body, stop, prefix == "r", braces=False))
        start = skip_gap(text, stop + len(quote), end)
    if start != end:
        raise ScanError(f"string literal does not end at offset {end}")
    return runs


def decode(text: str, run: Run) -> str:
    """The run-time text of a run."""
    source = text[run.start : run.end]
    pattern = _SPECIAL[run.raw, run.braces]
    if "\\" not in source and "\r" not in source and not (run.braces and ("{" in source or "}" in source)):
        return source
    return pattern.sub(_replacement, source)


def _replacement(match: re.Match[str]) -> str:
    kind, found = match.lastgroup, match[match.lastgroup or 0]
    if kind == "newline":
        return ""
    if kind == "end":
        return "\n"
    if kind == "brace":
        return found[0]
    if kind == "simple":
        return _SIMPLE[found]
    if kind == "name":
        return _named(found)
    return chr(int(found, 8 if kind == "octal" else 16))


def _named(name: str) -> str:
    try:
        return unicodedata.lookup(name)
    except KeyError as error:
        raise ScanError(f"unknown character name {name!r}") from error


def _run_segments(text: str, run: Run, offset: int) -> Iterator[tuple[int, int, int, int]]:
    at = run.start
    for match in _SPECIAL[run.raw, run.braces].finditer(text, run.start, run.end):
        if match.start() > at:
            yield offset, match.start() - at, at, match.start()
            offset += match.start() - at
        length = len(_replacement(match))
        if length:
            yield offset, length, match.start(), match.end()
        offset, at = offset + length, match.end()
    if run.end > at:
        yield offset, run.end - at, at, run.end


def literal_segments(text: str, lit: Expression) -> tuple[tuple[int, int, int, int], ...]:
    """Where the characters of a `lit` come from.

    Returns `(value offset, value length, source start, source end)` in order. Lengths are equal where
    characters correspond one to one; an escape, a doubled brace or a two-character line end is a
    segment of its own. Quotes, the gaps of implicit concatenation and escaped line ends belong to no
    segment. Empty where the value cannot be told from the source.
    """
    _, start, end, value = lit[:4]
    for runs in _readings(text, start, end):
        try:
            if "".join(decode(text, run) for run in runs) == value:
                return _segments(text, runs)
        except ScanError:
            continue
    return ()


def _readings(text: str, start: int, end: int) -> Iterator[list[Run]]:
    """The ways in which a span may be read: as whole literals, or as text inside an f-string."""
    with suppress(ScanError):
        yield plain_runs(text, start, end)
    for braces in (True, False):
        for raw in (False, True):
            yield [Run(start, end, raw, braces)]


def _segments(text: str, runs: list[Run]) -> tuple[tuple[int, int, int, int], ...]:
    result: list[tuple[int, int, int, int]] = []
    for run in runs:
        offset = result[-1][0] + result[-1][1] if result else 0
        result.extend(_run_segments(text, run, offset))
    return tuple(result)
