"""Counts are tiktoken's own, whatever the text; nothing is loaded before something is counted."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import zlib
from base64 import b64encode
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from promptopt import TokenError, count_tokens, token_counter
from promptopt.tokens import encodings, most_tokens
from promptopt.tokens.encodings import encoding_names

NAMES = ["cl100k_base", "o200k_base"]
BLANKS = [" ", "\t", "\u3000", "\xa0", " \t", "\x0b"]


@pytest.fixture(scope="module")
def references() -> dict[str, tiktoken.Encoding]:
    """Encodings as tiktoken's own definitions make them of the files that it expects, put together from ours."""

    def from_package(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        ranks = encodings._ranks(url.rsplit("/", 1)[1].removesuffix(".tiktoken"))
        published = b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks.items())
        assert hashlib.sha256(published).hexdigest() == expected_hash
        return ranks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", from_package)
        return {name: tiktoken.Encoding(**getattr(openai_public, name)()) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(st.one_of(st.characters(), st.sampled_from(" \n\t\r's1A/\u3000")), max_size=60))
@settings(max_examples=200, deadline=None)
def test_counts_are_the_reference(references: dict[str, tiktoken.Encoding], name: str, text: str) -> None:
    """Any text, lone surrogates included, has as many tokens as tiktoken gives it."""
    assert count_tokens(text, encoding=name) == len(references[name].encode_ordinary(text))
    assert count_tokens(text, encoding=name) <= most_tokens(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("x", ""), ("", "x"), ("x", "x"), ("!\n", "\nx"), ("\r\n", ".")]
)
def test_long_blanks_count_like_the_reference(
    references: dict[str, tiktoken.Encoding], name: str, blank: str, before: str, after: str
) -> None:
    """Runs long enough to be taken apart, and short enough that tiktoken manages them, too."""
    text = (before + blank * (21_001 // len(blank)) + after) * 2
    assert count_tokens(text, encoding=name) == len(references[name].encode_ordinary(text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
@pytest.mark.parametrize("letter", ["a", " ", "\t", "\n", "!", "\u3000"])
def test_a_megabyte_of_one_character_is_counted(name: str, letter: str) -> None:
    """The regular expression engine gives up on none of them, with text behind them or without."""
    text = letter * (1_000_000 // len(letter.encode()))
    tokens = count_tokens(text, encoding=name)
    assert 0 < tokens <= most_tokens(text)
    assert tokens < count_tokens(f"{text}x and more", encoding=name) <= tokens + 6


def test_special_tokens_are_ordinary_text() -> None:
    """A prompt may speak of `<|endoftext|>`."""
    assert count_tokens("<|endoftext|>") > 1


def test_lone_surrogates_count_as_the_replacement_character() -> None:
    """What cannot be encoded does not end the run."""
    assert count_tokens("\udc80") == count_tokens("\ufffd")
    assert most_tokens("\udc80") == 3


def test_the_newest_public_encoding_is_the_default() -> None:
    """Text without a model is counted with o200k_base; its chat variant has the same ranks."""
    text = "Größe: 120 m². " * 20
    assert (
        count_tokens(text) == count_tokens(text, encoding="o200k_base") == count_tokens(text, encoding="o200k_harmony")
    )
    assert count_tokens(text, model="gpt-4") == count_tokens(text, encoding="cl100k_base") != count_tokens(text)
    assert set(NAMES) <= set(encoding_names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gpt-4o-house-edition"}, "unknown model 'gpt-4o-house-edition'"),
        ({"model": "gpt-4o-minni"}, "did you mean 'gpt-4o-mini'"),
        ({"model": "zzz"}, "its tokenizer is unknown; or give an encoding"),
        ({"encoding": "o200k"}, "did you mean 'o200k_base'"),
        ({"encoding": "zzz"}, "known are cl100k_base, o200k_base"),
        ({"encoding": "missing/tokenizer.json"}, "missing/tokenizer.json"),
    ],
)
def test_unknown_names_are_refused(arguments: dict[str, Any], message: str) -> None:
    """With the nearest known one, or what there is."""
    with pytest.raises(TokenError, match=message.replace("(", r"\(")) as raised:
        count_tokens("text", **arguments)
    assert "\n" not in str(raised.value)


def test_an_unknown_model_counts_with_an_encoding_that_is_given() -> None:
    """The encoding decides, and says nothing about the model."""
    counter = token_counter("house-model", "cl100k_base")
    assert (counter.encoding, counter.estimate) == ("cl100k_base", False)


def test_ranks_that_were_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged installation is an error, not another count."""
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "o200k_base.zlib").write_bytes(zlib.compress(b"\x01!"))
    monkeypatch.setattr(resources, "files", lambda _package: tmp_path)
    with pytest.raises(TokenError, match="install promptopt-toolkit again"):
        encodings._ranks("o200k_base")
    (tmp_path / "ranks" / "o200k_base.zlib").write_bytes(b"no zlib")
    with pytest.raises(TokenError, match="cannot be read"):
        encodings._ranks("o200k_base")


def test_nothing_is_loaded_before_a_text_is_counted() -> None:
    """Bounds, models and counters come without a tokenizer."""
    code = (
        "import sys, promptopt; from promptopt.tokens import most_tokens, find_model; "
        "most_tokens('x'); find_model('gpt-5'); "
        "counter = promptopt.token_counter('gpt-5'); print('tiktoken' in sys.modules or 'splintr' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_fast_engine_agrees(references: dict[str, tiktoken.Encoding]) -> None:
    """Where the extra is installed it counts as the reference does."""
    splintr = pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    draw = random.Random(7)  # noqa: S311 (test inputs)
    pieces = [" ", "  ", "\n", "\r\n", "a", "The ", "WORLD", "'s", "1234", ".", "//", "中文", "\U0001f600", "e\u0301"]
    for name in NAMES:
        encode = splintr.Tokenizer.from_pretrained(name).encode_ordinary
        for _ in range(2_000):
            text = "".join(draw.choices([*pieces, "<|endoftext|>"], k=30))
            assert encode(text) == references[name].encode_ordinary(text)


def test_a_hugging_face_tokenizer_is_used_where_a_path_is_given(tmp_path: Path) -> None:
    """A file that is none is an error that names it."""
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    words = tokenizers.models.WordLevel({"hello": 0, "world": 1, "[UNK]": 2}, unk_token="[UNK]")  # noqa: S106 (no secret)
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert count_tokens("hello big world", encoding=str(tmp_path / "tokenizer.json")) == 3
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(TokenError, match=r"other\.json: not a tokenizer"):
        count_tokens("hello", encoding=str(tmp_path / "other.json"))


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of a tokenizer without the package that reads it."""
    monkeypatch.setattr(encodings, "find_spec", lambda _name: None)
    with pytest.raises(TokenError, match="pip install tokenizers"):
        count_tokens("text", encoding="some/tokenizer.json")
