"""Findings as a JSON array."""

from __future__ import annotations

import json
from typing import Any

from promptopt.finding import Edit, Finding, Fix
from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style
from promptopt.source import Location


def as_json(report: Report, style: Style) -> str:
    """An array of findings; rows and columns from 1, columns in characters, ends exclusive."""
    entries = [_finding(finding, report, style) for finding in style.shown(report.findings)]
    return json.dumps(entries, indent=2) + "\n"


def place(location: Location, report: Report, style: Style) -> dict[str, Any]:
    """`filename`, `location` and `end_location` of a place; 1:1 in a file that could not be read."""
    start, end = region(location, report)
    return {
        "filename": style.path(report.root, location.path),
        "location": {"row": start.row, "column": start.column},
        "end_location": {"row": end.row, "column": end.column},
    }


def _finding(finding: Finding, report: Report, style: Style) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "message": finding.message,
        **place(finding.location, report, style),
        "prompt": finding.prompt,
        "fingerprint": finding.fingerprint,
        "related": [{"message": r.message, **place(r.location, report, style)} for r in finding.related],
        "fixes": [_fix(fix, report, style) for fix in finding.fixes] if style.show_fixes else [],
    }


def _fix(fix: Fix, report: Report, style: Style) -> dict[str, Any]:
    edits = [_edit(edit, report, style) for edit in fix.edits]
    return {"title": fix.title, "applicability": fix.applicability.label, "edits": edits}


def _edit(edit: Edit, report: Report, style: Style) -> dict[str, Any]:
    return {**place(edit.location, report, style), "content": edit.content}
