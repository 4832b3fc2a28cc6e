"""One line per finding."""

from __future__ import annotations

from promptopt.lint import Report
from promptopt.report.style import Style, printable
from promptopt.source import Location, Position


def concise(report: Report, style: Style) -> str:
    """`path:line:column: code name [severity] message` for each finding that is shown."""
    lines = []
    for finding in style.shown(report.findings):
        start = position(report, finding.location)
        place = f"{printable(style.path(report.root, finding.location.path))}:{start.row}:{start.column}"
        lines.append(
            f"{place}: {finding.code} {finding.name} [{finding.severity.label}] {printable(finding.message)}\n"
        )
    return "".join(lines)


def position(report: Report, location: Location) -> Position:
    """Row and column of a place; 1:1 in a file that could not be read."""
    source = report.sources.get(location.path)
    return source.position(location.span.start) if source else Position(1, 1)
