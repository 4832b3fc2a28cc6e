"""One line per finding."""

from __future__ import annotations

from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style, printable


def as_concise(report: Report, style: Style) -> str:
    """`path:line:column: code name [severity] message` for each finding that is shown."""
    lines = []
    for finding in style.shown(report.findings):
        start, _ = region(finding.location, report)
        place = f"{printable(style.path(report.root, finding.location.path))}:{start.row}:{start.column}"
        lines.append(
            f"{place}: {finding.code} {finding.name} [{finding.severity.label}] {printable(finding.message)}\n"
        )
    return "".join(lines)
