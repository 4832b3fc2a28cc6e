"""Trimmers: retrieved context and chat history within a token budget, at run time.

Modules are loaded when a name is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in promptopt itself
if TYPE_CHECKING:
    from typing import Any, Final

    from promptopt.errors import BudgetError, TrimError
    from promptopt.trim.context import ContextTrimmer
    from promptopt.trim.cutting import Reason
    from promptopt.trim.history import HistoryItem, HistoryTrimmer, TrimmedHistory
    from promptopt.trim.trimmed import Fate, Part, Trimmed

_HOMES: Final = {
    "BudgetError": "promptopt.errors",
    "ContextTrimmer": "promptopt.trim.context",
    "Fate": "promptopt.trim.trimmed",
    "HistoryItem": "promptopt.trim.history",
    "HistoryTrimmer": "promptopt.trim.history",
    "Part": "promptopt.trim.trimmed",
    "Reason": "promptopt.trim.cutting",
    "TrimError": "promptopt.errors",
    "Trimmed": "promptopt.trim.trimmed",
    "TrimmedHistory": "promptopt.trim.history",
}

__all__ = [
    "BudgetError",
    "ContextTrimmer",
    "Fate",
    "HistoryItem",
    "HistoryTrimmer",
    "Part",
    "Reason",
    "TrimError",
    "Trimmed",
    "TrimmedHistory",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (not needed before)

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
