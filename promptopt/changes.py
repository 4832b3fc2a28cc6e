"""Which lines of a git checkout differ from another commit, and which findings touch them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from promptopt.errors import UsageError
from promptopt.finding import Finding
from promptopt.source import Location, SourceFile

_HUNK: Final = re.compile(rb"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_UNKNOWN: Final = "no such commit (fetch it first)"
_UNRELATED: Final = "shares no commit with HEAD (a shallow clone? fetch more of its history)"
_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
"""Nothing that a repository's configuration names is started."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed rows by path: `(first, last)` from 1, inclusive; `(n, n - 1)` where rows before `n` were deleted.

    `added` are files that git does not know yet: all of their rows are new.
    """

    rows: Mapping[str, tuple[tuple[int, int], ...]]
    added: frozenset[str]

    def touch(self, finding: Finding, sources: Mapping[str, SourceFile]) -> bool:
        """Whether the finding's place, or a place of its chain, stands in changed rows."""
        places = [finding.location, *(related.location for related in finding.related)]
        return any(self._holds(place, sources.get(place.path)) for place in places)

    def _holds(self, place: Location, source: SourceFile | None) -> bool:
        if place.path in self.added:
            return True
        changed = self.rows.get(place.path, ())
        if source is None or not changed:
            return bool(changed)
        first, last = source.position(place.span.start).row, source.position(place.span.end).row
        return any(start <= last and end >= first for start, end in changed)


def changes_since(base: str, root: Path) -> Changes:
    """What the files below `root` have that the commit where `base` and HEAD parted has not.

    Uncommitted changes and files that git does not know yet count; ignored files do not.

    Raises:
        UsageError: no git, no checkout, an unknown `base`, or no common commit.
    """
    _git(root, "rev-parse", "--is-inside-work-tree")
    _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}", fault=f"{base}: {_UNKNOWN}"
    )
    parting = _git(root, "merge-base", base, "HEAD", fault=f"{base}: {_UNRELATED}")
    commit = parting.decode("ascii").strip()
    options = ("--relative", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    patch = _git(root, "diff", *options, "--src-prefix=a/", "--dst-prefix=b/", commit, "--")
    unknown = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return Changes(_rows(patch), frozenset(_path(name) for name in unknown.split(b"\0") if name))


def _git(root: Path, *words: str, fault: str = "") -> bytes:
    """What a git command prints; its own first line tells a failure that `fault` does not."""
    try:
        done = subprocess.run([*_GIT, "-C", str(root), *words], capture_output=True, check=False)  # noqa: S603 (no shell)
    except OSError as error:
        raise UsageError(f"--diff-base needs git: {error.strerror or error}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"{root}: --diff-base: {fault or (lines or ['git failed'])[0]}")
    return done.stdout


def _rows(patch: bytes) -> dict[str, tuple[tuple[int, int], ...]]:
    """Changed rows of each file in a patch without context."""
    rows: dict[str, list[tuple[int, int]]] = {}
    path = ""
    content = 0
    for line in patch.split(b"\n"):
        hunk = _HUNK.match(line) if content == 0 else None
        if hunk:
            removed, start, count = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            content = removed + count
            first = start if count else start + 1
            rows.setdefault(path, []).append((first, first + count - 1))
        elif content and line[:1] in (b"+", b"-"):
            content -= 1
        elif line.startswith(b"+++ "):
            path = _path(_unquoted(line[4:].removesuffix(b"\t")).removeprefix(b"b/"))
    return {path: tuple(found) for path, found in rows.items()}


def _unquoted(name: bytes) -> bytes:
    """A file name that git has put in quotes, with escapes as C has them."""
    if not name.startswith(b'"'):
        return name
    return name[1:-1].decode("unicode_escape").encode("latin-1")


def _path(name: bytes) -> str:
    return os.fsdecode(name)
