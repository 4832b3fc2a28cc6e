"""Source text and places in it: the only room that converts offsets to lines and columns.

Everything else speaks of half-open character offsets into `SourceFile.text`.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

_LINE_END = re.compile(r"\r\n|\r|\n")
_BOM_UTF8 = codecs.BOM_UTF8


class UnreadableSourceError(ValueError):
    """A file's bytes cannot be turned into text; the message says why."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of character offsets, `start <= end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span {self.start}:{self.end} is not a range of offsets")


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A span of one file; `path` is relative to the project's root, with `/`."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Position:
    """Row and column, both from 1, columns in characters."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file's text as it was decoded, line ends untouched, the byte-order mark taken off.

    `newline` is the file's first line end (`"\\n"` where it has none).
    """

    path: str
    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False
    _starts: list[int] = field(default_factory=list, repr=False, compare=False)

    def line_starts(self) -> list[int]:
        """Offsets at which lines begin; lines end at `\\n`, `\\r\\n` and `\\r` only, as Python's do."""
        if not self._starts:
            self._starts.append(0)
            self._starts.extend(match.end() for match in _LINE_END.finditer(self.text))
        return self._starts

    def position(self, offset: int) -> Position:
        """Row and column of a character offset."""
        starts = self.line_starts()
        row = bisect_right(starts, offset)
        return Position(row, offset - starts[row - 1] + 1)

    def offset(self, row: int, column: int) -> int:
        """Character offset of a row and column, both from 1."""
        return self.line_starts()[row - 1] + column - 1

    def utf16_column(self, offset: int) -> int:
        """Column from 0 in UTF-16 code units, as editors count."""
        start = self.line_starts()[self.position(offset).row - 1]
        return len(self.text[start:offset].encode("utf-16-le", "surrogatepass")) // 2

    def utf8_column(self, offset: int) -> int:
        """Column from 0 in UTF-8 bytes, as `ast` counts."""
        start = self.line_starts()[self.position(offset).row - 1]
        return len(self.text[start:offset].encode("utf-8", "surrogatepass"))

    def line(self, row: int) -> str:
        """Text of a row (from 1) without its line end."""
        starts = self.line_starts()
        end = starts[row] if row < len(starts) else len(self.text)
        return self.text[starts[row - 1] : end].rstrip("\r\n")

    def __getitem__(self, span: Span) -> str:
        return self.text[span.start : span.end]


def decode_source(content: bytes, path: str) -> SourceFile:
    """Decode a file's bytes.

    Python files follow their coding cookie (PEP 263), others are UTF-8.

    Raises:
        UnreadableSourceError: undecodable bytes, an unknown encoding or NUL characters.
    """
    bom = content.startswith(_BOM_UTF8)
    try:
        encoding = "utf-8"
        if path.endswith((".py", ".pyi")):
            encoding = tokenize.detect_encoding(io.BytesIO(content[:1024]).readline)[0]
        text = content[len(_BOM_UTF8) if bom else 0 :].decode("utf-8" if bom else encoding)
    except (SyntaxError, LookupError, UnicodeDecodeError) as error:
        raise UnreadableSourceError(_decoding_fault(error)) from error
    if "\0" in text:
        raise UnreadableSourceError(f"NUL character at offset {text.index(chr(0))}")
    match = _LINE_END.search(text)
    return SourceFile(path, text, encoding.removesuffix("-sig"), match.group() if match else "\n", bom)


def _decoding_fault(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not {error.encoding}: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return str(error)


def read_source(file: Path, path: str) -> SourceFile:
    """Read and decode `file`; `path` is the name it goes by in findings.

    Raises:
        UnreadableSourceError: see `decode_source`; also when the file cannot be opened.
    """
    try:
        return decode_source(file.read_bytes(), path)
    except OSError as error:
        raise UnreadableSourceError(error.strerror or type(error).__name__) from error


def is_test_code(path: str) -> bool:
    """Whether a project's file belongs to its tests, by the names that test runners look for."""
    *folders, name = path.split("/")
    if "tests" in folders or "test" in folders:
        return True
    return name.startswith(("test_", "conftest.")) or name.endswith("_test.py")
