"""`promptopt.lock`: the sizes that prompts had when they were last accepted.

TOML for version control: a table for each prompt, sorted by name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from promptopt.errors import ConfigError
from promptopt.writing import write_whole

_HEAD = "# Written by `promptopt budget --update`.\n"
_ESCAPED = {'"': '\\"', "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class LockEntry:
    """Tokens of a prompt and of its stable prefix, and the encoding that counted them."""

    tokens: int
    stable_prefix: int
    encoding: str


def read_lock(file: Path) -> dict[str, LockEntry]:
    """The entries by prompt name; none where there is no file.

    Raises:
        ConfigError: a file that cannot be read, or that `write_lock` has not written.
    """
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: the lock file cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a lock file: {error}: restore it, or delete it and update it") from error
    return {name: _entry(name, table, file) for name, table in document.items()}


def _entry(name: str, table: object, file: Path) -> LockEntry:
    if isinstance(table, dict) and table.keys() == {"tokens", "stable-prefix", "encoding"}:
        tokens, stable, encoding = table["tokens"], table["stable-prefix"], table["encoding"]
        if type(tokens) is int and type(stable) is int and isinstance(encoding, str):
            return LockEntry(tokens, stable, encoding)
    raise ConfigError(
        f"{file}: {name!r} must be a table of tokens, stable-prefix and encoding: "
        "restore the file, or delete it and update it"
    )


def write_lock(file: Path, entries: Mapping[str, LockEntry]) -> None:
    """Write the entries, sorted, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    tables = (
        f"\n[{_quoted(name)}]\ntokens = {entry.tokens}\nstable-prefix = {entry.stable_prefix}\n"
        f"encoding = {_quoted(entry.encoding)}\n"
        for name, entry in sorted(entries.items())
    )
    try:
        write_whole(file, (_HEAD + "".join(tables)).encode())
    except OSError as error:
        raise ConfigError(f"{file}: the lock file cannot be written: {error.strerror or error}") from error


def _quoted(text: str) -> str:
    """A basic string of TOML; bytes of file names that are no text are written as `\\udcff`."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return '"' + "".join(_ESCAPED.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'
