"""Which parts fit into the budget, best first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from promptopt.trim.trimmed import Fate

_SAME: Final = 0.9
"""Jaccard similarity of search terms from which two parts say the same."""

_CHARACTERS_PER_TOKEN: Final = 12
"""A part with more characters for each token that is left is not even counted: no real text is so dense."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part as the budget sees it.

    Attributes:
        home: its passage.
        text: what it adds to the prompt, the space ahead of it included.
        opening: what it adds where it is the first of its passage, title and separator included.
        needs: pieces that have to be kept with it.
        terms: its search terms with those of the title.
        skip: whether it is kept only where another piece needs it.
    """

    home: int
    text: str
    opening: str
    needs: tuple[int, ...]
    terms: Sequence[str]
    skip: bool = False


@dataclass(slots=True)
class Filling:
    """A prompt that is being filled.

    Attributes:
        pieces: all there are.
        budget: most tokens.
        count: tokens of a text.
        kept: why a piece is in, by its index, in the order in which they came.
        dropped: why a piece is out.
        used: tokens so far, each piece counted by itself.
    """

    pieces: Sequence[Piece]
    budget: int
    count: Callable[[str], int]
    kept: dict[int, Fate] = field(default_factory=dict)
    dropped: dict[int, Fate] = field(default_factory=dict)
    used: int = 0
    _homes: set[int] = field(default_factory=set)
    _said_with: dict[str, list[frozenset[str]]] = field(default_factory=lambda: defaultdict(list))

    def fill(self, ranking: Sequence[int]) -> None:
        """Take pieces in their order; what does not fit is left out, and later ones are still tried."""
        for at in ranking:
            if at in self.kept:
                continue
            if self.used >= self.budget or self.pieces[at].skip:
                self.dropped[at] = Fate.OVER_BUDGET
            else:
                self._take(at)
        for at in self.kept:
            self.dropped.pop(at, None)

    def _take(self, at: int) -> None:
        if self._said(at):
            self.dropped[at] = Fate.DUPLICATE
            return
        wanted = [*(other for other in self.pieces[at].needs if other not in self.kept), at]
        cost = self._cost(wanted)
        if cost is None or self.used + cost > self.budget:
            self.dropped[at] = Fate.OVER_BUDGET
            return
        self.used += cost
        for other in wanted:
            self.kept[other] = Fate.RELEVANT if other == at else Fate.NEEDED
        mine = frozenset(self.pieces[at].terms)
        for term in _probes(mine):
            self._said_with[term].append(mine)
        self._homes.add(self.pieces[at].home)

    def _cost(self, wanted: Sequence[int]) -> int | None:
        """Tokens of pieces that are not in yet; None where they are too long to be counted."""
        left = self.budget - self.used
        pieces = [self.pieces[at] for at in wanted]
        opens = pieces[0].home not in self._homes
        texts = [pieces[0].opening if opens else pieces[0].text, *(piece.text for piece in pieces[1:])]
        if sum(map(len, texts)) > _CHARACTERS_PER_TOKEN * left:
            return None
        return sum(map(self.count, texts))

    def give_back(self) -> None:
        """Drop the piece that came last: the pieces together are longer than each by itself."""
        at, _ = self.kept.popitem()
        self.dropped[at] = Fate.OVER_BUDGET

    def fate(self, at: int) -> Fate:
        """What became of a piece."""
        return self.kept.get(at) or self.dropped[at]

    def _said(self, at: int) -> bool:
        mine = frozenset(self.pieces[at].terms)
        for term in _probes(mine):
            for theirs in self._said_with[term]:
                if len(mine & theirs) >= _SAME * len(mine | theirs):
                    return True
        return False


def _probes(found: frozenset[str]) -> list[str]:
    """Terms of which two sets that are the same share one: prefix filtering, Bayardo et al. 2007."""
    ordered = sorted(found)
    return ordered[: len(ordered) - math.ceil(_SAME * len(ordered)) + 1]
