"""Rewritten files: as a diff, and on disk, whole or not at all."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from promptopt.source import SourceFile, UnreadableSourceError, decode_source
from promptopt.writing import write_whole

_BOM: Final = b"\xef\xbb\xbf"
_WRITABLE: Final = 0o222
_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was left as it is, and why."""

    path: str
    reason: str


def encoded(source: SourceFile, text: str) -> bytes:
    """The text in the bytes of its file: with its encoding and its byte-order mark.

    Raises:
        UnicodeEncodeError: the encoding lacks a character.
    """
    return (_BOM if source.bom else b"") + text.encode("utf-8" if source.bom else source.encoding)


def write_all(
    root: Path, sources: Mapping[str, SourceFile], texts: Mapping[str, str], bound: Iterable[frozenset[str]]
) -> list[Failure]:
    """Write the texts over their files; returns what was left alone.

    Args:
        root: the folder that paths are relative to.
        sources: the files as they were read: one that holds something else by now is left alone.
        texts: the new texts by path.
        bound: paths of files that one fix changes together: all of them are written, or none.
    """
    failures = []
    for group in _groups(texts, bound):
        failures += _write_group(root, sources, {path: texts[path] for path in group})
    return failures


def _groups(texts: Mapping[str, str], bound: Iterable[frozenset[str]]) -> list[list[str]]:
    """The paths, those together that depend on each other."""
    groups = [{path} for path in sorted(texts)]
    for paths in bound:
        joined = [group for group in groups if group & paths]
        groups = [group for group in groups if not group & paths]
        groups.append(set().union(*joined))
    return sorted(sorted(group) for group in groups if group)


def _write_group(root: Path, sources: Mapping[str, SourceFile], texts: Mapping[str, str]) -> list[Failure]:
    contents = {}
    for path, text in texts.items():
        before, reason = _untouched(root / path, sources[path])
        if before is None:
            return _left(texts, path, reason)
        try:
            contents[path] = (before, encoded(sources[path], text))
        except UnicodeEncodeError as error:
            return _left(texts, path, f"its encoding {sources[path].encoding} lacks a character of the fix: {error}")
    written: list[str] = []
    for path, (_, content) in contents.items():
        try:
            write_whole(root / path, content)
        except OSError as error:
            for done in written:
                with suppress(OSError):
                    write_whole(root / done, contents[done][0])
            return _left(texts, path, f"cannot be written: {error.strerror or error}")
        written.append(path)
    return []


def _left(texts: Mapping[str, str], path: str, reason: str) -> list[Failure]:
    others = [other for other in texts if other != path]
    return [Failure(path, reason), *(Failure(other, f"changes together with {path}") for other in others)]


def _untouched(file: Path, source: SourceFile) -> tuple[bytes | None, str]:
    """The file's bytes where they are what was read and can be written back, else None and the reason."""
    try:
        content = file.read_bytes()
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"
    try:
        now = decode_source(content, source.path)
    except UnreadableSourceError as error:
        return None, str(error)
    if now != source:
        return None, "changed while promptopt was at work: run it again"
    if encoded(source, source.text) != content:
        return None, f"its encoding {source.encoding} cannot be written back as it was"
    if not file.stat().st_mode & _WRITABLE or not os.access(file, os.W_OK):
        return None, "is read-only"
    return content, ""


def unified_diff(sources: Mapping[str, SourceFile], texts: Mapping[str, str], names: Mapping[str, str]) -> str:
    """What changes, as `diff -u` shows it; `names` are what paths are shown as."""
    return "".join(
        line for path in sorted(texts) for line in _diff(sources[path].text, texts[path], names.get(path, path))
    )


def _diff(old: str, new: str, name: str) -> Iterator[str]:
    lines = difflib.unified_diff(_LINES.findall(old), _LINES.findall(new), name, name)
    for line in lines:
        yield line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n"
