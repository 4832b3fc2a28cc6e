"""Budgets, and token counts where the caller gives no counter: those of the default encoding.

The encoding is loaded when the first text is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from promptopt.errors import TrimError
from promptopt.trim.messages import sent_texts


def check_budget(budget: object) -> None:
    """Raises `TrimError` for what is no positive number of tokens."""
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise TrimError(f"budget is {budget!r}: give a number of tokens, at least 1")


@cache
def text_counter() -> Callable[[str], int]:
    """Tokens of a text."""
    from promptopt.tokens import token_counter  # noqa: PLC0415 (not needed where a counter is given)

    return token_counter().text


@cache
def message_counter() -> Callable[[Sequence[Any]], int]:
    """Tokens of a list of messages, of any shape that `read_message` knows, framed as in OpenAI's chat requests.

    An estimate for other providers. Images, audio and files are not counted.
    """
    from promptopt.tokens import token_counter  # noqa: PLC0415

    counter = token_counter()

    def count(messages: Sequence[Any]) -> int:
        texts = [text for message in messages for text in sent_texts(message)]
        return counter.framing.reply + len(messages) * counter.framing.message + sum(map(counter.text, texts))

    return count
