"""Baselines: the findings that a project has accepted, so that a run reports only what is new.

A baseline is a JSON file for version control, one line for each finding. Findings are known again by their
fingerprints, which hold no line numbers; the other fields tell people what was accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from promptopt.errors import UsageError
from promptopt.finding import Finding
from promptopt.writing import write_whole

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """Fingerprints of accepted findings."""

    fingerprints: frozenset[str]

    def new(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The findings that were not accepted."""
        return tuple(finding for finding in findings if finding.fingerprint not in self.fingerprints)


def read_baseline(file: Path) -> Baseline:
    """The baseline in `file`.

    Raises:
        UsageError: no such file, no JSON, or not written by `write_baseline`.
    """
    try:
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{file}: the baseline cannot be read: {reason}: --write-baseline {file} makes one") from error
    except ValueError as error:
        raise UsageError(f"{file}: not a baseline: {error}: --write-baseline {file} writes a new one") from error
    return Baseline(frozenset(_fingerprints(content, file)))


def _fingerprints(content: Any, file: Path) -> list[str]:
    if isinstance(content, dict) and content.get("version") == VERSION and isinstance(content.get("findings"), list):
        entries = [entry.get("fingerprint") if isinstance(entry, dict) else None for entry in content["findings"]]
        found = [entry for entry in entries if isinstance(entry, str)]
        if len(found) == len(entries):
            return found
    raise UsageError(f"{file}: not a baseline of version {VERSION}: --write-baseline {file} writes a new one")


def write_baseline(file: Path, findings: Iterable[Finding]) -> None:
    """Write a baseline of `findings` to `file`, whole or not at all.

    Raises:
        UsageError: the file cannot be written.
    """
    entries = [json.dumps(_entry(finding)) for finding in findings]
    lines = ",\n".join(f"    {entry}" for entry in entries)
    body = f"[\n{lines}\n  ]" if entries else "[]"
    text = f'{{\n  "version": {VERSION},\n  "findings": {body}\n}}\n'
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise UsageError(f"{file}: the baseline cannot be written: {error.strerror or error}") from error


def _entry(finding: Finding) -> dict[str, str | None]:
    return {
        "code": finding.code,
        "path": finding.location.path,
        "prompt": finding.prompt,
        "message": finding.message,
        "fingerprint": finding.fingerprint,
    }
