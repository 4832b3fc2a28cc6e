"""What rules report: findings, remedies, fixes. Plain data, no syntax trees."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise

from promptopt.source import Location


class Severity(IntEnum):
    """How much a finding matters."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """The word used on the command line and in reports."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Severity:
        """Raises `ValueError` on anything but info, warning and error."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"unknown severity {word!r}: use info, warning or error") from None


class Applicability(IntEnum):
    """What applying a fix may change: DISPLAY is never applied, UNSAFE may change what the model
    reads or how the program behaves, SAFE keeps both."""

    DISPLAY = 0
    UNSAFE = 1
    SAFE = 2

    @property
    def label(self) -> str:
        """The word used in reports."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text at `location` with `content`."""

    location: Location
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: sorted, never overlapping (checked)."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]

    def __post_init__(self) -> None:
        places = [edit.location for edit in self.edits]
        if places != sorted(places):
            raise ValueError(f"fix {self.title!r}: edits are not sorted")
        for first, second in pairwise(places):
            if first.path == second.path and first.span.end > second.span.start:
                raise ValueError(f"fix {self.title!r}: edits overlap at {second}")


@dataclass(frozen=True, slots=True)
class Related:
    """A further place that explains a finding: a link of the chain from source to prompt."""

    message: str
    location: Location


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix by name and arguments; it is built only when asked for. `title` is shown as advice."""

    name: str
    title: str
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One report. `code` and `name` are the rule's, `prompt` names the prompt it concerns, `subject`
    is the normalised text of the place (it keeps the fingerprint steady when lines move). `group` is
    a key of the cause: of all findings about one prompt and group only one is reported. `wording` is the
    message or what turns into it: tokens are counted only for findings that are shown."""

    code: str
    name: str
    severity: Severity
    wording: object
    location: Location
    prompt: str | None = None
    subject: str = ""
    related: tuple[Related, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    fixes: tuple[Fix, ...] = ()
    group: str = ""
    fingerprint: str = field(default="", compare=False)

    @property
    def message(self) -> str:
        """What is wrong, why it matters, what to do."""
        return str(self.wording)


def fingerprinted(findings: list[Finding]) -> list[Finding]:
    """The findings with fingerprints: a hash of rule, path, prompt, subject and an ordinal among
    equals; never of a line number, so that edits elsewhere keep it."""
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for finding in findings:
        key = (finding.code, finding.location.path, finding.prompt or "", _normalised(finding.subject))
        ordinal = seen.get(key, 0)
        seen[key] = ordinal + 1
        digest = hashlib.sha256("\0".join((*key, str(ordinal))).encode("utf-8", "surrogatepass"))
        result.append(replace(finding, fingerprint=digest.hexdigest()[:32]))
    return result


def _normalised(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
