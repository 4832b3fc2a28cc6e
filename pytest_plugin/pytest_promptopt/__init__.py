"""promptopt in tests: promises about prompts as assertions.

The plugin loads with every pytest run of an environment that it is installed in; names are imported when they are used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pytest_promptopt.budgets import PromptBudgetError, assert_token_budget

__all__ = ["PromptBudgetError", "assert_token_budget"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_promptopt import budgets  # noqa: PLC0415 (loaded when a test asserts something)

    return getattr(budgets, name)
