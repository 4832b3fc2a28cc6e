"""Findings as workflow commands, which GitHub Actions shows as annotations of a change.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
"""

from __future__ import annotations

from typing import Final

from promptopt.finding import Finding, Severity
from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style, printable

_COMMANDS: Final = {Severity.INFO: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}


def as_github(report: Report, style: Style) -> str:
    """One command a line for each finding that is shown."""
    return "".join(_command(finding, report, style) for finding in style.shown(report.findings))


def _command(finding: Finding, report: Report, style: Style) -> str:
    start, end = region(finding.location, report)
    properties = {"title": f"promptopt: {finding.code} {finding.name}"}
    properties["file"] = style.path(report.root, finding.location.path)
    properties |= {"line": str(start.row), "endLine": str(end.row)}
    if start.row == end.row:  # columns of a place that runs over several lines are refused
        properties |= {"col": str(start.column), "endColumn": str(end.column)}
    fields = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {fields}::{_escaped(finding.message)}\n"


def _escaped(text: str, more: str = "") -> str:
    """The text with what ends a command or a property written as `%0A`."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return printable(text)
