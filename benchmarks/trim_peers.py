"""What benchmarks/trim.py compares with: passages and pieces of them, as many as fit, in other libraries' order.

Each fills the budget as ContextTrimmer does: what does not fit is left out, later ones are still tried. What
an order costs is paid once per question and remembered for its other budgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, cast

from promptopt.trim import Fate, Part, Trimmed
from promptopt.trim.encoders import load_bi_encoder
from promptopt.trim.lexical import Bm25
from promptopt.trim.terms import terms

Passage = dict[str, str]
Piece = tuple[int, int, int]
"""A piece of a passage as the peer has it, title ahead: number, start, end."""
Order = Callable[[str, tuple[str, ...], str], list[Piece]]

_KEPT_SHARE: Final = 0.5
_SPLIT: Final = 300


def make_peer(name: str, model: str, budget: int, count: Callable[[str], int]) -> Peer:
    """A peer by name."""
    return Peer(PEERS[name], model, budget, count)


class Peer:
    """Pieces in some order, as many as fit."""

    def __init__(self, order: Order, model: str, budget: int, count: Callable[[str], int]) -> None:
        self.order = order
        self.model = model
        self.budget = budget
        self.count = count

    def trim(self, query: str, passages: Sequence[Passage]) -> Trimmed[Passage]:
        """As ContextTrimmer does; only the kept parts are filled in."""
        texts = tuple("\n".join(filter(None, passage.values())) for passage in passages)
        left, kept = self.budget, []
        for at, start, end in self.order(query, texts, self.model):
            cost = self.count(f"{texts[at][start:end]}\n\n")
            if cost <= left:
                left -= cost
                ahead = len(texts[at]) - len(passages[at]["text"])
                kept.append(Part(at, max(0, start - ahead), end - ahead, 0.0, Fate.RELEVANT))
        kept.sort(key=lambda part: (part.passage, part.start))
        return Trimmed("", [], self.budget - left, tuple(kept), ())


def bm25(query: str, texts: tuple[str, ...], model: str) -> list[Piece]:
    """Plain top-k: whole passages by BM25."""
    scores = Bm25([terms(text) for text in texts]).scores(terms(query))
    return [(at, 0, len(texts[at])) for at in sorted(range(len(texts)), key=lambda at: -scores[at])]


@lru_cache(1)
def embeddings_filter(query: str, texts: tuple[str, ...], model: str) -> list[Piece]:
    """Whole passages by LangChain's EmbeddingsFilter."""
    compressors = import_module("langchain_classic.retrievers.document_compressors")
    given = documents(texts)
    found = compressors.EmbeddingsFilter(embeddings=langchain_encoder(model), k=len(given))
    return [whole(document, texts) for document in found.compress_documents(given, query)]


@lru_cache(1)
def pipeline(query: str, texts: tuple[str, ...], model: str) -> list[Piece]:
    """Pieces by LangChain's compressor pipeline as its documentation has it: split, drop what is redundant, filter."""
    compressors = import_module("langchain_classic.retrievers.document_compressors")
    transformers = import_module("langchain_community.document_transformers")
    splitters = import_module("langchain_text_splitters")
    encoder = langchain_encoder(model)
    split = splitters.CharacterTextSplitter(
        chunk_size=_SPLIT, chunk_overlap=0, separator=". ", add_start_index=True, strip_whitespace=False
    )
    steps = [
        split,
        transformers.EmbeddingsRedundantFilter(embeddings=encoder),
        compressors.EmbeddingsFilter(embeddings=encoder, k=10_000),
    ]
    found = compressors.DocumentCompressorPipeline(transformers=steps).compress_documents(documents(texts), query)
    pieces = []
    for document in found:
        at, start = document.metadata["at"], document.metadata["start_index"]
        # the splitter takes the full stop away; it is given back so that whole sentences are kept
        pieces.append((at, start, min(start + len(document.page_content) + 1, len(texts[at]))))
    return pieces


@lru_cache(1)
def sentence_optimizer(query: str, texts: tuple[str, ...], model: str) -> list[Piece]:
    """Passages by similarity, each cut to its better half by LlamaIndex's SentenceEmbeddingOptimizer.

    Its neighbours are switched off, because they repeat sentences; a passage that it refuses stays whole.
    """
    optimizers = import_module("llama_index.core.postprocessor.optimizer")
    schema = import_module("llama_index.core.schema")
    encoder = llama_index_encoder(model)
    optimizer = optimizers.SentenceEmbeddingOptimizer(
        embed_model=encoder, percentile_cutoff=_KEPT_SHARE, context_before=0, context_after=0, tokenizer_fn=sentences
    )
    pieces = []
    for at, _, _ in embeddings_filter(query, texts, model):
        node = schema.NodeWithScore(node=schema.TextNode(text=texts[at]))
        try:
            kept = optimizer.postprocess_nodes([node], query_str=query)[0].text
        except ValueError:
            kept = texts[at]
        start = 0
        for sentence in sentences(texts[at]):
            start = texts[at].index(sentence, start)
            if sentence in kept:
                pieces.append((at, start, start + len(sentence)))
    return pieces


PEERS: Final[dict[str, Order]] = {
    "bm25-passages": bm25,
    "langchain-embeddings-filter": embeddings_filter,
    "langchain-pipeline": pipeline,
    "llama-index-sentence-optimizer": sentence_optimizer,
}


def sentences(text: str) -> list[str]:
    """Sentences by full stop and space."""
    return [piece for piece in re.split(r"(?<=[.!?])\s+|\n+", text) if piece]


def documents(texts: Sequence[str]) -> list[Any]:
    """LangChain documents that know their place."""
    document = import_module("langchain_core.documents").Document
    return [document(page_content=text, metadata={"at": at}) for at, text in enumerate(texts)]


def whole(document: Any, texts: Sequence[str]) -> Piece:
    """A document as a piece."""
    at = document.metadata["at"]
    return at, 0, len(texts[at])


@lru_cache(1)
def langchain_encoder(model: str) -> Any:
    """The encoder as LangChain wants it."""
    base = import_module("langchain_core.embeddings").Embeddings
    encoder = load_bi_encoder(model)

    def embed(self: object, texts: list[str]) -> list[list[float]]:
        return cast("list[list[float]]", encoder.embed(texts).tolist())

    methods: dict[str, Any] = {
        "embed_documents": embed,
        "embed_query": cast("Any", lambda self, text: embed(self, [text])[0]),
    }
    return type("Encoder", (base,), methods)()


@lru_cache(1)
def llama_index_encoder(model: str) -> Any:
    """The encoder as LlamaIndex wants it."""
    base = import_module("llama_index.core.embeddings").BaseEmbedding
    encoder = load_bi_encoder(model)

    def one(self: object, text: str) -> list[float]:
        return cast("list[float]", encoder.embed([text])[0].tolist())

    async def later(self: object, text: str) -> list[float]:
        return one(self, text)

    def many(self: object, texts: list[str]) -> list[list[float]]:
        return cast("list[list[float]]", encoder.embed(texts).tolist())

    methods: dict[str, Any] = {
        "_get_text_embedding": one,
        "_get_query_embedding": one,
        "_aget_query_embedding": later,
        "_get_text_embeddings": many,
        "__module__": __name__,
    }
    return type("Encoder", (base,), methods)()
