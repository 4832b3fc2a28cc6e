"""ContextTrimmer: what answers a question, out of retrieved passages, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, get_args

from promptopt.errors import TrimError
from promptopt.trim.choices import OrderName, RankerName, Scorer, UnitName
from promptopt.trim.filling import Filling, Piece
from promptopt.trim.layout import SEPARATOR, Layout
from promptopt.trim.lengths import check_budget, text_counter
from promptopt.trim.passages import read_passage, with_text
from promptopt.trim.trimmed import Fate, Part, Trimmed

if TYPE_CHECKING:
    from promptopt.trim.ranking import Ranking

PassageT = TypeVar("PassageT")

_KEPT: Final = frozenset({Fate.RELEVANT, Fate.NEEDED})


@dataclass(frozen=True)
class ContextTrimmer:
    """Keeps the parts of passages that answer a question, within a token budget.

    Parts are ranked together over all passages and taken best first; what does not fit is left out. The
    answer depends on the passages' texts and titles, not on their order.

    Args:
        budget: most tokens of the text, titles and separators included.
        count: tokens of a text; by default in o200k_base, which is loaded when a process counts its first text
            (half a second, 80 MB).
        ranker: what ranks the parts. "lexical": words, titles and what the best parts name. "static": static
            token vectors besides. "dense", "cross-encoder": a model reads the quarter of the parts that words
            put first. "hybrid": static vectors, then a bi-encoder. Or an object with `score(query, texts)` in
            the place of a model.
        model: of "dense", "cross-encoder" and "hybrid": a folder, an installed package that carries one, or
            a name that sentence-transformers has downloaded before.
        vectors: of "static" and "hybrid": wordllama, which is a package, or a folder in model2vec's format.
        unit: "sentence" cuts passages into sentences, list items, table rows, code blocks and JSON values;
            "passage" keeps or drops them whole.
        order: of passages in the text: "original", by "relevance", or at the "edges", where models read
            best: the most relevant first, the second last, and so on inwards (Liu et al. 2024,
            https://arxiv.org/abs/2307.03172). Parts of a passage stay in their order.

    Raises:
        TrimError: an argument that is none of these, a library or model that is missing.
    """

    budget: int
    _: KW_ONLY
    count: Callable[[str], int] = field(default_factory=text_counter)
    ranker: RankerName | Scorer = "lexical"
    model: str | Path | None = None
    vectors: str | Path = "wordllama"
    unit: UnitName = "sentence"
    order: OrderName = "original"

    def __post_init__(self) -> None:
        check_budget(self.budget)
        _check_choice("unit", self.unit, get_args(UnitName))
        _check_choice("order", self.order, get_args(OrderName))
        if self.ranker != "lexical":
            _ = self._ranking

    @cached_property
    def _ranking(self) -> Ranking:
        from promptopt.trim.ranking import find_ranking  # noqa: PLC0415 (loads numpy)

        return find_ranking(self.ranker, self.model, self.vectors)

    def _ranked(self, query: str, layout: Layout) -> tuple[list[float], list[list[str]]]:
        """The score and the search terms of each part."""
        from promptopt.trim.lexical import Candidates  # noqa: PLC0415 (loads numpy)
        from promptopt.trim.ranking import rank  # noqa: PLC0415

        titles = [passage.title for passage in layout.passages]
        candidates = Candidates(query, titles, layout.units, layout.homes)
        return rank(candidates, self._ranking), candidates.documents

    def trim(self, query: str, passages: Iterable[PassageT], budget: int | None = None) -> Trimmed[PassageT]:
        """Cut passages to what answers a question.

        Without words in the query the beginnings of passages are kept.

        Args:
            query: the question.
            passages: strings, mappings, LangChain Documents, LlamaIndex NodeWithScores or Haystack Documents.
            budget: tokens for this call.

        Raises:
            TrimError: a passage of an unknown type, a budget that is no positive number, a ranker that
                gives anything but one finite number per text.
        """
        if not isinstance(query, str):
            raise TrimError(f"the query is {type(query).__name__}: give a string")
        if isinstance(passages, str):
            raise TrimError("passages is one string: give a list of passages")
        if budget is not None:
            check_budget(budget)
        given = list(passages)
        read = [read_passage(passage, index) for index, passage in enumerate(given)]
        layout = Layout(read, sentences=self.unit == "sentence")
        scores, terms = self._ranked(query, layout) if layout.units else ([], [])
        filling = Filling(_pieces(layout, terms), budget or self.budget, self.count)
        filling.fill(sorted(range(len(scores)), key=lambda at: (-scores[at], at)))
        return _assembled(layout, given, scores, filling, self)

    async def atrim(self, query: str, passages: Iterable[PassageT], budget: int | None = None) -> Trimmed[PassageT]:
        """As `trim`, in a thread of its own."""
        import asyncio  # noqa: PLC0415 (half of the time that importing this takes)

        return await asyncio.to_thread(self.trim, query, list(passages), budget)

    def trim_batch(self, requests: Iterable[tuple[str, Iterable[PassageT]]]) -> list[Trimmed[PassageT]]:
        """As `trim`, for pairs of a query and its passages."""
        return [self.trim(query, passages) for query, passages in requests]


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise TrimError(f"{name} is {value!r}: give one of {', '.join(choices)}")


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
    layout: Layout, given: Sequence[PassageT], scores: Sequence[float], filling: Filling, trimmer: ContextTrimmer
) -> Trimmed[PassageT]:
    """The answer for what a filling kept, shortened until the whole text fits."""
    while True:
        kept = sorted(filling.kept)
        best = {home: max(scores[at] for at in run) for home, run in groupby(kept, layout.homes.__getitem__)}
        parts = {home: list(run) for home, run in groupby(kept, layout.homes.__getitem__)}
        order = _order(best, layout, trimmer.order)
        bodies = [layout.body(parts[home]) for home in order]
        text = SEPARATOR.join(layout.carried[home] + body for home, body in zip(order, bodies, strict=True))
        tokens = trimmer.count(text) if text else 0
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
        passages=[with_text(given[layout.given[home]], body) for home, body in zip(order, bodies, strict=True)],
        tokens=tokens,
        kept=tuple(part for part in placed if part.reason in _KEPT),
        dropped=tuple(part for part in placed if part.reason not in _KEPT),
    )
