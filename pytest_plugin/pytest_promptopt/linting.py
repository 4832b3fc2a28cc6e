"""`promptopt check` as an assertion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from promptopt.config import load_config
from promptopt.errors import UsageError
from promptopt.finding import Severity
from promptopt.lint import Report, check
from promptopt.report import Style, as_text
from pytest_promptopt.errors import PromptLintError

Level = Literal["info", "warning", "error"]


def assert_lint_clean(
    path: str | Path | Sequence[str | Path],
    select: Sequence[str] | str = (),
    ignore: Sequence[str] | str = (),
    *,
    min_severity: Level = "warning",
) -> None:
    """Fail where `promptopt check` finds something in files or folders.

    Args:
        path: files or folders; relative ones from the current folder.
        select: codes, names or families, instead of what the configuration selects.
        ignore: codes, names or families, beside what the configuration ignores.
        min_severity: the least that fails.

    Raises:
        PromptLintError: there are findings; its text is that of `promptopt check`.
        UsageError: no such path, or nothing in it that could be checked.
        ConfigError: an unknown rule or faulty configuration.
    """
    __tracebackhide__ = True
    paths = [Path(one) for one in ([path] if isinstance(path, str | Path) else path)]
    missing = [one for one in paths if not one.exists()]
    if missing or not paths:
        raise UsageError(f"{missing[0]}: no such file or folder" if missing else "path is empty: give files or folders")
    level = Severity.parse(min_severity)
    config = load_config(paths)
    selected = (select,) if isinstance(select, str) else tuple(select)
    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    config = replace(config, select=selected or config.select, ignore=(*config.ignore, *ignored))
    report = check(paths, config)
    if not report.files and not report.findings:
        raise UsageError(f"{', '.join(map(str, paths))}: no Python code and no prompt template that could be checked")
    found = [finding for finding in report.findings if finding.severity >= level]
    if found:
        words = "finding" if len(found) == 1 else "findings"
        raise PromptLintError(f"{len(found)} {words} in {', '.join(map(str, paths))}\n{lint_text(report, level)}")


def lint_text(report: Report, level: Severity) -> str:
    """The report as `promptopt check` prints it."""
    return as_text(report, Style(min_severity=level)).rstrip()
