"""Words as search terms: stems, parts of identifiers, pairs of characters where a script has no spaces."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final

_REMEMBERED: Final = 1 << 16

# Combining marks belong to their words: `\w` lacks them, and Indic scripts are full of them.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
# Thai to Myanmar, Khmer, kana, Han with its extensions, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"[\w{_MARKS}]+")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_CHARACTER: Final = re.compile(f"[{_UNSPACED}]")
_IDENTIFIER_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_COMPOSED: Final = re.compile(r"[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]")

# Function words of English that say nothing about a topic; question words among them.
STOP_WORDS: Final = frozenset(
    {
        *("a", "about", "above", "after", "again", "against", "all", "am", "an", "and", "any", "are", "aren"),
        *("as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can"),
        *("could", "couldn", "d", "did", "didn", "do", "does", "doesn", "doing", "don", "down", "during", "each"),
        *("few", "for", "from", "further", "had", "hadn", "has", "hasn", "have", "haven", "having", "he", "her"),
        *("here", "hers", "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "isn", "it"),
        *("its", "itself", "just", "ll", "m", "ma", "me", "mightn", "more", "most", "mustn", "my", "myself"),
        *("needn", "no", "nor", "not", "now", "o", "of", "off", "on", "once", "only", "or", "other", "our"),
        *("ours", "ourselves", "out", "over", "own", "re", "s", "same", "shan", "she", "should", "shouldn", "so"),
        *("some", "such", "t", "than", "that", "the", "their", "theirs", "them", "themselves", "then", "there"),
        *("these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "ve", "very", "was"),
        *("wasn", "we", "were", "weren", "what", "when", "where", "which", "while", "who", "whom", "whose", "why"),
        *("will", "with", "won", "would", "wouldn", "y", "you", "your", "yours", "yourself", "yourselves"),
    }
)


@cache
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer  # noqa: PLC0415 (costs as much as the rest of the package)

    stemmer: Any = snowballstemmer.stemmer("english")
    stem: Callable[[str], str] = stemmer.stemWord
    return stem


def words(text: str) -> list[str]:
    """The words of a text as they stand there."""
    return _WORD.findall(text)


@lru_cache(_REMEMBERED)
def word_terms(word: str) -> tuple[str, ...]:
    """The search terms of one word: none for a stop word, several for an identifier or unspaced text."""
    if _UNSPACED_CHARACTER.search(word):
        return tuple(term for run in _RUN.findall(word) for term in _run_terms(run))
    lowered = word.lower()
    if lowered in STOP_WORDS:
        return ()
    if word.isalpha() and not _COMPOSED.search(word):
        return (_stemmer()(lowered),)
    parts = [part.lower() for part in _IDENTIFIER_PART.findall(word)] if _COMPOSED.search(word) else []
    stems = [_stemmer()(part) for part in parts if part not in STOP_WORDS]
    return tuple(dict.fromkeys((_stemmer()(lowered), *stems)))


def _run_terms(run: str) -> tuple[str, ...]:
    if not _UNSPACED_CHARACTER.match(run):
        return word_terms(run)
    return tuple(run[at : at + 2] for at in range(max(1, len(run) - 1)))


def terms(text: str) -> list[str]:
    """The search terms of a text, in order, with repetitions."""
    return [term for word in words(text) for term in word_terms(word)]
