"""Sizes of text in tokens as the request's model counts them; tokenizers are loaded only where bytes cannot decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from promptopt.prompt import Call, Text
from promptopt.source import Location
from promptopt.tokens import Model, find_model, most_tokens, token_counter


@dataclass(frozen=True, slots=True)
class Size:
    """A number of tokens; `exact` where the model is known and its tokenizer public."""

    tokens: int
    exact: bool

    def __str__(self) -> str:
        return f"{self.tokens:,}" if self.exact else f"about {self.tokens:,}"


def model_of(call: Call) -> Model | None:
    """What is known of the model that a request names."""
    name = call.model.value if call.model else None
    return find_model(name) if isinstance(name, str) else None


def size_above(texts: Iterable[str], limit: int, call: Call) -> Size | None:
    """The tokens of texts together where they are more than `limit`, else None."""
    given = tuple(texts)
    if sum(map(most_tokens, given)) <= limit:
        return None
    size = measure(given, call)
    return size if size.tokens > limit else None


def measure(texts: Iterable[str], call: Call) -> Size:
    """The tokens of texts together."""
    model = model_of(call)
    encoding = token_counter(model.names[0] if model and model.encoding else None).encoding
    exact = bool(model and model.encoding and not model.estimate)
    return Size(sum(_count(text, encoding) for text in texts), exact)


@lru_cache(maxsize=4096)
def _count(text: str, encoding: str) -> int:
    return token_counter(encoding=encoding).text(text)


def largest(texts: Iterable[Text]) -> Location | None:
    """Where the longest piece of source among texts stands."""
    segments = [segment for text in texts for segment in text.map]
    longest = max(segments, key=lambda segment: segment.length, default=None)
    return longest.location if longest else None
