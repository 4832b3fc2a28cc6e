"""`--promptopt-report FILE`: every prompt that was checked, as a table and as JSON; as properties in JUnit files, too.

Notes travel with the reports of tests, so that those of pytest-xdist's workers arrive, too.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from promptopt.writing import write_whole
from pytest_promptopt.notes import OPEN, Note, notes_in


class Reporting:
    """Hooks that keep notes of what tests check, and write them to `file` where there is one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._rows: list[tuple[str, Note]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """What is checked from here on belongs to this test."""
        OPEN.item = item
        try:
            return (yield)
        finally:
            OPEN.item = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has checked, once."""
        if report.when == "teardown":
            self._rows += [(report.nodeid, taken) for taken in notes_in(report.user_properties)]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the JSON, where all notes have come together."""
        if self._file is not None and not hasattr(session.config, "workerinput"):
            rows = [{"test": test, **asdict(taken)} for test, taken in self._ordered()]
            try:
                write_whole(self._file, (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode())
            except OSError as error:
                raise pytest.UsageError(f"{self._file}: the report cannot be written: {error.strerror}") from error

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        if self._file is not None:
            terminalreporter.section("prompts", sep="-")
            for line in _table(self._ordered()):
                terminalreporter.write_line(line)

    def _ordered(self) -> list[tuple[str, Note]]:
        return sorted(self._rows, key=lambda row: (row[0], row[1].prompt))


def _table(rows: Sequence[tuple[str, Note]]) -> Iterator[str]:
    if not rows:
        yield "no prompt was checked"
        return
    cells = [("prompt", "tokens", "budget", "stable prefix", "change", "", "test")]
    cells += [
        (
            taken.prompt,
            _figure(taken.tokens),
            _figure(taken.budget),
            _stable(taken),
            _figure(taken.change, "+,"),
            "FAILED" if taken.failed else "",
            test,
        )
        for test, taken in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for prompt, *figures, failed, test in cells:
        numbers = (figure.rjust(width) for figure, width in zip(figures, widths[1:5], strict=True))
        yield "  ".join((prompt.ljust(widths[0]), *numbers, failed.ljust(widths[5]), test)).rstrip()


def _figure(value: int | None, form: str = ",") -> str:
    return "-" if value is None else format(value, form)


def _stable(taken: Note) -> str:
    share = f" ({taken.stable_prefix / taken.tokens:.0%})" if taken.stable_prefix is not None and taken.tokens else ""
    return _figure(taken.stable_prefix) + share
