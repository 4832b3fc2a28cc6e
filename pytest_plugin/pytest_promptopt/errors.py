"""What failed assertions raise. The first line sums up, the others tell what it is made of.

AssertionError
└── PromptAssertionError
    ├── PromptBudgetError      a prompt has too many tokens
    ├── PromptPrefixError      too little of it stays the same from request to request
    ├── PromptHistoryError     a conversation grows without bound, or loses halves of tool calls
    ├── PromptLintError        `promptopt check` has findings
    ├── LlmCallError           what clients sent is not what was promised, or they sent nothing
    └── PromptLatencyError     requests take too long, or are too few to tell
"""

from __future__ import annotations

import pytest


class PromptAssertionError(AssertionError):
    """A promise about prompts that does not hold."""


class PromptBudgetError(PromptAssertionError):
    """A prompt is outside of its budget."""


class PromptPrefixError(PromptAssertionError):
    """Requests share too little of their beginning for a cache to help."""


class PromptHistoryError(PromptAssertionError):
    """A conversation grows with every turn, or its tool calls have lost their results."""


class PromptLintError(PromptAssertionError):
    """There are findings where none were promised."""


class LlmCallError(PromptAssertionError):
    """Recorded requests are not what was promised, or there are none."""


class PromptLatencyError(PromptAssertionError):
    """Requests take longer than was promised, or are too few to judge."""


class PromptoptWarning(pytest.PytestWarning):
    """What the lock file lacks or has too much."""
