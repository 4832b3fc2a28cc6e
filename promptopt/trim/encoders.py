"""Rankers that run a model: bi-encoders and cross-encoders of sentence-transformers.

Texts longer than a model reads are divided into windows that overlap by half; the best window counts.
Nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from promptopt.errors import TrimError

_INSTALL: Final = "pip install 'promptopt-toolkit[rerank]'"
_REMEMBERED: Final = 4
_SPECIAL_TOKENS: Final = 4
_SHORTEST_WINDOW: Final = 16


class BiEncoder:
    """Scores texts by the cosine of two embeddings.

    Args:
        model: a SentenceTransformer.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Cosine similarity of the query and each text."""
        owners, pieces = _windows(self._model.tokenizer, texts, self._model.max_seq_length - _SPECIAL_TOKENS)
        vectors = self.embed([query, *pieces])
        return _best(owners, [float(cosine) for cosine in vectors[1:] @ vectors[0]])

    def embed(self, texts: Sequence[str]) -> Any:
        """Embeddings of length 1, one row per text, cut where the model stops reading."""
        return self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)


class CrossScorer:
    """Scores texts by reading each together with the query; scores are raw logits.

    Args:
        model: a CrossEncoder with one label.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The logit of each text."""
        import torch  # noqa: PLC0415 (an extra)

        tokenizer = self._model.tokenizer
        taken = len(tokenizer(query, add_special_tokens=False, verbose=False)["input_ids"])
        longest = min(tokenizer.model_max_length, self._model.config.max_position_embeddings)
        owners, pieces = _windows(tokenizer, texts, longest - taken - _SPECIAL_TOKENS)
        logits = self._model.predict(
            [(query, piece) for piece in pieces], activation_fn=torch.nn.Identity(), show_progress_bar=False
        )
        if logits.ndim != 1:
            raise TrimError(
                f"the cross-encoder gives {logits.shape[1]} numbers per text: one with a single label is needed"
            )
        return _best(owners, [float(logit) for logit in logits])


def _windows(tokenizer: Any, texts: Sequence[str], size: int) -> tuple[list[int], list[str]]:
    """Windows of at most `size` tokens and the number of the text that each is from."""
    size = max(size, _SHORTEST_WINDOW)
    offsets = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    owners, pieces = [], []
    for owner, (text, spans) in enumerate(zip(texts, offsets["offset_mapping"], strict=True)):
        for first in range(0, max(1, len(spans) - size // 2), size // 2) if len(spans) > size else (0,):
            last = min(first + size, len(spans)) - 1
            owners.append(owner)
            pieces.append(text[spans[first][0] : spans[last][1]] if len(spans) > size else text)
    return owners, pieces


def _best(owners: Sequence[int], scores: Sequence[float]) -> list[float]:
    pairs = zip(owners, scores, strict=True)
    return [max(score for _, score in run) for _, run in groupby(pairs, lambda pair: pair[0])]


def load_bi_encoder(name: str | Path) -> BiEncoder:
    """A bi-encoder by name or folder.

    Raises:
        TrimError: sentence-transformers or the model is missing.
    """
    return BiEncoder(_load("SentenceTransformer", _place(name)))


def load_cross_encoder(name: str | Path) -> CrossScorer:
    """A cross-encoder by name or folder.

    Raises:
        TrimError: sentence-transformers or the model is missing.
    """
    return CrossScorer(_load("CrossEncoder", _place(name)))


def _place(name: str | Path) -> str:
    """A folder: the given one, or `model` in an installed package of that name; else the name itself."""
    text = str(name)
    spec = find_spec(text) if text.isidentifier() and not Path(text).exists() else None
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        if folder.is_dir():
            return str(folder)
    return text


@lru_cache(_REMEMBERED)
def _load(kind: str, place: str) -> Any:
    try:
        import sentence_transformers  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise TrimError(f"model rankers need {error.name}: {_INSTALL}") from error
    try:
        # a ranker in a request path must not fetch a model on its own
        return getattr(sentence_transformers, kind)(place, local_files_only=True)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise TrimError(
            f"model {place} could not be loaded: {reason}; download it first, or give its folder"
        ) from error
