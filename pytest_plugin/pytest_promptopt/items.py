"""Budgets of the configuration as test items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from promptopt.budgets import Budgets, Measured
from promptopt.config import load_config
from promptopt.errors import PromptoptError
from promptopt.lint import Project, read_project
from pytest_promptopt.errors import PromptBudgetError


class BudgetItem(pytest.Item):
    """One prompt, or prompt file, with a budget; `breaches` says what does not hold."""

    def __init__(self, *, breaches: Callable[[], Sequence[str]], file: Path, **names: Any) -> None:
        super().__init__(**names)
        self._breaches = breaches
        self._file = file

    def runtest(self) -> None:
        """Fail with what `promptopt budget` and `promptopt check` say of it."""
        if breaches := self._breaches():
            raise PromptBudgetError(f"{self.name} {'; it '.join(breaches)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The sentence; a traceback would show promptopt's own code."""
        if isinstance(excinfo.value, PromptBudgetError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the prompt stands."""
        return self._file, None, f"budget of {self.name}"


class _Budgets(pytest.Collector):
    """Gives the items their common place in the tree."""

    def collect(self) -> list[pytest.Item]:
        return []


def budget_items(session: pytest.Session) -> list[pytest.Item]:
    """An item for each prompt and file with a budget, by name; one that fails for each file that could not be read."""
    project, budgets = _read(session.config)
    parent = _Budgets.from_parent(session, name="promptopt", nodeid="promptopt")
    unread = sorted({fault.location.path: fault.reason for fault in project.faults}.items())
    subjects = [(path, path, partial(_unread, reason)) for path, reason in unread]
    subjects += [
        (one.name, one.location.path, partial(_breaches, one)) for one in budgets.measure(project.prompts) if one.keys
    ]
    return [
        BudgetItem.from_parent(parent, name=name, breaches=breaches, file=project.root / path)
        for name, path, breaches in subjects
    ]


def _unread(reason: str) -> list[str]:
    return [f"could not be read, so that its prompts are missing: {reason}"]


def _breaches(one: Measured) -> list[str]:
    return [breach.detail for breach in one.breaches()]


def update_lock(config: pytest.Config) -> None:
    """Write the sizes of all prompts to the lock file."""
    project, budgets = _read(config)
    unread = {fault.location.path for fault in project.faults}
    try:
        budgets.update(budgets.measure(project.prompts), [path for path in project.files if path not in unread])
    except PromptoptError as error:
        raise pytest.UsageError(str(error)) from error


def _read(config: pytest.Config) -> tuple[Project, Budgets]:
    """The project that pytest runs for."""
    try:
        settings = load_config([config.rootpath])
        return read_project([config.rootpath], settings, {}), Budgets(settings)
    except PromptoptError as error:
        raise pytest.UsageError(str(error)) from error
