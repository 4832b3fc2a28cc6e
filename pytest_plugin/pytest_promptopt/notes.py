"""What was checked in a test, kept for reports: a note for each prompt.

Nothing is kept where no report asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

PREFIX: Final = "promptopt"
_FIGURES: Final = ("tokens", "budget", "stable_prefix", "change", "failed")


@dataclass(frozen=True, slots=True)
class Note:
    """One prompt that was checked; figures are tokens, None where they were not looked at.

    `change` is the growth since `promptopt.lock` was written.
    """

    prompt: str
    tokens: int | None = None
    budget: int | None = None
    stable_prefix: int | None = None
    change: int | None = None
    failed: bool = False


class Notebook:
    """Which test runs now, so that what it checks is noted with it."""

    def __init__(self) -> None:
        self.item: pytest.Item | None = None


OPEN: Final = Notebook()


def note(taken: Note) -> None:
    """Keep a note with the test that runs now, as properties that reports of workers and JUnit files carry."""
    if OPEN.item is not None:
        for figure in _FIGURES:
            value = getattr(taken, figure)
            if value is not None:
                OPEN.item.user_properties.append((f"{PREFIX}.{taken.prompt}.{figure}", value))


def notes_in(properties: list[tuple[str, Any]]) -> Iterator[Note]:
    """The notes among the properties of a test."""
    figures: dict[str, Any] = {}
    for name, value in properties:
        start, _, rest = name.partition(".")
        prompt, _, figure = rest.rpartition(".")
        if start == PREFIX and figure in _FIGURES:
            figures[figure] = value
            if figure == _FIGURES[-1]:
                yield Note(prompt, **figures)
                figures = {}
