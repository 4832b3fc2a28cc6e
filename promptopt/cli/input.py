"""What commands read besides projects: texts of files and of standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from promptopt.errors import UsageError

STDIN: Final = Path("-")


def read_text(path: Path) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        UsageError: it cannot be read, or is not UTF-8.
    """
    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        hint = ": name the files in it" if path.is_dir() else ""
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}{hint}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}: convert it first") from error
