"""Which files a project has: a walk that honours `.gitignore` and the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from promptopt.config import Config

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EXCLUDED_FOLDERS: Final = frozenset(
    (
        ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache",
        ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "__pypackages__", "build", "dist", "node_modules",
        "site-packages", "venv",
    )
)  # fmt: skip
"""Names of folders that hold no source of the project."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A file or folder that could not be read (`unreadable`) or parsed (`syntax`).

    `path` is relative to the project's root; `offset` is in characters, None where it is unknown.
    """

    path: str
    message: str
    offset: int | None
    kind: Literal["unreadable", "syntax"]


PYTHON: Final = (".py",)


def walk(
    root: Path,
    config: Config,
    faults: list[Fault] | None = None,
    *,
    folder: str = "",
    suffixes: tuple[str, ...] = PYTHON,
) -> list[str]:
    """The project's files of these suffixes, or those of one `folder` of it, relative to `root`, with `/`, sorted.

    Left out are what `.gitignore` files exclude (those above `root` in the same repository too),
    `EXCLUDED_FOLDERS`, virtual environments, and what the configuration's `include` and `exclude`
    leave out. Links to folders are not followed. Folders that cannot be listed are added to `faults`.
    A `folder` is walked even if an ignore file covers it.
    """
    prefix = f"{folder}/" if folder else ""
    ignores = [ignore for ignore in (*_inherited(root), *_above(root, folder)) if not ignore.covers(folder)]
    chosen = Selection(root, config, suffixes)
    return sorted(_files(root, prefix, ignores, chosen, [] if faults is None else faults))


class Selection:
    """The configuration's `include` and `exclude` patterns, and the suffixes of the files that are looked for."""

    def __init__(self, root: Path, config: Config, suffixes: tuple[str, ...] = PYTHON) -> None:
        self._suffixes = suffixes
        relative = root.relative_to(config.patterns_root) if root.is_relative_to(config.patterns_root) else Path()
        self._prefix = "" if relative == Path() else relative.as_posix() + "/"
        self._include = _spec(config.include)
        self._exclude = _spec(config.exclude)

    def excludes(self, path: str) -> bool:
        """Whether `exclude` names the file or folder (`path` then ends in `/`)."""
        return self._exclude is not None and self._exclude.match_file(self._prefix + path)

    def includes(self, path: str) -> bool:
        """Whether the file has one of the suffixes, and `include` names it or is not configured."""
        if not path.endswith(self._suffixes):
            return False
        return self._include is None or self._include.match_file(self._prefix + path)


@dataclass(frozen=True, slots=True)
class _Ignore:
    """One ignore file; its patterns are relative to the folder of `prefix`.

    `prefix` is relative to the root; `above` is the way down to the root from a folder above it.
    """

    spec: GitIgnoreSpec
    prefix: str = ""
    above: str = ""

    def verdict(self, path: str) -> bool | None:
        return self.spec.check_file(self.above + path[len(self.prefix) :]).include

    def covers(self, folder: str) -> bool:
        """Whether it ignores a folder or one around it."""
        parts = folder.split("/") if folder else []
        around = ("".join(f"{part}/" for part in parts[: count + 1]) for count in range(len(parts)))
        return any(self.verdict(path) for path in around if len(path) > len(self.prefix))


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    if not patterns:
        return None
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (loaded only where there are patterns)

    return GitIgnoreSpec.from_lines(patterns)


def _read_spec(file: Path) -> GitIgnoreSpec | None:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        # an ignore file that cannot be read ignores nothing, as in git
        return None
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    try:
        return _spec(patterns)
    except (ValueError, re.error):
        return _spec([line for line in patterns if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    """Whether the line of an ignore file is a pattern; one that is none matches nothing, as in git."""
    try:
        _spec([line])
    except (ValueError, re.error):
        return False
    return True


def _inherited(root: Path) -> list[_Ignore]:
    """Ignore files above `root` up to the top of its repository, outermost first."""
    around = [root, *root.parents]
    top = next((index for index, folder in enumerate(around) if (folder / ".git").exists()), None)
    if top is None:
        return []
    files = [(around[top], around[top] / ".git" / "info" / "exclude")]
    files += [(folder, folder / ".gitignore") for folder in reversed(around[1 : top + 1])]
    result = []
    for folder, file in files:
        spec = _read_spec(file)
        if spec is not None:
            below = root.relative_to(folder).as_posix()
            result.append(_Ignore(spec, above="" if below == "." else f"{below}/"))
    return result


def _above(root: Path, folder: str) -> Iterator[_Ignore]:
    """Ignore files from `root` down to the folder around `folder`."""
    parts = folder.split("/") if folder else []
    for count in range(len(parts)):
        prefix = "".join(f"{part}/" for part in parts[:count])
        spec = _read_spec(root / prefix / ".gitignore")
        if spec is not None:
            yield _Ignore(spec, prefix)


def _files(root: Path, prefix: str, ignores: list[_Ignore], chosen: Selection, faults: list[Fault]) -> Iterator[str]:
    try:
        with os.scandir(root / prefix) as listing:
            entries = list(listing)
    except OSError as error:
        faults.append(Fault(prefix.rstrip("/") or ".", error.strerror or type(error).__name__, None, "unreadable"))
        return
    names = {entry.name for entry in entries}
    if prefix and "pyvenv.cfg" in names:
        return
    if ".gitignore" in names:
        spec = _read_spec(root / prefix / ".gitignore")
        ignores = [*ignores, _Ignore(spec, prefix)] if spec else ignores
    for entry in entries:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            folder = f"{path}/"
            if entry.name not in EXCLUDED_FOLDERS and not _ignored(folder, ignores) and not chosen.excludes(folder):
                yield from _files(root, folder, ignores, chosen, faults)
            continue
        wanted = chosen.includes(path) and not chosen.excludes(path)
        if wanted and _is_file(entry) and not _ignored(path, ignores):
            yield path


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file or a link to one; a link that leads to itself is neither."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _ignored(path: str, ignores: list[_Ignore]) -> bool:
    for ignore in reversed(ignores):
        verdict = ignore.verdict(path)
        if verdict is not None:
            return verdict
    return False
