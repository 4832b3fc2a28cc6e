"""Rounds of fixes, in memory: propose, make them, read the project anew, keep what is proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from promptopt.finding import Applicability, Edit, Finding
from promptopt.fix.edits import go_together, rewritten
from promptopt.fix.files import encoded
from promptopt.fix.parsing import syntax_fault
from promptopt.fix.proof import Fault, Reading, faults, key
from promptopt.fix.proposal import Proposal
from promptopt.fix.propose import proposals
from promptopt.lint import Report
from promptopt.source import SourceFile

MOST_ROUNDS: Final = 10

Read: TypeAlias = Callable[[Mapping[Path, bytes]], Reading]
"""Reads the project with contents in place of files."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was made: its finding as it was, and tokens of the prompt's stable prefix before and after."""

    finding: Finding
    title: str
    row: int
    prefix: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What fixing came to: new texts by path, the files as they were, what was done, and what failed its proof."""

    texts: Mapping[str, str]
    sources: Mapping[str, SourceFile]
    applied: tuple[Applied, ...]
    refused: tuple[tuple[Finding, str], ...]
    bound: tuple[frozenset[str], ...]


def fix_all(read: Read, wanted: Callable[[Report], Sequence[Finding]], least: Applicability, root: Path) -> Outcome:
    """Fix what `wanted` picks of each reading, in rounds, until nothing is left or `MOST_ROUNDS` are over.

    Args:
        read: reads the project.
        wanted: the findings to fix; asked in every round.
        least: what a fix must be to be made: `UNSAFE` takes safe ones too.
        root: the folder that paths are relative to.
    """
    return _Rounds(read, least, root).run(wanted)


def with_fixes(report: Report, read: Read, root: Path) -> Report:
    """The report with fixes in its findings: the first one that is proved, else one that is only to be shown."""
    rounds = _Rounds(read, Applicability.UNSAFE, root)
    reading = rounds.reading
    found = []
    for finding in report.findings:
        options = list(proposals(finding, reading))
        proved = (one for one in options if rounds.is_allowed(one) and not rounds.attempt([one]).faults)
        shown = (one for one in options if one.fix.applicability is Applicability.DISPLAY)
        best = next(proved, None) or next(shown, None)
        found.append(replace(finding, fixes=(best.fix,) if best else ()))
    return replace(report, findings=tuple(found))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Proposals that were made: the texts that they lead to, the project read anew, what speaks against them."""

    texts: Mapping[str, str]
    reading: Reading | None
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class _Rounds:
    read: Read
    least: Applicability
    root: Path
    originals: dict[str, SourceFile] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    failed: dict[tuple[Edit, ...], tuple[Finding, str]] = field(default_factory=dict)
    reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        self.reading = self.read({})

    def run(self, wanted: Callable[[Report], Sequence[Finding]]) -> Outcome:
        """All rounds."""
        applied: list[Applied] = []
        bound: list[frozenset[str]] = []
        for _ in range(MOST_ROUNDS):
            before = self.reading
            made = self._round(wanted(before.report))
            if not made:
                break
            applied += [_applied(one, before, self.reading) for one in made]
            bound += [frozenset(edit.location.path for edit in one.fix.edits) for one in made]
        fixed = {key(one.finding) for one in applied}
        refused = tuple(one for one in self.failed.values() if key(one[0]) not in fixed)
        return Outcome(self.texts, self.originals, tuple(applied), refused, tuple(bound))

    def _round(self, wanted: Sequence[Finding]) -> list[Proposal]:
        """Make what can be made at once, of the first proposals that have not failed; what fails makes room for the
        next. Returns what was made."""
        while batch := self._batch(wanted):
            made, attempt = self._settle(batch)
            if attempt is not None and attempt.reading is not None:
                for path in attempt.texts:
                    self.originals.setdefault(path, self.reading.report.sources[path])
                self.texts = {**self.texts, **attempt.texts}
                self.reading = attempt.reading
                return made
        return []

    def _batch(self, wanted: Sequence[Finding]) -> list[Proposal]:
        batch: list[Proposal] = []
        for finding in wanted:
            options = (one for one in proposals(finding, self.reading) if self.is_allowed(one))
            one = next(options, None)
            if one is not None and go_together(one.fix, (other.fix for other in batch)):
                batch.append(one)
        return batch

    def is_allowed(self, proposal: Proposal) -> bool:
        """Whether a proposal may be made, and has not failed: only files that are reported on are edited."""
        fix, files = proposal.fix, self.reading.report.files
        inside = all(edit.location.path in files for edit in fix.edits)
        return inside and fix.applicability >= self.least and fix.edits not in self.failed

    def _settle(self, batch: list[Proposal]) -> tuple[list[Proposal], _Attempt | None]:
        """Those of a batch that hold together. Where it is not known which ones a fault is about, each half of them is
        tried by itself."""
        kept: list[Proposal] = []
        best: _Attempt | None = None
        groups = [batch]
        while groups:
            group = groups.pop(0)
            attempt = self.attempt([*kept, *group])
            if not attempt.faults:
                kept, best = [*kept, *group], attempt
                continue
            blamed = {id(one): fault.reason for fault in attempt.faults for one in fault.about}
            if len(group) == 1:
                blamed.setdefault(id(group[0]), attempt.faults[0].reason)
            innocent = [one for one in group if id(one) not in blamed]
            if len(innocent) == len(group):
                half = len(group) // 2
                groups[:0] = [group[:half], group[half:]]
                continue
            for one in group:
                if id(one) in blamed:
                    self.failed[one.fix.edits] = (one.finding, blamed[id(one)])
            groups[:0] = [innocent] if innocent else []
        return kept, best

    def attempt(self, made: Sequence[Proposal]) -> _Attempt:
        """Make proposals, in memory, and judge them."""
        sources = self.reading.report.sources
        texts = rewritten((one.fix for one in made), sources)
        contents = {}
        for path, text in {**self.texts, **texts}.items():
            source = self.originals.get(path) or sources[path]
            if reason := syntax_fault(path, text):
                return _Attempt(texts, None, (Fault(f"{path} could not be parsed: {reason}", _editing(path, made)),))
            try:
                contents[self.root / path] = encoded(source, text)
            except UnicodeEncodeError:
                reason = f"{source.encoding}, the encoding of {path}, lacks a character of the fix"
                return _Attempt(texts, None, (Fault(reason, _editing(path, made)),))
        after = self.read(contents)
        return _Attempt(texts, after, tuple(faults(self.reading, after, made)))


def _editing(path: str, made: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """The proposals that edit a file, where it is one alone."""
    found = tuple(one for one in made if any(edit.location.path == path for edit in one.fix.edits))
    return found if len(found) == 1 else ()


def _applied(made: Proposal, before: Reading, after: Reading) -> Applied:
    finding = made.finding
    row = before.report.sources[finding.location.path].position(finding.location.span.start).row
    old, new = before.prompts.get(finding.prompt or ""), after.prompts.get(finding.prompt or "")
    prefix = (old.stable_prefix()[0], new.stable_prefix()[0]) if old and new and made.grows else None
    return Applied(finding, made.fix.title, row, prefix)
