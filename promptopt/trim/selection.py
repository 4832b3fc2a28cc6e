"""What is kept of passages: cut into parts, ranked, filled into the budget, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeVar

from promptopt.trim.choices import OrderName
from promptopt.trim.filling import Filling, Piece
from promptopt.trim.layout import SEPARATOR, Layout
from promptopt.trim.lexical import Candidates
from promptopt.trim.passages import read_passage, with_text
from promptopt.trim.ranking import Ranking, rank
from promptopt.trim.trimmed import Fate, Part, Trimmed

PassageT = TypeVar("PassageT")

_KEPT: Final = frozenset({Fate.RELEVANT, Fate.NEEDED})


def select(
    query: str,
    given: Sequence[PassageT],
    ranking: Ranking,
    *,
    budget: int,
    count: Callable[[str], int],
    sentences: bool,
    order: OrderName,
) -> Trimmed[PassageT]:
    """Cut passages to what answers a question.

    Args:
        query: the question.
        given: the passages.
        ranking: what ranks their parts.
        budget: most tokens.
        count: tokens of a text.
        sentences: whether passages are divided.
        order: of the passages in the text.

    Raises:
        TrimError: a passage of an unknown type, a ranker that gives anything but one finite number per text.
    """
    layout = Layout([read_passage(passage, index) for index, passage in enumerate(given)], sentences=sentences)
    scores: list[float] = []
    terms: list[list[str]] = []
    if layout.units:
        titles = [passage.title for passage in layout.passages]
        candidates = Candidates(query, titles, layout.units, layout.homes)
        scores, terms = rank(candidates, ranking), candidates.documents
    filling = Filling(_pieces(layout, terms), budget, count)
    filling.fill(sorted(range(len(scores)), key=lambda at: (-scores[at], at)))
    return _assembled(layout, given, scores, filling, order)


def _pieces(layout: Layout, terms: Sequence[Sequence[str]]) -> list[Piece]:
    named = {needed for number in range(len(layout.units)) for needed in layout.needed(number)}
    return [
        Piece(
            home=home,
            text=unit.lead + unit.text,
            opening=f"{SEPARATOR}{layout.carried[home]}{unit.text}",
            needs=layout.needed(number),
            terms=terms[number],
            skip=unit.heading and number in named,
        )
        for number, (home, unit) in enumerate(zip(layout.homes, layout.units, strict=True))
    ]


def _order(homes: Mapping[int, float], layout: Layout, order: OrderName) -> list[int]:
    """Passages of which something is kept, as they stand in the text.

    Args:
        homes: the best score of each.
        layout: where they were given.
        order: one of the three.
    """
    if order == "original":
        return sorted(homes, key=layout.given.__getitem__)
    best = sorted(homes, key=lambda home: (-homes[home], home))
    return best if order == "relevance" else [*best[::2], *reversed(best[1::2])]


def _assembled(
    layout: Layout, given: Sequence[PassageT], scores: Sequence[float], filling: Filling, order: OrderName
) -> Trimmed[PassageT]:
    """The answer for what a filling kept, shortened until the whole text fits."""
    while True:
        kept = sorted(filling.kept)
        best = {home: max(scores[at] for at in run) for home, run in groupby(kept, layout.homes.__getitem__)}
        parts = {home: list(run) for home, run in groupby(kept, layout.homes.__getitem__)}
        homes = _order(best, layout, order)
        bodies = [layout.body(parts[home]) for home in homes]
        text = SEPARATOR.join(layout.carried[home] + body for home, body in zip(homes, bodies, strict=True))
        tokens = filling.count(text) if text else 0
        if tokens <= filling.budget or not kept:
            break
        filling.give_back()
    fates = [
        Part(layout.given[home], unit.start, unit.end, score, filling.fate(at))
        for at, (home, unit, score) in enumerate(zip(layout.homes, layout.units, scores, strict=True))
    ]
    empty = [
        Part(at, 0, len(passage.text), 0.0, Fate.EMPTY)
        for at, passage in zip(layout.given, layout.passages, strict=True)
        if not passage.text.strip()
    ]
    placed = sorted([*fates, *empty], key=lambda part: (part.passage, part.start))
    return Trimmed(
        text=text,
        passages=[with_text(given[layout.given[home]], body) for home, body in zip(homes, bodies, strict=True)],
        tokens=tokens,
        kept=tuple(part for part in placed if part.reason in _KEPT),
        dropped=tuple(part for part in placed if part.reason not in _KEPT),
    )
