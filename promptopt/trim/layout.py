"""Passages and their parts in an order that does not depend on how they were given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from promptopt.trim.passages import Passage
from promptopt.trim.units import Unit, split_units, whole

SEPARATOR: Final = "\n\n"
"""Between passages in the prompt's text."""


class Layout:
    """The parts of all passages, numbered passage by passage.

    Passages are sorted by title and text, so that sums of floating point numbers, ties and duplicates come
    out the same for the same passages in another order.

    Args:
        passages: in the order in which they were given.
        sentences: whether passages are divided.

    Attributes:
        given: the place of each sorted passage among those that were given.
        passages: the sorted passages.
        starts: number of the first part of each sorted passage, and the number of all parts.
        units: all parts.
        homes: the sorted passage of each part.
    """

    def __init__(self, passages: Sequence[Passage], *, sentences: bool) -> None:
        self.given = sorted(range(len(passages)), key=lambda at: (passages[at].title, passages[at].text))
        self.passages = [passages[at] for at in self.given]
        self.starts = [0]
        self.units: list[Unit] = []
        self.homes: list[int] = []
        for home, passage in enumerate(self.passages):
            parts = split_units(passage.text) if sentences else whole(passage.text)
            self.units += parts
            self.homes += [home] * len(parts)
            self.starts.append(len(self.units))

    @cached_property
    def carried(self) -> list[str]:
        """What is put ahead of a passage's parts: its title, unless the text begins with a line that is the title."""
        return [
            f"{passage.title}\n" if passage.title and not _begins_with(passage.text, passage.title) else ""
            for passage in self.passages
        ]

    def needed(self, number: int) -> tuple[int, ...]:
        """Numbers of the parts without which a part says nothing."""
        start = self.starts[self.homes[number]]
        return tuple(start + at for at in self.units[number].needs)

    def body(self, numbers: Sequence[int]) -> str:
        """The text of some parts of one passage, ascending, with the white space that was ahead of each."""
        units = [self.units[number] for number in numbers]
        return units[0].text + "".join(unit.lead + unit.text for unit in units[1:])


def _begins_with(text: str, title: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return first.strip("#*= \t\r") == title
