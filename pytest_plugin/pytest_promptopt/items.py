"""Prompt files and budgets as test items: findings of `promptopt check`, and budgets of the configuration."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Final

import pytest

from promptopt.budgets import LOCK, Budgets, Measured
from promptopt.config import NAME_MARK, load_config
from promptopt.errors import PromptoptError
from promptopt.finding import Finding, Severity
from promptopt.lint import Project, Report, prepare, read_project, run_rules
from promptopt.rule import load_rules
from pytest_promptopt.errors import PromptAssertionError, PromptBudgetError, PromptLintError, PromptoptWarning
from pytest_promptopt.linting import lint_text
from pytest_promptopt.notes import Note, note
from pytest_promptopt.snapshots import NoSnapshotError, Snapshot, accepted, growth_lines, snapshot_of

FILES: Final = "promptopt_files"
_TOLD_OTHERWISE: Final = frozenset({"PO001", "PO002", "PO202"})
"""Findings that have items of their own: files that cannot be read, and budgets."""


class Workspace:
    """The project that pytest runs for, read once."""

    def __init__(self, config: pytest.Config) -> None:
        try:
            self.config = load_config([config.rootpath])
            self.project: Project = read_project([config.rootpath], self.config, {})
            self.budgets = Budgets(self.config)
        except PromptoptError as error:
            raise pytest.UsageError(str(error)) from error

    @classmethod
    def of(cls, config: pytest.Config) -> Workspace:
        """That of a run.

        Raises:
            pytest.UsageError: faulty configuration, samples or lock file.
        """
        if _WORKSPACE not in config.stash:
            config.stash[_WORKSPACE] = cls(config)
        return config.stash[_WORKSPACE]

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """Sizes of all prompts."""
        return self.budgets.measure(self.project.prompts)

    @cached_property
    def report(self) -> Report:
        """Findings of all rules."""
        try:
            return run_rules(self.project, prepare(self.config, load_rules()))
        except PromptoptError as error:
            raise pytest.UsageError(str(error)) from error

    @cached_property
    def accepted(self) -> Snapshot | str:
        """The prompts as they were accepted, or why they are not known."""
        try:
            return accepted(self.budgets.lock_file.parent)
        except NoSnapshotError as error:
            return str(error)

    @cached_property
    def unread(self) -> dict[str, str]:
        """Files that could not be read, and why."""
        return {fault.location.path: fault.reason for fault in self.project.faults}

    def prompt_files(self) -> list[str]:
        """Files that hold prompts, calls or templates, or that there are findings about."""
        prompts = self.project.prompts
        paths = {place.path for prompt in prompts for place in (prompt.location, prompt.call.location)}
        paths |= {template.location.path for template in self.project.templates}
        paths |= {finding.location.path for finding in self.findings()}
        return sorted(paths & set(self.project.files))

    def findings(self, path: str | None = None) -> list[Finding]:
        """Warnings and errors about a file, or about all."""
        return [
            finding
            for finding in self.report.findings
            if path in (None, finding.location.path)
            and finding.severity >= Severity.WARNING
            and finding.code not in _TOLD_OTHERWISE
        ]

    def stale(self) -> list[str]:
        """Entries of the lock file that are no prompt any more."""
        return self.budgets.stale(self.measured, [path for path in self.project.files if path not in self.unread])

    def update_lock(self) -> None:
        """Write the sizes of all prompts to the lock file."""
        try:
            self.budgets.update(self.measured, [path for path in self.project.files if path not in self.unread])
            self.budgets = Budgets(self.config)
        except PromptoptError as error:
            raise pytest.UsageError(str(error)) from error
        self.__dict__.pop("measured", None)


_WORKSPACE: Final = pytest.StashKey[Workspace]()


class PromptItem(pytest.Item):
    """Something about the file `path`, relative to the project's root; fails with text alone."""

    def __init__(self, *, workspace: Workspace, subject: str, **names: Any) -> None:
        super().__init__(**names)
        self.workspace = workspace
        self.subject = subject

    @property
    def file(self) -> str:
        """The file that it is about."""
        return self.subject.partition(NAME_MARK)[0]

    def tell(self, words: str) -> None:
        """Warn, at the file."""
        warnings.warn_explicit(PromptoptWarning(words), None, str(self.workspace.project.root / self.file), 1)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The sentences; a traceback would show promptopt's own code."""
        if isinstance(excinfo.value, PromptAssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands."""
        return self.workspace.project.root / self.file, None, self.name


class LintItem(PromptItem):
    """The findings about a file."""

    def runtest(self) -> None:
        """Fail with what `promptopt check` prints."""
        findings = self.workspace.findings(self.subject)
        if findings:
            report = replace(self.workspace.report, findings=tuple(findings), files=(self.subject,))
            text = lint_text(report, Severity.WARNING)
            raise PromptLintError(text)


class UnreadItem(PromptItem):
    """A file that could not be read."""

    def runtest(self) -> None:
        """Fail with the reason."""
        reason = self.workspace.unread[self.subject]
        raise PromptBudgetError(f"{self.subject} could not be read, so that its prompts are missing: {reason}")


class BudgetItem(PromptItem):
    """One prompt, or prompt file, with a budget."""

    def runtest(self) -> None:
        """Fail with what `promptopt budget` and `promptopt check` say of it, and what it has gained."""
        one = next(one for one in self.workspace.measured if one.name == self.subject)
        breaches = list(one.breaches())
        note(
            Note(
                one.name,
                tokens=one.size.tokens,
                budget=one.budget.tokens,
                stable_prefix=one.stable.tokens,
                change=one.growth,
                failed=bool(breaches),
            )
        )
        if one.budget.growth is not None and one.locked is None:
            self.tell(f"{one.name} is not in {LOCK}: --promptopt-update writes it")
        if breaches:
            summary = f"{one.name} {'; it '.join(breach.detail for breach in breaches)}"
            raise PromptBudgetError("\n".join([summary, *self._growth(one)]))

    def _growth(self, one: Measured) -> Iterator[str]:
        if not one.growth or one.growth < 0:
            return
        before = self.workspace.accepted
        if isinstance(before, str):
            yield f"  (what it has gained is not known: {before})"
        else:
            now = snapshot_of(self.workspace.project, self.workspace.measured)
            yield from growth_lines(one.name, before, now, self.workspace.project)


class LockItem(PromptItem):
    """The lock file: whether all that it has are prompts."""

    def runtest(self) -> None:
        """Tell entries that are none."""
        for name in self.workspace.stale():
            self.tell(f"{LOCK}: {name!r} is no prompt any more: --promptopt-update takes it out")


class _Collected(pytest.Collector):
    """Gives the items of a whole project their common place in the tree."""

    def collect(self) -> list[pytest.Item]:
        return []


class PromptFile(pytest.File):
    """A file that `promptopt_files` names."""

    def collect(self) -> Iterator[PromptItem]:
        """Its findings and its budgets."""
        workspace = Workspace.of(self.config)
        path = os.path.relpath(self.path, workspace.project.root).replace(os.sep, "/")
        if path in workspace.unread:
            yield UnreadItem.from_parent(self, name="unread", workspace=workspace, subject=path)
            return
        yield LintItem.from_parent(self, name="lint", workspace=workspace, subject=path)
        for one in workspace.measured:
            if one.keys and one.name.partition(NAME_MARK)[0] == path:
                name = one.name.partition(NAME_MARK)[2] or "budget"
                yield BudgetItem.from_parent(self, name=name, workspace=workspace, subject=one.name)


class PromptFiles:
    """The hook that collects files by the patterns of `promptopt_files`; registered where there are some."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> PromptFile | None:
        """A file that one of the patterns matches, from the right as `PurePath.match` does."""
        if any(PurePath(file_path).match(pattern) for pattern in self._patterns):
            collected: PromptFile = PromptFile.from_parent(parent, path=file_path)
            return collected
        return None


def project_items(session: pytest.Session, collected: Iterable[pytest.Item]) -> list[pytest.Item]:
    """An item for each prompt file and each prompt with a budget that is not `collected` yet, by name."""
    workspace = Workspace.of(session.config)
    parent = _Collected.from_parent(session, name="promptopt", nodeid="promptopt")
    done = {item.file for item in collected if isinstance(item, PromptItem)}
    plan: list[tuple[type[PromptItem], str, str]] = [(UnreadItem, path, path) for path in sorted(workspace.unread)]
    plan += [(LintItem, f"{path}{NAME_MARK}lint", path) for path in workspace.prompt_files()]
    plan += [(BudgetItem, one.name, one.name) for one in workspace.measured if one.keys]
    plan += [(LockItem, LOCK, LOCK)] if workspace.budgets.lock_file.exists() else []
    items: list[pytest.Item] = [
        kind.from_parent(parent, name=name, workspace=workspace, subject=subject) for kind, name, subject in plan
    ]
    return [item for item in items if isinstance(item, PromptItem) and item.file not in done]


def check_configuration(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for what is wrong with it: in a worker of pytest-xdist that would be a crash."""
    try:
        settings = load_config([config.rootpath])
        prepare(settings, load_rules())
        Budgets(settings)
    except PromptoptError as error:
        raise pytest.UsageError(str(error)) from error


def update_lock(config: pytest.Config) -> None:
    """Write the sizes of all prompts to the lock file."""
    Workspace.of(config).update_lock()
