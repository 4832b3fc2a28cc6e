"""Trimmers: retrieved context and chat history within a token budget, at run time."""

from __future__ import annotations

from promptopt.errors import BudgetError, TrimError
from promptopt.trim.context import ContextTrimmer
from promptopt.trim.cutting import Reason
from promptopt.trim.history import HistoryItem, HistoryTrimmer, TrimmedHistory
from promptopt.trim.trimmed import Fate, Part, Trimmed

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
