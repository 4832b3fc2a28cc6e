"""The report for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptopt.finding import Finding, Severity
from promptopt.lint import Report
from promptopt.report import Style, as_text
from promptopt.source import Location, SourceFile, Span

EXPECTED = """\
app/support.py:7:19 PO101 volatile-prefix  [warning]
  datetime.now() changes on every call and stands ahead of 1,201 constant tokens: none of them is
  cached.

    7 |     header = f"Now: {datetime.now():%H:%M:%S}"
      |                      ^^^^^^^^^^^^^^
    8 |     system = header + RULES
      |              ^^^^^^^^ passes through here
    9 |     return client.chat.completions.create(model="gpt-5", messages=[{"role": "system", "cont…
      |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ sent by this call

  prefix  ▏█ 24 tokens ┃ ░░░░░░░░░░░░░░░░░░░░░░░░░░░ 1,201 recomputed
  fix     move it to the end of the newest user message

Found 1 warning in 1 of 2 files (1 prompt, 1 call). 1 hint hidden (--min-severity info).
"""


def one_line(line: str, start: int, end: int, **style: object) -> list[str]:
    """Source line and marks of a frame for a finding in a file of one line."""
    source = SourceFile("a.py", line)
    finding = Finding("PO1", "n", Severity.WARNING, "m", Location("a.py", Span(start, end)))
    report = Report((finding,), Path("/p"), ("a.py",), sources={"a.py": source})
    lines = as_text(report, replace(Style(folder=Path("/p")), **style)).splitlines()  # type: ignore[arg-type]
    return [text[8:] for text in lines[3:5]]


def test_whole_report(report: Report, root: Path) -> None:
    """Message, frame, bar, remedy and closing line, as a person reads them."""
    assert as_text(report, Style(folder=root)) == EXPECTED


def test_ascii(report: Report, root: Path) -> None:
    """Where the output cannot print drawing characters, none is used."""
    style = Style(folder=root, unicode=False)
    assert as_text(report, style).isascii()
    assert "  prefix  |# 24 tokens | ........................... 1,201 recomputed" in as_text(report, style)


def test_color_only_adds(report: Report, root: Path) -> None:
    """Colour changes no character and no column."""
    style = Style(folder=root, min_severity=Severity.INFO, show_fixes=True)
    painted = as_text(report, replace(style, color=True))
    plain = painted
    for code in ("0", "1", "2", "1;33", "1;34", "1;31"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == as_text(report, style)
    assert painted != plain


def test_closing_line(report: Report, root: Path) -> None:
    """It counts what is shown, what a safe fix can do and what is hidden."""
    style = Style(folder=root)
    last = as_text(report, replace(style, min_severity=Severity.INFO)).splitlines()[-1]
    assert last == "Found 1 warning, 1 hint in 2 of 2 files (1 prompt, 1 call); 1 with a safe fix (--show-fixes)."
    nothing = as_text(replace(report, findings=()), style)
    assert nothing == "No findings in 2 files (1 prompt, 1 call).\n"
    assert as_text(replace(report, findings=()), replace(style, verbosity=-1)) == ""


def test_fixes_are_shown_on_demand(report: Report, root: Path) -> None:
    """Edits appear as lines taken out and put in."""
    style = Style(folder=root, min_severity=Severity.INFO)
    assert "edit " not in as_text(report, style)
    shown = as_text(report, replace(style, show_fixes=True))
    assert "  edit    delete the comment (safe)\n          - # promptopt: ignore\n" in shown


def test_places_in_other_files_are_headed(report: Report, root: Path) -> None:
    """A chain that crosses files names the file of each part."""
    finding = replace(report.findings[1], location=report.findings[0].location)
    text = as_text(replace(report, findings=(finding,)), Style(folder=root))
    assert "\n    1 | text = 1  # promptopt: ignore\n" in text
    assert "\n      in app/support.py\n    8 |     system = header + RULES\n" in text


@pytest.mark.parametrize(
    ("line", "start", "end", "drawn", "marks"),
    [
        ("\tx = 1", 1, 2, "    x = 1", "    ^"),
        ("日本 = x", 5, 6, "日本 = x", "       ^"),
        ("日本 = x", 0, 2, "日本 = x", "^^^^"),
        ("e\u0301 = x", 5, 6, "e\u0301 = x", "    ^"),
        ("a\x1b[31mb = x", 10, 11, "a\\x1b[31mb = x", "             ^"),
        ("a \u202e = x", 6, 7, "a \\u202e = x", "           ^"),
        ("x", 1, 1, "x", " ^"),
        ("x = '''\ny\n'''", 4, 13, "x = '''", "    ^^^"),
    ],
)
def test_marks_stand_below_their_text(line: str, start: int, end: int, drawn: str, marks: str) -> None:
    """Tabs, wide and combining characters, escape sequences and text-direction marks keep alignment."""
    assert one_line(line, start, end) == [drawn, marks]


def test_long_lines_are_cut_around_the_mark() -> None:
    """A minified file does not flood the terminal, and costs no more than a short one."""
    line = "a" * 500_000 + "HERE" + "b" * 500_000
    drawn, marks = one_line(line, 500_000, 500_004, width=60)
    assert len(drawn) <= 52
    assert drawn[marks.index("^") : marks.rindex("^") + 1] == "HERE"
    assert drawn.startswith("…")
    assert drawn.endswith("…")


@given(
    before=st.text(st.characters(exclude_characters="\n\r"), max_size=80),
    after=st.text(st.characters(exclude_characters="\n\r"), max_size=80),
    width=st.integers(40, 120),
)
def test_no_text_reaches_the_terminal_raw(before: str, after: str, width: int) -> None:
    """Whatever a source line holds, only printable characters come out, and frames stay on one line."""
    line = f"{before}HERE{after}"
    finding = Finding("PO1", "n", Severity.WARNING, line, Location("a.py", Span(len(before), len(before) + 4)))
    report = Report((finding,), Path("/p"), ("a.py",), sources={"a.py": SourceFile("a.py", line)})
    text = as_text(report, Style(folder=Path("/p"), width=width))
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in text.replace("\n", ""))
    frame = [row for row in text.split("\n") if row.startswith("    1 | ")]
    assert len(frame) == 1
    assert "HERE" in frame[0]


def test_weird_paths_stay_on_their_line() -> None:
    """A path cannot add lines or colours."""
    finding = Finding("PO1", "n", Severity.WARNING, "m", Location("a\n\x1b[1mb ü.py", Span(0, 0)))
    text = as_text(Report((finding,), Path("/p")), Style(folder=Path("/p")))
    assert text.splitlines()[0] == "a\\n\\x1b[1mb ü.py:1:1 PO1 n  [warning]"
