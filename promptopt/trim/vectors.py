"""Static token vectors: one vector per token, no network of layers, a few milliseconds for a context.

Reads folders in the format of model2vec (`model.safetensors`, `tokenizer.json`) and the weights inside the
package wordllama, whose own code is not loaded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from promptopt.errors import TrimError

_INSTALL: Final = "pip install 'promptopt-toolkit[static]'"
_TABLES: Final = ("embeddings", "embedding.weight")
_WORDLLAMA: Final = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_REMEMBERED: Final = 4


class StaticVectors:
    """Scores texts by the cosine of sums of token vectors, rare tokens weighing more.

    Args:
        table: vectors.
        tokenizer: of the package tokenizers.
        rows: the vector of each token, where several share one.
        factors: how much each token counts, where the model says so.
    """

    def __init__(
        self,
        table: npt.NDArray[Any],
        tokenizer: Any,
        rows: npt.NDArray[Any] | None = None,
        factors: npt.NDArray[Any] | None = None,
    ) -> None:
        self._table = table
        self._tokenizer = tokenizer
        self._rows = rows
        self._factors = factors

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Cosine similarity of the query and each text; token weights come from these texts."""
        encodings = self._tokenizer.encode_batch_fast([query, *texts], add_special_tokens=False)
        tokens = [encoding.ids for encoding in encodings]
        weights = _weights(tokens[1:])
        highest = math.log(1 + (len(texts) + 0.5) / 0.5)
        sums = np.stack([self._sum(found, weights, highest) for found in tokens])
        lengths = np.linalg.norm(sums, axis=1)
        sums /= np.where(lengths > 0, lengths, 1)[:, None]
        return [float(cosine) for cosine in sums[1:] @ sums[0]]

    def _sum(self, tokens: Sequence[int], weights: dict[int, float], highest: float) -> npt.NDArray[np.float32]:
        if not tokens:
            return np.zeros(self._table.shape[1], dtype=np.float32)
        rows = tokens if self._rows is None else self._rows[tokens]
        factors = np.asarray([weights.get(token, highest) for token in tokens], dtype=np.float32)
        if self._factors is not None:
            factors *= self._factors[tokens]
        summed: npt.NDArray[np.float32] = factors @ self._table[rows].astype(np.float32)
        return summed


def _weights(documents: Sequence[Sequence[int]]) -> dict[int, float]:
    """The idf of each token: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    counts = Counter(token for document in documents for token in set(document))
    total = len(documents)
    return {token: math.log(1 + (total - count + 0.5) / (count + 0.5)) for token, count in counts.items()}


def load_vectors(name: str | Path) -> StaticVectors:
    """Static vectors by the name wordllama, or from a folder.

    Raises:
        TrimError: the libraries, the package or the folder's files are missing.
    """
    return _load(*_files(name))


def _files(name: str | Path) -> tuple[Path, Path]:
    if name == "wordllama" and not Path(name).is_dir():
        spec = find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise TrimError("the vectors of wordllama are not installed: pip install wordllama")
        folder = Path(spec.submodule_search_locations[0])
        weights, tokenizer = (folder / part for part in _WORDLLAMA)
    else:
        folder = Path(name)
        weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    for file in (weights, tokenizer):
        if not file.is_file():
            raise TrimError(
                f"no static vectors in {folder}: {file.name} is missing; give wordllama or a model2vec folder"
            )
    return weights, tokenizer


@lru_cache(_REMEMBERED)
def _load(weights: Path, tokenizer: Path) -> StaticVectors:
    try:
        from safetensors import SafetensorError  # noqa: PLC0415 (an extra)
        from safetensors.numpy import load_file  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ImportError as error:
        raise TrimError(f"static vectors need {error.name}: {_INSTALL}") from error
    try:
        tensors = load_file(weights)
    except SafetensorError as error:
        raise TrimError(f"{weights} is no safetensors file: {error}") from error
    table = next((tensors[key] for key in _TABLES if key in tensors), None)
    if table is None:
        raise TrimError(f"{weights} holds {', '.join(tensors) or 'nothing'}: a tensor named embeddings is needed")
    words = Tokenizer.from_file(str(tokenizer))
    words.no_truncation()
    words.no_padding()
    return StaticVectors(table, words, tensors.get("mapping"), tensors.get("weights"))
