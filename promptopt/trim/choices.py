"""What callers of the trimmers choose from, and what a ranker of their own must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

RankerName = Literal["lexical", "static", "dense", "cross-encoder", "hybrid"]
UnitName = Literal["sentence", "passage"]
OrderName = Literal["original", "relevance", "edges"]


@runtime_checkable
class Scorer(Protocol):
    """What judges texts by a query: higher scores answer it better."""

    def score(self, query: str, texts: Sequence[str], /) -> Sequence[float]:
        """One finite number for each text."""
