"""ContextTrimmer: what answers a question, out of retrieved passages, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from promptopt.errors import TrimError
from promptopt.trim.choices import OrderName, RankerName, Scorer, UnitName
from promptopt.trim.lengths import check_budget, text_counter
from promptopt.trim.trimmed import Trimmed

if TYPE_CHECKING:
    from promptopt.trim.ranking import Ranking

PassageT = TypeVar("PassageT")


@dataclass(frozen=True)
class ContextTrimmer:
    """Keeps the parts of passages that answer a question, within a token budget.

    Parts are ranked together over all passages and taken best first; what does not fit is left out. The
    answer depends on the passages' texts and titles, not on their order.

    Args:
        budget: most tokens of the text, titles and separators included.
        count: tokens of a text; by default in o200k_base, which is loaded when a process counts its first text
            (0.35 s, 72 MB).
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
        from promptopt.trim.selection import select  # noqa: PLC0415 (loads numpy)

        return select(
            query,
            list(passages),
            self._ranking,
            budget=budget or self.budget,
            count=self.count,
            sentences=self.unit == "sentence",
            order=self.order,
        )

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
