"""Jinja: a filter for templates that build prompts. Needs no import of Jinja itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from promptopt.trim.context import ContextTrimmer


def context_filter(trimmer: ContextTrimmer) -> Callable[..., str]:
    """A filter that trims passages to what answers a question.

        environment.filters["trim_context"] = context_filter(ContextTrimmer(800))

    after which templates say `{{ passages | trim_context(question) }}` or, with a budget of their own,
    `{{ passages | trim_context(question, 400) }}`.

    Args:
        trimmer: what trims.

    Returns:
        The filter. It gives the text of the kept parts, and raises what `ContextTrimmer.trim` raises.
    """

    def trim_context(passages: Iterable[Any], question: str, budget: int | None = None) -> str:
        return trimmer.trim(question, passages, budget).text

    return trim_context
