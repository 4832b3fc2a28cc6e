"""Lexical evidence: BM25 over parts and passages, titles, and two hops from the best parts to what they name.

The formula and its weights were measured on the development halves of five question sets; docs/benchmarks.md
has the figures. All arrays have one entry per part, in the order of `Candidates.units`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

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

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, count in nd.items():
            self.idf[term] = math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))

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
    def parts(self) -> Bm25:
        """Parts, each with its passage's title."""
        return Bm25([self.title_terms[home] + body for home, body in zip(self.homes, self.bodies, strict=True)])

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
    def leads(self) -> Scores:
        """1 for the first part of a passage."""
        first = np.ones(len(self.homes))
        first[1:] = self.home_index[1:] != self.home_index[:-1]
        return first


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of evidence counts."""

    part: float = 0.5
    passage: float = 0.1
    lead: float = 0.5
    named: float = 0.5
    mention: float = 2.0
    link: float = 1.0
    seeds: int = 8


LEXICAL: Final = Weights()
"""Where words are most of the evidence."""

FUSED: Final = Weights()
"""Beside static vectors."""


def standardized(scores: Scores) -> Scores:
    """Scores with mean 0 and standard deviation 1; zeros where all are the same."""
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)


def first_scores(candidates: Candidates, weights: Weights) -> Scores:
    """Evidence from the question alone."""
    named = np.asarray([float(bool(name) and name <= candidates.query) for name in candidates.names])
    return (
        weights.part * standardized(candidates.parts.scores(sorted(candidates.query)))
        + weights.passage * standardized(candidates.passages.scores(sorted(candidates.query))[candidates.home_index])
        + weights.lead * candidates.leads
        + weights.named * named[candidates.home_index]
    )


def with_hops(candidates: Candidates, scores: Scores, weights: Weights) -> Scores:
    """Scores with evidence from the parts that the question led to."""
    scores = _scaled(scores)
    scores = _scaled(scores + weights.mention * _mentions(candidates, scores))
    return scores + weights.link * _links(candidates, scores, weights.seeds)


def _scaled(scores: Scores) -> Scores:
    spread = float(scores.std())
    return scores / spread if spread > 0 else scores


def _mentions(candidates: Candidates, scores: Scores) -> Scores:
    """How much of what the best part names, and the question does not, other passages speak of: 0 to 1."""
    seed = int(scores.argmax())
    index = candidates.parts
    entities = {
        term
        for word in words(candidates.units[seed].text)
        if word[0].isupper() or word[0].isdigit()
        for term in word_terms(word)
    } - candidates.query
    total = math.fsum(index.idf.get(term, 0.0) for term in entities)
    found = np.zeros(len(scores))
    if not total:
        return found
    for at, frequencies in enumerate(index.doc_freqs):
        if candidates.homes[at] != candidates.homes[seed] and not entities.isdisjoint(frequencies):
            found[at] = math.fsum(index.idf[term] for term in entities if term in frequencies) / total
    lengths = np.asarray([len(frequencies) for frequencies in index.doc_freqs], dtype=np.float64)
    found *= (_K1 + 1) / (_K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1)) + 1)
    best = float(found.max())
    return found / best if best > 0 else found


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
