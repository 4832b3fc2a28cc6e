"""Writing to terminals, pipes and files: encodings, colour, pipes that were closed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final, TextIO

from promptopt.errors import UsageError
from promptopt.writing import write_whole

_DRAWING: Final = "▏┃░▒▓█·←␛…"
_DEFAULT_WIDTH: Final = 100


def write(text: str) -> None:
    """Write to stdout; what its encoding lacks is escaped, and a reader that has left is no error.

    Raises:
        UsageError: a full disk and the like.
    """
    _write(sys.stdout, text)


def write_error(line: str) -> None:
    """Write a line to stderr; line ends are kept, other characters that do not print are escaped."""
    shown = (c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in line)
    _write(sys.stderr, "".join(shown) + "\n")


def write_file(path: Path, text: str) -> None:
    """Write a report to a file; raises `UsageError` where it cannot be written."""
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
    except OSError as error:
        _discard(stream)
        raise UsageError(f"the output cannot be written: {error.strerror or error}") from error


def _discard(stream: TextIO) -> None:
    """Send the rest of the output nowhere, so that the interpreter's last flush is silent."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, stream.fileno())


def uses_color(choice: str) -> bool:
    """Whether to colour: `always`, `never`, or `auto` (NO_COLOR, FORCE_COLOR, then a terminal)."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def prints_unicode() -> bool:
    """Whether stdout's encoding has the characters that reports draw with."""
    try:
        _DRAWING.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def terminal_width() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
