"""What ranks the parts of passages: lexical evidence, and models on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from promptopt.errors import TrimError
from promptopt.trim.lexical import Candidates, lexical_scores
from promptopt.trim.units import Unit


class Scorer(Protocol):
    """What judges texts by a query: higher scores answer it better."""

    def score(self, query: str, texts: Sequence[str], /) -> Sequence[float]:
        """One finite number for each text."""


def rank(
    query: str, titles: Sequence[str], units: Sequence[Unit], homes: Sequence[int], ranker: Any = "lexical"
) -> list[float]:
    """Relevance of each part.

    Args:
        query: the question.
        titles: of the passages.
        units: the parts of all passages, at least one.
        homes: the passage of each part.
        ranker: as `ContextTrimmer` has it.

    Raises:
        TrimError: a ranker that is unknown.
    """
    candidates = Candidates(query, titles, units, homes)
    if ranker != "lexical":
        raise TrimError(f"ranker is {ranker!r}: give lexical")
    return [float(score) for score in lexical_scores(candidates)]
