"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, content: bytes) -> None:
    """Write `content` to `file` by way of a temporary file beside it: a reader sees the old content or the new one.

    Links are followed, and a file that is there keeps its mode. What is no regular file (a pipe, a terminal) is
    written to directly.

    Raises:
        OSError: the file cannot be written; what it held is untouched.
    """
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    """The permissions that new files do not get; reading it means setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
