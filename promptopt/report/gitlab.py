"""Findings as a GitLab Code Quality report.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from __future__ import annotations

import json
from typing import Any, Final

from promptopt.finding import Finding, Severity
from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style

_SEVERITIES: Final = {Severity.INFO: "info", Severity.WARNING: "minor", Severity.ERROR: "critical"}


def as_gitlab(report: Report, style: Style) -> str:
    """An array of the findings that are shown; each fingerprint occurs once."""
    return json.dumps([_entry(finding, report, style) for finding in style.shown(report.findings)], indent=2) + "\n"


def _entry(finding: Finding, report: Report, style: Style) -> dict[str, Any]:
    start, end = region(finding.location, report)
    return {
        "check_name": finding.code,
        "description": f"{finding.code} {finding.name}: {finding.message}",
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": style.path(report.root, finding.location.path),
            "positions": {
                "begin": {"line": start.row, "column": start.column},
                "end": {"line": end.row, "column": end.column},
            },
        },
    }
