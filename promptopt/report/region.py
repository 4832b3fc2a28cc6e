"""Where a place begins and ends, for reports that machines read."""

from __future__ import annotations

from promptopt.lint import Report
from promptopt.source import Location, Position


def region(location: Location, report: Report) -> tuple[Position, Position]:
    """Begin and exclusive end of a place; 1:1 in a file that could not be read."""
    source = report.sources.get(location.path)
    if source is None:
        return Position(1, 1), Position(1, 1)
    return source.position(location.span.start), source.position(location.span.end)
