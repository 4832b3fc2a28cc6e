"""What ranks the parts of passages: lexical evidence, and models on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np

from promptopt.errors import TrimError
from promptopt.trim.choices import RankerName, Scorer
from promptopt.trim.encoders import load_bi_encoder, load_cross_encoder
from promptopt.trim.lexical import (
    FUSED,
    FUSED_UNTITLED,
    LEXICAL,
    UNTITLED,
    Candidates,
    Scores,
    Weights,
    first_scores,
    standardized,
    with_hops,
)
from promptopt.trim.units import Unit
from promptopt.trim.vectors import load_vectors

_MODEL: Final = 0.5
"""Weight of what a model that reads texts says."""

_MODEL_AFTER_VECTORS: Final = 0.3
"""The same where static vectors have spoken before."""

_VECTORS: Final = 1.0
"""Weight of what static vectors say."""

_SHARE: Final = 0.25
"""Share of the parts that a model reads."""

_FEWEST: Final = 12
"""Parts that a model reads at least."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A model's judgement beside the lexical evidence.

    Attributes:
        scorer: what judges.
        weight: of its standardized scores.
        share: of the parts, the best by what is known so far, that it reads.
    """

    scorer: Scorer
    weight: float
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """How parts are ranked.

    Attributes:
        weights: of the lexical evidence.
        untitled: the same for passages without titles.
        signals: models, cheapest first.
    """

    weights: Weights = LEXICAL
    untitled: Weights = UNTITLED
    signals: tuple[Signal, ...] = ()


def find_ranking(ranker: object, model: object = None, vectors: object = "wordllama") -> Ranking:
    """The ranking that a trimmer's arguments name.

    Args:
        ranker: lexical, static, dense, cross-encoder, hybrid, or an object with `score(query, texts)`.
        model: name or folder of the encoder.
        vectors: name or folder of the static vectors.

    Raises:
        TrimError: the ranker is unknown, or a model or library is missing.
    """
    if isinstance(ranker, Scorer):
        return Ranking(signals=(Signal(ranker, _MODEL, _SHARE),))
    if ranker == "lexical":
        return Ranking()
    if ranker not in get_args(RankerName):
        raise TrimError(
            f"ranker is {ranker!r}: give {', '.join(get_args(RankerName))} or an object with score(query, texts)"
        )
    signals = [Signal(load_vectors(str(vectors)), _VECTORS)] if ranker in {"static", "hybrid"} else []
    if ranker != "static":
        if not model:
            raise TrimError(f"ranker {ranker} needs a model: give its name or folder as model=")
        load = load_cross_encoder if ranker == "cross-encoder" else load_bi_encoder
        signals.append(Signal(load(str(model)), _MODEL_AFTER_VECTORS if signals else _MODEL, _SHARE))
    if ranker in {"static", "hybrid"}:
        return Ranking(FUSED, FUSED_UNTITLED, tuple(signals))
    return Ranking(signals=tuple(signals))


def rank(candidates: Candidates, ranking: Ranking) -> list[float]:
    """Relevance of each part.

    Raises:
        TrimError: a ranker gives anything but one finite number per text.
    """
    weights = ranking.weights if candidates.titled else ranking.untitled
    evidence = first_scores(candidates, weights)
    scores = with_hops(candidates, evidence, weights)
    for signal in ranking.signals:
        share = max(_FEWEST, round(signal.share * len(scores)))
        read = np.sort(np.argsort(-scores, kind="stable")[:share])
        texts = [_with_title(candidates.titles[candidates.homes[at]], candidates.units[at]) for at in read]
        judged = _judged(signal.scorer, candidates.question, texts)
        evidence = _joined(evidence, read, standardized(judged) * signal.weight * weights.model)
        scores = with_hops(candidates, evidence, weights)
    return [float(score) for score in scores]


def _with_title(title: str, unit: Unit) -> str:
    text = ". ".join(part for part in (title, unit.context, unit.text) if part)
    # models' tokenizers refuse lone surrogates
    return text.encode("utf-8", "replace").decode("utf-8")


def _joined(evidence: Scores, read: np.ndarray[tuple[int], np.dtype[np.intp]], judged: Scores) -> Scores:
    """Evidence with a model's; what the model did not read is as bad as the worst that it read."""
    joined = evidence + float(judged.min())
    joined[read] = evidence[read] + judged
    return joined


def _judged(scorer: Scorer, query: str, texts: Sequence[str]) -> Scores:
    judged = np.asarray(scorer.score(query, texts), dtype=np.float64)
    if judged.shape != (len(texts),):
        raise TrimError(
            f"the ranker {type(scorer).__name__} gave {judged.shape} scores for {len(texts)} texts: one each is needed"
        )
    if not np.isfinite(judged).all():
        bad = int(np.flatnonzero(~np.isfinite(judged))[0])
        raise TrimError(
            f"the ranker {type(scorer).__name__} gave {judged[bad]} for text {bad}: finite numbers are needed"
        )
    return judged
