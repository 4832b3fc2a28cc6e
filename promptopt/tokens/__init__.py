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
    largest_cache_minimum,
    lookback,
    needs_markers,
)
from promptopt.tokens.sizes import Figure, Sentence, Size, encoding_of, measure, model_of, reaches

__all__ = [
    "Figure",
    "Framing",
    "Model",
    "Prices",
    "Sentence",
    "Size",
    "TokenCounter",
    "breakpoint_limit",
    "caches_from_first_block",
    "count_messages",
    "count_tokens",
    "count_tools",
    "encoding_of",
    "find_model",
    "known_models",
    "largest_cache_minimum",
    "lookback",
    "measure",
    "model_of",
    "most_tokens",
    "needs_markers",
    "reaches",
    "token_counter",
]
