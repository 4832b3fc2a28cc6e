"""Trimmers: retrieved context and chat history within a token budget, at run time."""

from __future__ import annotations

from promptopt.errors import BudgetError, TrimError
from promptopt.trim.cutting import Reason
from promptopt.trim.history import HistoryItem, HistoryTrimmer, TrimmedHistory

__all__ = ["BudgetError", "HistoryItem", "HistoryTrimmer", "Reason", "TrimError", "TrimmedHistory"]
