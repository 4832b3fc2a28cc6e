"""Findings as a JUnit report: a suite for each file, a failed test for each finding."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from promptopt.finding import Finding
from promptopt.lint import Report
from promptopt.report.region import region
from promptopt.report.style import Style, printable


def as_junit(report: Report, style: Style) -> str:
    """An XML document; where nothing was found, one suite with a test that passed."""
    shown = style.shown(report.findings)
    counts = {"tests": str(len(shown) or 1), "failures": str(len(shown)), "errors": "0"}
    suites = ET.Element("testsuites", {"name": "promptopt", **counts})
    for path in dict.fromkeys(finding.location.path for finding in shown):
        _suite(suites, path, [finding for finding in shown if finding.location.path == path], report, style)
    if not shown:
        suite = ET.SubElement(suites, "testsuite", {"name": "promptopt", **counts})
        ET.SubElement(suite, "testcase", {"name": "no findings", "classname": "promptopt"})
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, "unicode") + "\n"


def _suite(suites: ET.Element, path: str, findings: Sequence[Finding], report: Report, style: Style) -> None:
    shown = printable(style.path(report.root, path))
    number = str(len(findings))
    suite = ET.SubElement(suites, "testsuite", {"name": shown, "tests": number, "failures": number, "errors": "0"})
    for finding in findings:
        start, _ = region(finding.location, report)
        place = {"classname": shown, "file": shown, "line": str(start.row)}
        case = ET.SubElement(suite, "testcase", {"name": f"{finding.code} {finding.name}", **place})
        message = printable(finding.message)
        failure = ET.SubElement(case, "failure", {"type": finding.severity.label, "message": message})
        failure.text = f"{shown}:{start.row}:{start.column}: {message}"
