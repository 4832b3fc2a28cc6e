"""Scanner of f-string and t-string literals: exact places of their text and replacement fields.

`ast` gives wrong places inside f-strings before Python 3.12; this scanner reads the source that the
parser has already accepted, with the quoting rules of every version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from promptopt.readers.python.literals import Run, ScanError, body_end, opening, skip_gap

_CHUNK: Final = {"'": r"[^'\\{}]++", '"': r'[^"\\{}]++', "'''": r"[^'\\{}]++|'(?!'')", '"""': r'[^"\\{}]++|"(?!"")'}
_COOKED: Final = r"|\\N\{[^}]*+\}|\\(?=[{}])|\\[^{}]"
_RAW: Final = r"|\\(?=[{}])|\\[^{}]"
_DOUBLED: Final = r"|\{\{|\}\}"
_TEXT: Final = {
    (quote, raw, spec): re.compile(f"(?:{chunk}{_RAW if raw else _COOKED}{'' if spec else _DOUBLED})*+")
    for quote, chunk in _CHUNK.items()
    for raw in (False, True)
    for spec in (False, True)
}
_PLAIN_FIELD: Final = re.compile(r"\{[\w.]+\}")
_DELIMITER: Final = re.compile(r"[!<>=]=|[()\[\]{}'\":!=#]")
_CONVERSION: Final = re.compile(r"!\s*\w+\s*")
_PREFIX: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{1,2}\Z")


@dataclass(frozen=True, slots=True)
class Field:
    """A replacement field: braces included in `start:end`, the expression at `value_start:value_end`.

    `debug_end` is the end of the text that `{x=}` shows, -1 without `=`. `spec` is None without `:`.
    """

    start: int
    end: int
    value_start: int
    value_end: int
    debug_end: int
    spec: list[Piece] | None


Piece: TypeAlias = Run | Field


def scan_formatted(text: str, start: int, end: int) -> list[Piece]:
    """Text and fields of the literals, implicitly concatenated, that fill `start:end`.

    Raises:
        ScanError: they do not.
    """
    pieces: list[Piece] = []
    while start < end:
        prefix, quote, body = opening(text, start)
        raw = "r" in prefix
        if "f" in prefix or "t" in prefix:
            found, stop = _pieces(text, body, quote, raw=raw, spec=False)
            pieces.extend(found)
        else:
            stop = body_end(text, body, quote)
            if stop > body:
                pieces.append(Run(body, stop, raw, braces=False))
        start = skip_gap(text, stop + len(quote), end)
    return pieces


def _pieces(text: str, at: int, quote: str, *, raw: bool, spec: bool) -> tuple[list[Piece], int]:
    pattern = _TEXT[quote, raw, spec]
    pieces: list[Piece] = []
    while True:
        stop = pattern.match(text, at).end()  # type: ignore[union-attr] # matches nothing at least
        if stop > at:
            pieces.append(Run(at, stop, raw, not spec))
        if text.startswith("{", stop):
            field = _field(text, stop, quote, raw=raw)
            pieces.append(field)
            at = field.end
        elif text.startswith("}" if spec else quote, stop):
            return pieces, stop
        else:
            raise ScanError(f"f-string does not end at offset {stop}")


def _field(text: str, start: int, quote: str, *, raw: bool) -> Field:
    plain = _PLAIN_FIELD.match(text, start)
    if plain:
        return Field(start, plain.end(), start + 1, plain.end() - 1, -1, None)
    value_end = at = _expression_end(text, start + 1)
    debug_end = -1
    if text.startswith("=", at):
        debug_end = at = skip_gap(text, at + 1, len(text))
    conversion = _CONVERSION.match(text, at)
    if conversion:
        at = conversion.end()
    spec = None
    if text.startswith(":", at):
        spec, at = _pieces(text, at + 1, quote, raw=raw, spec=True)
    if not text.startswith("}", at):
        raise ScanError(f"replacement field does not end at offset {at}")
    return Field(start, at + 1, start + 1, value_end, debug_end, spec)


def _expression_end(text: str, at: int) -> int:
    depth = 0
    while match := _DELIMITER.search(text, at):
        found, at = match[0], match.end()
        if found in "([{":
            depth += 1
        elif found in "'\"":
            at = _string_end(text, match.start())
        elif found == "#":
            at = _line_end(text, at)
        elif depth == 0 and found in ("}", ":", "!", "="):
            return match.start()
        elif found in ")]}":
            depth -= 1
    raise ScanError("replacement field does not end")


def _line_end(text: str, at: int) -> int:
    ends = [end for end in (text.find("\n", at), text.find("\r", at)) if end >= 0]
    return min(ends, default=len(text))


def _string_end(text: str, at: int) -> int:
    match = _PREFIX.search(text[max(0, at - 3) : at])
    prefix = match[0].lower() if match else ""
    _, quote, body = opening(text, at)
    if "f" in prefix or "t" in prefix:
        end = _pieces(text, body, quote, raw="r" in prefix, spec=False)[1]
    else:
        end = body_end(text, body, quote)
    return end + len(quote)
