"""Lexical evidence: BM25 over parts and passages, titles, and two hops from the best parts to what they name.

The formula and its weights were measured on the development halves of five question sets; docs/benchmarks.md
has the figures. All arrays have one entry per part, in the order of `Candidates.units`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from promptopt.trim.expected import has_name, has_number
from promptopt.trim.terms import terms, word_terms, words
from promptopt.trim.units import Unit

Scores = npt.NDArray[np.float64]

_K1: Final = 1.2
_B: Final = 0.75
_PARENTHESIS: Final = re.compile(r"\s*\([^)]*\)")


class Bm25(BM25Okapi):  # type: ignore[misc]  # rank-bm25 has no types
    """Okapi BM25 whose idf is never negative: ln(1 + (N - n + 0.5) / (n + 0.5)).

    rank-bm25's own gives a term found in half of the documents no weight, and one found in more a floor
    that ranks matches below other documents of a small set.
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        super().__init__(documents, k1=_K1, b=_B)

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> Counter[str]:
        # the same figures as rank-bm25's, counted in C
        self.doc_freqs = [Counter(document) for document in corpus]
        self.doc_len = [len(document) for document in corpus]
        self.corpus_size = len(corpus)
        self.avgdl = sum(self.doc_len) / self.corpus_size
        return Counter(chain.from_iterable(self.doc_freqs))

    def _calc_idf(self, nd: Counter[str]) -> None:
        weights = {n: math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5)) for n in set(nd.values())}
        self.idf = {term: weights[n] for term, n in nd.items()}

    def scores(self, query: Iterable[str]) -> Scores:
        """One score per document, for the distinct terms of a query."""
        if not self.avgdl:
            return np.zeros(self.corpus_size)
        return np.asarray(self.get_scores(list(dict.fromkeys(query))), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The parts of all passages for one question.

    Attributes:
        question: the question.
        titles: one per passage, empty where there is none.
        units: parts that may be kept, passage by passage.
        homes: the passage of each part.
    """

    question: str
    titles: Sequence[str]
    units: Sequence[Unit]
    homes: Sequence[int]

    @cached_property
    def query(self) -> frozenset[str]:
        """Search terms of the question."""
        return frozenset(terms(self.question))

    @cached_property
    def titled(self) -> bool:
        """Whether at least half of the passages have a title."""
        return 2 * sum(map(bool, self.titles)) >= len(self.titles)

    @cached_property
    def title_terms(self) -> list[list[str]]:
        """Search terms of the titles."""
        return [terms(title) for title in self.titles]

    @cached_property
    def names(self) -> list[frozenset[str]]:
        """Search terms of the titles without what stands in parentheses."""
        return [frozenset(terms(_PARENTHESIS.sub("", title))) for title in self.titles]

    @cached_property
    def bodies(self) -> list[list[str]]:
        """Search terms of each part, with those of its heading."""
        return [terms(f"{unit.context}\n{unit.text}" if unit.context else unit.text) for unit in self.units]

    @cached_property
    def documents(self) -> list[list[str]]:
        """Search terms of each part, with those of its passage's title."""
        return [self.title_terms[home] + body for home, body in zip(self.homes, self.bodies, strict=True)]

    @cached_property
    def parts(self) -> Bm25:
        """Parts, each with its passage's title."""
        return Bm25(self.documents)

    @cached_property
    def passages(self) -> Bm25:
        """Whole passages with their titles."""
        documents = [list(title) for title in self.title_terms]
        for home, body in zip(self.homes, self.bodies, strict=True):
            documents[home] += body
        return Bm25(documents)

    @cached_property
    def home_index(self) -> npt.NDArray[np.intp]:
        """`homes` as an array."""
        return np.asarray(self.homes, dtype=np.intp)

    @cached_property
    def brevity(self) -> Scores:
        """BM25's length normalization of a part by its distinct terms, for a term that occurs once."""
        lengths = np.asarray([len(frequencies) for frequencies in self.parts.doc_freqs], dtype=np.float64)
        normalized: Scores = (_K1 + 1) / (_K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1)) + 1)
        return normalized

    @cached_property
    def leads(self) -> Scores:
        """1 for the first part of a passage."""
        first = np.ones(len(self.homes))
        first[1:] = self.home_index[1:] != self.home_index[:-1]
        return first


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of evidence counts.

    Attributes:
        part, passage: BM25 of a part with its title, and of its passage.
        lead: first part of a passage.
        named: all words of the title are in the question.
        number, name: the part has the kind of answer that is asked for.
        coverage: share of the question's words, weighted by rarity, that the passage has.
        top: its passage is the best one, times that passage's coverage: one long passage may answer alone.
        mention: shares names and numbers with the best part.
        link: its title stands in one of the `links` best parts of other passages.
        chain: as `mention`, for the `chains` best parts after these hops.
        model: factor of what a model says beside this.
    """

    part: float = 0.5
    passage: float = 0.1
    lead: float = 0.603
    named: float = 0.456
    number: float = 0.542
    name: float = 0.423
    coverage: float = 0.16
    top: float = 0.252
    mention: float = 1.801
    link: float = 1.0
    links: int = 10
    chain: float = 0.379
    chains: int = 3
    model: float = 1.0


LEXICAL: Final = Weights()
"""Where words are most of the evidence."""

UNTITLED: Final = Weights(
    part=0.4, passage=1.2, lead=0.8, number=0.8, name=0.2, coverage=0.5, top=0.15, mention=1.5, chain=0.6, model=2.0
)
"""The same where no title tells of every part what it is about: the best passages come first, parts within them."""

FUSED: Final = Weights(
    part=0.567,
    passage=0.165,
    lead=0.934,
    named=0.471,
    number=1.678,
    name=1.569,
    coverage=0.393,
    top=0.65,
    mention=1.496,
    links=11,
    chain=0.643,
    chains=8,
)
"""Beside static vectors."""

FUSED_UNTITLED: Final = replace(
    FUSED,
    part=0.5,
    passage=1.4,
    lead=1.168,
    named=0.654,
    number=0.642,
    name=0.3,
    coverage=0.5,
    top=0.15,
    mention=1.5,
    links=10,
    chain=0.6,
    chains=4,
)
"""The same without titles."""


def standardized(scores: Scores) -> Scores:
    """Scores with mean 0 and standard deviation 1; zeros where all are the same."""
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)


def first_scores(candidates: Candidates, weights: Weights) -> Scores:
    """Evidence from the question alone."""
    query = sorted(candidates.query)
    texts = [unit.text for unit in candidates.units]
    passages = candidates.passages.scores(query)
    coverage = _coverage(candidates)
    named = np.asarray([float(bool(name) and name <= candidates.query) for name in candidates.names])
    top = np.zeros(len(passages))
    top[passages.argmax()] = coverage.max()
    per_passage = weights.named * named + weights.coverage * coverage + weights.top * top
    return (
        weights.part * standardized(candidates.parts.scores(query))
        + weights.passage * standardized(passages[candidates.home_index])
        + weights.lead * candidates.leads
        + weights.number * np.asarray(has_number(candidates.question, texts), dtype=np.float64)
        + weights.name * np.asarray(has_name(candidates.question, texts), dtype=np.float64)
        + per_passage[candidates.home_index]
    )


def _coverage(candidates: Candidates) -> Scores:
    """Share of the question's terms that each passage has, weighted by idf."""
    index = candidates.passages
    unseen = math.log(1 + (index.corpus_size + 0.5) / 0.5)
    rarity = {term: index.idf.get(term, unseen) for term in candidates.query}
    total = math.fsum(rarity.values())
    if not total:
        return np.zeros(index.corpus_size)
    found = [math.fsum(rarity[term] for term in candidates.query if term in document) for document in index.doc_freqs]
    return np.asarray(found) / total


def with_hops(candidates: Candidates, scores: Scores, weights: Weights) -> Scores:
    """Scores with evidence from the parts that the question led to."""
    scores = _scaled(scores)
    scores = _scaled(scores + weights.mention * _mentions(candidates, scores, 1))
    scores = _scaled(scores + weights.link * _links(candidates, scores, weights.links))
    return scores + weights.chain * _mentions(candidates, scores, weights.chains)


def _scaled(scores: Scores) -> Scores:
    spread = float(scores.std())
    return scores / spread if spread > 0 else scores


def _mentions(candidates: Candidates, scores: Scores, seeds: int) -> Scores:
    """How much of what one of the best parts names, and the question does not, other passages speak of: 0 to 1."""
    found = np.zeros(len(scores))
    for seed in np.argsort(-scores, kind="stable")[:seeds]:
        np.maximum(found, _mentions_of(candidates, int(seed)), out=found)
    best = float(found.max())
    return found / best if best > 0 else found


def _mentions_of(candidates: Candidates, seed: int) -> Scores:
    index = candidates.parts
    rarity = {
        term: index.idf[term]
        for word in words(candidates.units[seed].text)
        if word[0].isupper() or word[0].isdigit()
        for term in word_terms(word)
        if term not in candidates.query
    }
    found = np.zeros(len(candidates.units))
    total = math.fsum(rarity.values())
    if not total:
        return found
    for at, frequencies in enumerate(index.doc_freqs):
        shared = rarity.keys() & frequencies.keys()
        if shared and candidates.homes[at] != candidates.homes[seed]:
            found[at] = math.fsum(rarity[term] for term in shared)
    return found / total * candidates.brevity


def _links(candidates: Candidates, scores: Scores, seeds: int) -> Scores:
    """1 for the parts of passages whose title occurs in one of the best parts of another passage."""
    top = np.argsort(-scores, kind="stable")[:seeds]
    seen = [(candidates.homes[at], frozenset(candidates.bodies[at])) for at in top]
    linked = np.asarray(
        [
            float(bool(name) and any(home != own and name <= body for home, body in seen))
            for own, name in enumerate(candidates.names)
        ]
    )
    return linked[candidates.home_index]
