"""Findings as SARIF 2.1.0, for code scanning and viewers.

Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Of what it allows, all that GitHub's code
scanning reads is there.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import promptopt
from promptopt.finding import Finding, Fix, Severity
from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style
from promptopt.rule import AnyRule, documentation, load_rules
from promptopt.source import Location

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.INFO: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}
_PROBLEM: Final = {Severity.INFO: "recommendation", Severity.WARNING: "warning", Severity.ERROR: "error"}


def as_sarif(report: Report, style: Style) -> str:
    """One run with every installed rule and the findings that are shown.

    Places have relative URIs below the folder that the command runs in, absolute ones elsewhere; columns count
    characters, ends are exclusive. A finding's chain is its code flow.
    """
    rules = load_rules()
    indices = {rule.code: index for index, rule in enumerate(rules)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "promptopt",
                        "semanticVersion": promptopt.__version__,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, indices, report, style) for finding in style.shown(report.findings)],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: type[AnyRule]) -> dict[str, Any]:
    found = documentation(rule)
    summary = " ".join(found.summary.split())
    text = inspect.cleandoc(rule.__doc__ or "")
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": " ".join(found.sections.get("What it finds", summary).split())},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family()], "precision": "high", "problem.severity": _PROBLEM[rule.severity]},
    }


def _result(finding: Finding, indices: Mapping[str, int], report: Report, style: Style) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.location, report, style)],
        "partialFingerprints": {"promptopt/v1": finding.fingerprint},
    }
    if finding.code in indices:
        result["ruleIndex"] = indices[finding.code]
    if finding.related:
        places = [(related.message, related.location) for related in finding.related]
        result["relatedLocations"] = [
            {"id": number, **_location(location, report, style, message)}
            for number, (message, location) in enumerate(places, 1)
        ]
        steps = [(finding.message, finding.location), *places]
        flow = [{"location": _location(location, report, style, message)} for message, location in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if style.show_fixes and finding.fixes:
        result["fixes"] = [_fix(fix, report, style) for fix in finding.fixes]
    if finding.prompt:
        result["properties"] = {"prompt": finding.prompt}
    return result


def _location(location: Location, report: Report, style: Style, message: str = "") -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(location.path, report, style),
            "region": _region(location, report),
        }
    }
    return {**place, "message": {"text": message}} if message else place


def _artifact(path: str, report: Report, style: Style) -> dict[str, str]:
    shown = Path(style.path(report.root, path))
    uri = shown.as_uri() if shown.is_absolute() else quote(shown.as_posix().encode("utf-8", "surrogateescape"))
    return {"uri": uri} if shown.is_absolute() else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _region(location: Location, report: Report) -> dict[str, int]:
    start, end = region(location, report)
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}


def _fix(fix: Fix, report: Report, style: Style) -> dict[str, Any]:
    paths = dict.fromkeys(edit.location.path for edit in fix.edits)
    changes = [
        {
            "artifactLocation": _artifact(path, report, style),
            "replacements": [
                {"deletedRegion": _region(edit.location, report), "insertedContent": {"text": edit.content}}
                for edit in fix.edits
                if edit.location.path == path
            ],
        }
        for path in paths
    ]
    return {"description": {"text": fix.title}, "artifactChanges": changes}
