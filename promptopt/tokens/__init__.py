"""Token counts, offline: exact where a tokenizer is public, marked as estimates where it is not.

Nothing here loads a tokenizer before something is counted; `most_tokens` bounds a count without one.
"""

from promptopt.tokens.chat import count_messages, count_tools
from promptopt.tokens.counting import TokenCounter, count_tokens, most_tokens, token_counter
from promptopt.tokens.models import (
    Framing,
    Model,
    Prices,
    breakpoint_limit,
    caches_from_first_block,
    find_model,
    known_models,
)

__all__ = [
    "Framing",
    "Model",
    "Prices",
    "TokenCounter",
    "breakpoint_limit",
    "caches_from_first_block",
    "count_messages",
    "count_tokens",
    "count_tools",
    "find_model",
    "known_models",
    "most_tokens",
    "token_counter",
]
