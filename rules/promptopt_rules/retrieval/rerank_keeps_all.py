"""PO403 rerank-keeps-all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Retrieval
from promptopt.rule import Rule, RuleContext


class RerankKeepsAll(Rule[Retrieval]):
    """A reranker that keeps as many passages as it is given.

    ## What it finds

    A search for k passages whose reranker keeps k of them or more. Both numbers are known.

    ## Why it is slow

    A reranker reads every passage with the question before the request is sent. Where it keeps them all, that time
    only changes their order, and the model still reads them all.

    ## Example

    ```python bad
    from langchain.retrievers import ContextualCompressionRetriever
    from langchain.retrievers.document_compressors import CrossEncoderReranker

    def build(store, encoder):
        base = store.as_retriever(search_kwargs={"k": 5})  # finds: PO403
        reranker = CrossEncoderReranker(model=encoder, top_n=5)
        return ContextualCompressionRetriever(base_retriever=base, base_compressor=reranker)
    ```

    ## Use instead

    Fetch more, keep the best few:

    ```python good
    from langchain.retrievers import ContextualCompressionRetriever
    from langchain.retrievers.document_compressors import CrossEncoderReranker

    def build(store, encoder):
        base = store.as_retriever(search_kwargs={"k": 20})
        reranker = CrossEncoderReranker(model=encoder, top_n=4)
        return ContextualCompressionRetriever(base_retriever=base, base_compressor=reranker)
    ```

    ## Silent on

    - rerankers that keep fewer than the search finds
    - numbers that are not known, and rerankers whose own default applies

    ## References

    - https://docs.langchain.com/oss/python/langchain/retrieval
    """

    code: ClassVar[str] = "PO403"
    name: ClassVar[str] = "rerank-keeps-all"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Retrieval]] = Retrieval

    def check(self, subject: Retrieval, context: RuleContext) -> Iterator[Finding]:
        """At most one finding for each search."""
        if subject.kept is None or subject.kept < subject.k:
            return
        yield self.finding(
            f"The search finds {subject.k:,} passages and the reranker keeps {subject.kept:,}: it takes time and "
            "leaves nothing out. Fetch more, or keep fewer.",
            subject.location,
            subject=subject.expression,
            related=[] if subject.feeds == subject.location else [Related("reranked here", subject.feeds)],
            remedies=[Remedy("keep-fewer", "keep fewer passages than are found")],
        )
