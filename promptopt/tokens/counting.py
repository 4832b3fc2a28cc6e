"""Counting the tokens of text, messages and tools for a model or an encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from promptopt.config import suggestion
from promptopt.errors import TokenError
from promptopt.tokens.chat import count_messages, count_tools
from promptopt.tokens.encodings import Count, load_count
from promptopt.tokens.models import Framing, find_model, known_models

DEFAULT_ENCODING: Final = "o200k_base"
_DEFAULT_FRAMING_OF: Final = "gpt-4o"


@dataclass(slots=True)
class TokenCounter:
    """Counts many texts with one encoding, which is loaded when the first is counted.

    Called with text or a list of messages it gives their tokens, so that it can be handed to whatever
    wants such a function.

    Attributes:
        encoding: name, or path of a `tokenizer.json`.
        estimate: whether counts of text are estimates: the model's tokenizer is not public.
        framing: what messages and tools cost on top of their text.
        framing_estimate: whether that is another model's framing, the provider not having published it.
    """

    encoding: str
    estimate: bool
    framing: Framing
    framing_estimate: bool
    _count: Count | None = field(default=None, repr=False, compare=False)

    def __call__(self, text_or_messages: str | Sequence[Mapping[str, Any]]) -> int:
        """Tokens of a text or of a request with these messages."""
        if isinstance(text_or_messages, str):
            return self.text(text_or_messages)
        return self.messages(text_or_messages)

    def text(self, text: str) -> int:
        """Tokens of a text; what looks like a special token is ordinary text."""
        if self._count is None:
            self._count = load_count(self.encoding)
        return self._count(text)

    def messages(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> int:
        """Tokens of a request with these messages and tools; see `count_messages` and `count_tools`."""
        return count_messages(messages, self.text, self.framing) + count_tools(tools, self.text, self.framing)


def token_counter(model: str | None = None, encoding: str | None = None) -> TokenCounter:
    """A counter for a model; `encoding` overrides the model's, and o200k_base is taken where neither is given.

    Raises:
        TokenError: an unknown model without an encoding.
    """
    found = find_model(model) if model else None
    if model and not found and not encoding:
        hint = suggestion(model, known_models()) or ": its tokenizer is unknown"
        raise TokenError(f"unknown model {model!r}{hint}; or give an encoding")
    framing = found.framing if found else None
    default = known_models()[_DEFAULT_FRAMING_OF].framing
    assert default is not None  # noqa: S101 (held by a test of the data)
    return TokenCounter(
        encoding or (found.encoding if found else None) or DEFAULT_ENCODING,
        estimate=bool(found and found.estimate and not encoding),
        framing=framing or default,
        framing_estimate=framing is None,
    )


def count_tokens(
    text_or_messages: str | Sequence[Mapping[str, Any]], model: str | None = None, encoding: str | None = None
) -> int:
    """Tokens of a text, or of a chat request with these messages.

    For text exact where the model's tokenizer is public (OpenAI's up to GPT-5), else an estimate with
    OpenAI's newest; `token_counter(model).estimate` tells. For many texts keep a `token_counter`.

    Args:
        text_or_messages: text, or messages with `role` and `content`.
        model: what the request calls it, such as `gpt-5`.
        encoding: `o200k_base`, `cl100k_base` or the path of a Hugging Face `tokenizer.json`; overrides the model's.

    Raises:
        TokenError: unknown model or encoding, or messages that are none.
    """
    return token_counter(model, encoding)(text_or_messages)


def most_tokens(text: str) -> int:
    """A number of tokens that no byte-level encoding exceeds, found without loading one: the text's bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
