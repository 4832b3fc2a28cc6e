"""Findings for people: message, code frame, the cached prefix as a bar, what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from promptopt.finding import Applicability, Finding, Severity
from promptopt.lint import Report
from promptopt.prompt import Prompt
from promptopt.report.bar import prefix_line
from promptopt.report.frame import Frame, Mark
from promptopt.report.region import region
from promptopt.report.style import Paint, Style, counted, printable
from promptopt.source import Location

_MOST_MARKS: Final = 8


def as_text(report: Report, style: Style) -> str:
    """Every finding that is shown, and a closing line that counts the rest."""
    prompts = {prompt.name: prompt for prompt in report.prompts}
    lines: list[str] = []
    for finding in style.shown(report.findings):
        lines += [*_finding(finding, prompts.get(finding.prompt or ""), report, style), ""]
    if style.verbosity >= 0:
        lines.append(closing_line(report, style))
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, prompt: Prompt | None, report: Report, style: Style) -> Iterator[str]:
    paint = Paint.of(style, finding.severity)
    start, _ = region(finding.location, report)
    path = printable(style.path(report.root, finding.location.path))
    head = paint.bold(f"{path}:{start.row}:{start.column}")
    yield f"{head} {paint.mark(finding.code)} {finding.name}  [{paint.mark(finding.severity.label)}]"
    yield from _wrapped(printable(finding.message), style, "  ", "  ")
    marks = _marks(finding)
    framed = list(Frame(report.sources, style, paint, finding.location.path).lines(marks[:_MOST_MARKS]))
    if framed:
        yield from ("", *framed)
    if len(marks) > _MOST_MARKS:
        yield f"      and {counted(len(marks) - _MOST_MARKS, 'more place')} (--output-format json lists them)"
    after = [*_prefix(finding, prompt, style, paint), *_advice(finding, style), *_edits(finding, report, style, paint)]
    if after:
        yield from ("", *after)


def _wrapped(text: str, style: Style, first: str, rest: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        max(40, style.width),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _marks(finding: Finding) -> list[Mark]:
    """The finding's place and its chain, file by file, in reading order within each."""
    labels: dict[Location, str] = {finding.location: ""}
    for related in finding.related:
        labels[related.location] = labels.get(related.location) or related.message
    files = list(dict.fromkeys(location.path for location in labels))
    ordered = sorted(labels, key=lambda location: (files.index(location.path), location.span))
    return [Mark(location, labels[location]) for location in ordered]


def _prefix(finding: Finding, prompt: Prompt | None, style: Style, paint: Paint) -> Iterator[str]:
    line = prefix_line(prompt, finding, style) if prompt else None
    if line:
        yield f"  {paint.dim('prefix')}  {line}"


def _advice(finding: Finding, style: Style) -> Iterator[str]:
    for remedy in finding.remedies:
        if remedy.title.lower() not in finding.message.lower():
            yield from _wrapped(printable(remedy.title), style, "  fix     ", "          ")


def _edits(finding: Finding, report: Report, style: Style, paint: Paint) -> Iterator[str]:
    """Each fix as removed and added lines, with `--show-fixes`."""
    for fix in finding.fixes if style.show_fixes else ():
        yield f"  {paint.dim('edit')}    {printable(fix.title)} ({fix.applicability.label})"
        for edit in fix.edits:
            source = report.sources.get(edit.location.path)
            old = source[edit.location.span] if source else ""
            yield from (f"          - {printable(line)}" for line in old.splitlines())
            yield from (f"          + {printable(line)}" for line in edit.content.splitlines())


def closing_line(report: Report, style: Style) -> str:
    """What was found, in how much, what can be fixed and what is hidden."""
    shown = style.shown(report.findings)
    contents = f"{counted(len(report.prompts), 'prompt')}, {counted(len(report.calls), 'call')}"
    scope = f"{counted(len(report.files), 'file')} ({contents})"
    if shown:
        places = len({finding.location.path for finding in shown})
        line = f"Found {_by_severity(shown)} in {places} of {scope}"
    else:
        line = f"No findings in {scope}"
    fixable = sum(any(fix.applicability is Applicability.SAFE for fix in finding.fixes) for finding in shown)
    line += f"; {fixable} with a safe fix (--show-fixes)." if fixable and not style.show_fixes else "."
    line += "".join(f" {counted(number, 'finding')} {why}." for why, number in report.set_aside.items())
    if report.other_templates:
        line += f" {counted(report.other_templates, 'template')} of another engine not read."
    hidden = [finding for finding in report.findings if finding.severity < style.min_severity]
    return line + (f" {_by_severity(hidden)} hidden ({_reveal(hidden)})." if hidden else "")


def _by_severity(findings: list[Finding]) -> str:
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "hint"}
    counts = [(sum(f.severity is level for f in findings), word) for level, word in words.items()]
    return ", ".join(counted(number, word) for number, word in counts if number)


def _reveal(hidden: list[Finding]) -> str:
    """The option that shows the findings."""
    return f"--min-severity {min(finding.severity for finding in hidden).label}"
