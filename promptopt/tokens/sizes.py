"""Sizes of a request's texts in tokens, as its model counts them.

Tokenizers are loaded where a size is printed, and where bytes cannot decide about a limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from promptopt.prompt import Call, estimate_tokens
from promptopt.tokens.counting import most_tokens, token_counter
from promptopt.tokens.models import Model, find_model

ESTIMATE_WITHIN: Final = 2
"""An estimate from bytes is taken to be wrong by less than this factor."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number of tokens; `exact` where the model is known and its tokenizer public, or an encoding is configured."""

    tokens: int
    exact: bool

    def __str__(self) -> str:
        return f"{self.tokens:,}" if self.exact or not self.tokens else f"about {self.tokens:,}"


@dataclass(frozen=True, slots=True)
class Figure:
    """The tokens of texts, counted when it is printed; `marked` says that an estimate is told as one."""

    texts: tuple[str, ...]
    call: Call
    marked: bool = True

    def __str__(self) -> str:
        size = measure(self.texts, self.call)
        return str(size) if self.marked else f"{size.tokens:,}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and figures that become text when they are printed."""

    parts: tuple[str | Figure, ...]

    @classmethod
    def of(cls, *parts: str | Figure) -> Sentence:
        """The parts one after another."""
        return cls(parts)

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def model_of(call: Call) -> Model | None:
    """What is known of the model that a request names."""
    name = call.model.value if call.model else None
    return find_model(name) if isinstance(name, str) else None


def measure(texts: Iterable[str], call: Call) -> Size:
    """The tokens of texts together."""
    encoding, exact = encoding_of(call)
    return Size(sum(_count(text, encoding) for text in texts), exact)


def encoding_of(call: Call) -> tuple[str, bool]:
    """What a request's text is counted with, and whether that is its model's own encoding or a configured one."""
    if call.encoding:
        return call.encoding, True
    model = model_of(call)
    encoding = token_counter(model.names[0] if model and model.encoding else None).encoding
    return encoding, bool(model and model.encoding and not model.estimate)


def reaches(texts: Iterable[str], limit: int, call: Call) -> bool:
    """Whether texts together have at least `limit` tokens; counted only where their bytes leave that open."""
    given = tuple(texts)
    estimate = estimate_tokens(sum(map(most_tokens, given)))
    if not limit / ESTIMATE_WITHIN <= estimate < limit * ESTIMATE_WITHIN:
        return estimate >= limit
    return measure(given, call).tokens >= limit


@lru_cache(maxsize=4096)
def _count(text: str, encoding: str) -> int:
    return token_counter(encoding=encoding).text(text)
