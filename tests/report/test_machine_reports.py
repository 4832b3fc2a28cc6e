"""Concise and JSON reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from promptopt.finding import Finding, Severity
from promptopt.lint import Report
from promptopt.report import Style, as_concise, as_json
from promptopt.source import Location, Span


def test_concise(report: Report, root: Path) -> None:
    """One line per finding, as compilers print them."""
    text = as_concise(report, Style(folder=root, min_severity=Severity.INFO))
    assert text.splitlines()[0] == (
        "app/other.py:1:11: PO003 unused-suppression [info] this comment silences nothing: delete it"
    )
    assert len(text.splitlines()) == 2
    assert len(as_concise(report, Style(folder=root)).splitlines()) == 1


def test_concise_message_stays_on_its_line() -> None:
    """Line ends in messages and paths are escaped."""
    finding = Finding("PO1", "n", Severity.WARNING, "a\nb\u2028c", Location("x\ny.py", Span(0, 0)))
    assert as_concise(Report((finding,), Path("/p")), Style(folder=Path("/p"))) == (
        "x\\ny.py:1:1: PO1 n [warning] a\\nb\\u2028c\n"
    )


def test_json_contract(report: Report, root: Path) -> None:
    """Exactly the fields of the contract; rows and columns from 1, ends exclusive."""
    (entry,) = json.loads(as_json(report, Style(folder=root)))
    related = entry.pop("related")
    assert entry == {
        "code": "PO101",
        "name": "volatile-prefix",
        "severity": "warning",
        "message": report.findings[1].message,
        "filename": "app/support.py",
        "location": {"row": 7, "column": 19},
        "end_location": {"row": 7, "column": 33},
        "prompt": "app/support.py::answer",
        "fingerprint": report.findings[1].fingerprint,
        "fixes": [],
    }
    assert related[0] == {
        "message": "passes through here",
        "filename": "app/support.py",
        "location": {"row": 8, "column": 14},
        "end_location": {"row": 8, "column": 22},
    }


def test_json_fixes(report: Report, root: Path) -> None:
    """Fixes come with their edits when asked for."""
    style = Style(folder=root, min_severity=Severity.INFO, show_fixes=True)
    assert json.loads(as_json(report, style))[0]["fixes"] == [
        {
            "title": "delete the comment",
            "applicability": "safe",
            "edits": [
                {
                    "filename": "app/other.py",
                    "location": {"row": 1, "column": 11},
                    "end_location": {"row": 1, "column": 30},
                    "content": "",
                }
            ],
        }
    ]


def test_json_survives_any_text() -> None:
    """Lone surrogates, as undecodable file names have them, are written as escapes."""
    finding = Finding("PO1", "n", Severity.ERROR, "\udcff", Location("\udcff.py", Span(0, 0)))
    text = as_json(Report((finding,), Path("/p")), Style(folder=Path("/p")))
    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "\udcff.py"


def test_empty_reports(report: Report, root: Path) -> None:
    """Nothing found is an empty array and no line."""
    empty = replace(report, findings=())
    assert json.loads(as_json(empty, Style(folder=root))) == []
    assert as_concise(empty, Style(folder=root)) == ""


def test_paths_are_relative_to_where_the_command_runs(report: Report, root: Path) -> None:
    """Below the folder relative, elsewhere absolute: a terminal can open both."""
    assert json.loads(as_json(report, Style(folder=root / "app")))[0]["filename"] == "support.py"
    elsewhere = json.loads(as_json(report, Style(folder=root / "other")))[0]["filename"]
    assert elsewhere == (root / "app/support.py").as_posix()
