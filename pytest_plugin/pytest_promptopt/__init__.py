"""promptopt in tests: promises about prompts as assertions.

The plugin loads with every pytest run of an environment that it is installed in; names are imported when they are used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from pytest_promptopt.budgets import assert_token_budget
    from pytest_promptopt.calls import LlmCall, LlmCalls
    from pytest_promptopt.errors import (
        LlmCallError,
        PromptAssertionError,
        PromptBudgetError,
        PromptHistoryError,
        PromptLatencyError,
        PromptLintError,
        PromptoptWarning,
        PromptPrefixError,
    )
    from pytest_promptopt.histories import assert_bounded_history, assert_prefix_grows
    from pytest_promptopt.latencies import assert_latency
    from pytest_promptopt.linting import assert_lint_clean
    from pytest_promptopt.prefixes import assert_stable_prefix
    from pytest_promptopt.rendering import RenderedPrompt, Renderer
    from pytest_promptopt.retrieval import assert_retrieval_budget

_ROOMS: Final = {
    "budgets": ("assert_token_budget",),
    "calls": ("LlmCall", "LlmCalls"),
    "errors": (
        *("LlmCallError", "PromptAssertionError", "PromptBudgetError", "PromptHistoryError"),
        *("PromptLatencyError", "PromptLintError", "PromptPrefixError", "PromptoptWarning"),
    ),
    "histories": ("assert_bounded_history", "assert_prefix_grows"),
    "latencies": ("assert_latency",),
    "linting": ("assert_lint_clean",),
    "prefixes": ("assert_stable_prefix",),
    "rendering": ("RenderedPrompt", "Renderer"),
    "retrieval": ("assert_retrieval_budget",),
}
_HOMES: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "LlmCall",
    "LlmCallError",
    "LlmCalls",
    "PromptAssertionError",
    "PromptBudgetError",
    "PromptHistoryError",
    "PromptLatencyError",
    "PromptLintError",
    "PromptPrefixError",
    "PromptoptWarning",
    "RenderedPrompt",
    "Renderer",
    "assert_bounded_history",
    "assert_latency",
    "assert_lint_clean",
    "assert_prefix_grows",
    "assert_retrieval_budget",
    "assert_stable_prefix",
    "assert_token_budget",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (loaded when a test asserts something)

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
