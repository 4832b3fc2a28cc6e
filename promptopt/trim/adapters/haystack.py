"""Haystack: a pipeline component. Needs haystack-ai."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from haystack import Document, component

from promptopt.tokens import token_counter
from promptopt.trim.choices import OrderName, RankerName, UnitName
from promptopt.trim.context import ContextTrimmer
from promptopt.trim.lengths import check_budget


@component
class DocumentTrimmer:
    """Trims retrieved documents to what answers the query, within a token budget.

    Between a retriever and a prompt builder. A document's title is read from its `meta`. The component is
    written to and read from YAML with its pipeline.

    Args:
        budget: most tokens of the documents' texts, titles and blank lines between them included.
        ranker, model, vectors, unit, order: as `ContextTrimmer` has them, by name.
        encoding: what tokens are counted in: o200k_base, cl100k_base or the path of a tokenizer.json.
    """

    def __init__(
        self,
        budget: int,
        ranker: RankerName = "lexical",
        model: str | None = None,
        vectors: str = "wordllama",
        unit: UnitName = "sentence",
        order: OrderName = "original",
        encoding: str = "o200k_base",
    ) -> None:
        check_budget(budget)
        self.budget = budget
        self.ranker = ranker
        self.model = model
        self.vectors = vectors
        self.unit = unit
        self.order = order
        self.encoding = encoding

    @cached_property
    def _trimmer(self) -> ContextTrimmer:
        return ContextTrimmer(
            self.budget,
            count=token_counter(encoding=self.encoding).text,
            ranker=self.ranker,
            model=self.model,
            vectors=self.vectors,
            unit=self.unit,
            order=self.order,
        )

    def warm_up(self) -> None:
        """Load the ranker's model and the encoding, so that the first run is as fast as the others.

        Raises:
            TrimError: an argument that is none of those above, a library or model that is missing.
        """
        self._trimmer.count("")

    @component.output_types(documents=list[Document], text=str)
    def run(self, query: str, documents: list[Document], budget: int | None = None) -> dict[str, Any]:
        """Trim documents.

        Args:
            query: the question.
            documents: what was retrieved.
            budget: tokens for this run.

        Returns:
            `documents`: those of which something is left, their content cut to it, ids and meta as before;
            `text`: titles and kept parts, ready for a prompt.
        """
        trimmed = self._trimmer.trim(query, documents, budget)
        return {"documents": trimmed.passages, "text": trimmed.text}
