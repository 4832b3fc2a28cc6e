"""What a prompt has gained since its size was accepted: read from the commit that the lock file was last written in.

The lock file holds sizes alone. Its history says when they were accepted, and the project's history what the prompt
said then.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from promptopt.budgets import LOCK, Budgets, Measured
from promptopt.config import load_config
from promptopt.errors import PromptoptError
from promptopt.lint import Project, read_project
from promptopt.prompt import Message, Prompt, Text, flatten
from promptopt.tokens import measure

_GIT: Final = ("git", "-c", "core.fsmonitor=false")
_MOST_LINES: Final = 40
"""Lines of a diff that are shown."""
_TITLE: Final = 40
"""Characters of its first line by which a new part is called."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A project's prompts at some time: those with a size by name, and all with their parts by name."""

    measured: Mapping[str, Measured]
    prompts: Mapping[str, Prompt]


class NoSnapshotError(Exception):
    """Why it is not known what prompts said when their sizes were accepted."""


def snapshot_of(project: Project, measured: Sequence[Measured]) -> Snapshot:
    """The prompts of a project that was read."""
    return Snapshot({one.name: one for one in measured}, {prompt.name: prompt for prompt in project.prompts})


def accepted(root: Path) -> Snapshot:
    """The prompts of the project as they were when its lock file was last committed.

    Raises:
        NoSnapshotError: no git, no commit of the lock file, changes in it since, or a project that cannot be read.
    """
    with accepted_files(root) as folder:
        try:
            config = load_config([folder])
            project = read_project([folder], config, {})
            return snapshot_of(project, Budgets(config).measure(project.prompts))
        except PromptoptError as error:
            raise NoSnapshotError(f"the project could not be read as it was then: {error}") from error


@contextmanager
def accepted_files(root: Path) -> Iterator[Path]:
    """A folder with the project's files as they were when its lock file was last committed.

    Raises:
        NoSnapshotError: no git, no commit of the lock file, or changes in it since.
    """
    if _git(root, "status", "--porcelain", "--", LOCK).strip():
        raise NoSnapshotError(f"{LOCK} has changes that are not committed")
    commit = _git(root, "log", "-1", "--format=%H", "--", LOCK).decode("ascii").strip()
    if not commit:
        raise NoSnapshotError(f"{LOCK} is in no commit")
    with TemporaryDirectory(prefix="promptopt-") as folder:
        _unpack(_git(root, "archive", "--format=tar", commit), Path(folder))
        yield Path(folder)


def _unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive that belong below the folder; links may lead anywhere and are left out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            content = members.extractfile(member) if member.isreg() else None
            file = Path(os.path.abspath(folder / member.name))  # noqa: PTH100 (without following links)
            if content is not None and file.is_relative_to(folder):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run([*_GIT, "-C", str(root), *words], capture_output=True, check=False)  # noqa: S603 (no shell)
    except OSError as error:
        raise NoSnapshotError(f"git cannot be started: {error.strerror or error}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise NoSnapshotError(lines[0])
    return done.stdout


def growth_lines(name: str, before: Snapshot, now: Snapshot, project: Project) -> Iterator[str]:
    """What a prompt has gained: a table of its parts, its largest new part with its place, and the text as a diff."""
    if name not in before.measured:
        yield f"  {name} was no prompt then"
        return
    old, new = (_parts(name, snapshot) for snapshot in (before, now))
    call = now.measured[name].call
    yield from _table(
        {label: [measure(parts.get(label, ()), call).tokens for parts in (old, new)] for label in old | new}
    )
    before_text, after_text = ("\n".join(text for texts in parts.values() for text in texts) for parts in (old, new))
    sources = ((path, project.sources[path].text) for path in _files(name, now) if path in project.sources)
    yield from largest_new_part(before_text, after_text, lambda text: measure([text], call).tokens, sources)
    yield from _diff(before_text.splitlines(), after_text.splitlines())


def largest_new_part(
    old: str, new: str, count: Callable[[str], int], sources: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """The longest stretch of lines that is new, and where it stands in files (their names and texts), if anywhere."""
    after = new.splitlines()
    changes = SequenceMatcher(None, old.splitlines(), after, autojunk=False).get_opcodes()
    added = ["\n".join(after[start:end]) for kind, *_, start, end in changes if kind in ("insert", "replace")]
    if not added:
        return
    largest = max(added, key=count)
    title = next((line.strip() for line in largest.splitlines() if line.strip()), "")[:_TITLE]
    yield f'  largest new part: "{title}" (+{count(largest):,} tokens){_place(largest.strip(), sources)}'


def _place(text: str, sources: Iterable[tuple[str, str]]) -> str:
    """Where a stretch of lines begins and ends; what stands between may be filled in."""
    lines = [line.strip() for line in text.splitlines()]
    for path, source in sources:
        rows = source.splitlines()
        first = next((row for row, text in enumerate(rows) if lines[0] in text), len(rows))
        last = next((row for row in range(first, len(rows)) if lines[-1] in rows[row]), None)
        if last is not None:
            return f", {path}:{first + 1}-{last + 1}" if last > first else f", {path}:{first + 1}"
    return ""


def _files(name: str, now: Snapshot) -> list[str]:
    """The files that supply a prompt's text."""
    prompt = now.prompts.get(name)
    if prompt is None:
        return [name]
    texts = (part for part in prompt.flatten() if isinstance(part, Text))
    return list(dict.fromkeys(segment.location.path for text in texts for segment in text.map))


def _parts(name: str, snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """The constant texts of a prompt by who speaks; of a prompt file all of them."""
    prompt = snapshot.prompts.get(name)
    if prompt is None:
        return {"text": snapshot.measured[name].texts}
    parts: dict[str, tuple[str, ...]] = {}
    tools = [
        part.value
        for tool in (prompt.tools.tools if prompt.tools else ())
        for part in flatten(tool.parts)
        if isinstance(part, Text)
    ]
    if tools:
        parts["tools"] = tuple(tools)
    for message in prompt.messages:
        if isinstance(message, Message):
            texts = [part.value for block in message.blocks for part in flatten(block.parts) if isinstance(part, Text)]
            parts[message.role] = (*parts.get(message.role, ()), *texts)
    return parts


def _table(sizes: Mapping[str, Sequence[int]]) -> Iterator[str]:
    rows = [(label, f"{old:,}", f"{new:,}", f"{new - old:+,}") for label, (old, new) in sizes.items()]
    rows.sort(key=lambda row: -int(row[3].replace(",", "")))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for label, old, new, change in rows:
        yield f"  {label:{widths[0]}}  {old:>{widths[1]}} -> {new:>{widths[2]}}  {change:>{widths[3]}}"


def _diff(old: list[str], new: list[str]) -> Iterator[str]:
    lines = list(unified_diff(old, new, "accepted", "now", n=1, lineterm=""))
    yield from (f"    {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"    and {len(lines) - _MOST_LINES} more lines"
