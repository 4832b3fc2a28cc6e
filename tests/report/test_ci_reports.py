"""SARIF, GitHub, GitLab and JUnit reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from promptopt.finding import Finding, Severity
from promptopt.lint import Report
from promptopt.report import FORMATS, Style, as_github, as_gitlab, as_junit, as_sarif, render
from promptopt.rule import load_rules
from promptopt.source import Location, SourceFile, Span

SCHEMA = Path(__file__).parent / "data" / "sarif-schema-2.1.0.json"
"""The schema of the standard's errata 01 as OASIS publishes it."""


def sarif(report: Report, style: Style) -> dict[str, Any]:
    """The report's only run; the whole log is valid against the official schema."""
    log = json.loads(as_sarif(report, style))
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def strange(message: str = "a\nb", path: str = "x y/ü,1:%.py") -> Report:
    """One finding over two lines, in a file whose name needs escapes."""
    source = SourceFile(path, "ab\ncd\n")
    finding = Finding("PO101", "volatile-prefix", Severity.ERROR, message, Location(path, Span(1, 4)))
    return Report((replace(finding, fingerprint="f" * 32),), Path("/p"), sources={path: source})


def test_sarif_describes_every_rule(report: Report, root: Path) -> None:
    """A viewer shows a rule's documentation; results point to it."""
    run = sarif(report, Style(folder=root, min_severity=Severity.INFO))
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in load_rules()]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert "## Use instead" in rule["help"]["markdown"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_places(report: Report, root: Path) -> None:
    """Relative URIs, four region numbers that count characters, the fingerprint, and the chain as a code flow."""
    run = sarif(report, Style(folder=root))
    assert run["columnKind"] == "unicodeCodePoints"
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "app/support.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 7, "startColumn": 19, "endLine": 7, "endColumn": 33}
    assert result["level"] == "warning"
    assert result["partialFingerprints"] == {"promptopt/v1": report.findings[1].fingerprint}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps[1:]] == ["passes through here", "sent by this call"]
    assert [place["id"] for place in result["relatedLocations"]] == [1, 2]


def test_sarif_fixes_on_request(report: Report, root: Path) -> None:
    """An edit is a replacement of a region."""
    run = sarif(report, Style(folder=root, min_severity=Severity.INFO, show_fixes=True))
    (fix,) = run["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "app/other.py"
    assert change["replacements"][0]["deletedRegion"]["startColumn"] == 11
    assert "fixes" not in sarif(report, Style(folder=root, min_severity=Severity.INFO))["results"][0]


def test_sarif_uris_are_escaped() -> None:
    """Spaces, percent signs, letters beyond ASCII and bytes that are no text; absolute outside of the folder."""
    (result,) = sarif(strange(path="x y/ü%\udcff.py"), Style(folder=Path("/p")))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "x%20y/%C3%BC%25%FF.py"
    (result,) = sarif(strange(), Style(folder=Path("/elsewhere")))["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "file:///p/x%20y/%C3%BC%2C1%3A%25.py"}


def test_github_commands(report: Report, root: Path) -> None:
    """One command a line, with the place and a title."""
    assert as_github(report, Style(folder=root)).splitlines() == [
        "::warning title=promptopt%3A PO101 volatile-prefix,file=app/support.py,line=7,endLine=7,col=19,endColumn=33::"
        + report.findings[1].message
    ]
    assert as_github(report, Style(folder=root, min_severity=Severity.INFO)).startswith("::notice ")


def test_github_escapes() -> None:
    """A message or a path cannot end the command or begin another; places over several lines have no columns."""
    assert as_github(strange("50 %\n::error::x"), Style(folder=Path("/p"))) == (
        "::error title=promptopt%3A PO101 volatile-prefix,file=x y/ü%2C1%3A%25.py,line=1,endLine=2::"
        "50 %25%0A::error::x\n"
    )


def test_gitlab_entries(report: Report, root: Path) -> None:
    """The fields that GitLab reads."""
    (entry,) = json.loads(as_gitlab(report, Style(folder=root)))
    assert entry == {
        "check_name": "PO101",
        "description": f"PO101 volatile-prefix: {report.findings[1].message}",
        "fingerprint": report.findings[1].fingerprint,
        "severity": "minor",
        "location": {
            "path": "app/support.py",
            "positions": {"begin": {"line": 7, "column": 19}, "end": {"line": 7, "column": 33}},
        },
    }


def test_junit_document(report: Report, root: Path) -> None:
    """A suite for each file, a failure for each finding, whatever stands in messages and paths."""
    suites = ET.fromstring(as_junit(report, Style(folder=root, min_severity=Severity.INFO)))  # noqa: S314 (our own)
    assert (suites.get("tests"), suites.get("failures")) == ("2", "2")
    assert [suite.get("name") for suite in suites] == ["app/other.py", "app/support.py"]
    case = suites[1][0]
    assert (case.get("name"), case.get("line")) == ("PO101 volatile-prefix", "7")
    odd = ET.fromstring(as_junit(strange("<&\0\x1b\ufffe\udcff"), Style(folder=Path("/p"))))  # noqa: S314 (our own)
    assert odd[0][0][0].get("message") == "<&\\x00\\x1b\\ufffe\\udcff"


def test_junit_without_findings(report: Report, root: Path) -> None:
    """A clean run is a passed test: an empty report counts as a failure in several CI systems."""
    suites = ET.fromstring(as_junit(replace(report, findings=()), Style(folder=root)))  # noqa: S314 (our own)
    assert (suites.get("tests"), suites.get("failures")) == ("1", "0")
    assert len(suites[0][0]) == 0


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_unreadable_files_and_foreign_rules(form: str) -> None:
    """A file without text is reported at its beginning; a rule of another pack needs no description."""
    finding = Finding("XY001", "theirs", Severity.WARNING, "cannot be read", Location("gone.py", Span(0, 0)))
    text = render(form, Report((finding,), Path("/p")), Style(folder=Path("/p")))
    assert "XY001" in text
    assert "gone.py" in text


def test_sarif_of_an_empty_report(root: Path) -> None:
    """Nothing found is a run with no results: code scanning then closes its alerts."""
    assert sarif(Report((), root), Style(folder=root))["results"] == []
