"""Errors that end a run with exit status 2 and one line.

PromptoptError
├── UsageError      a path or option on the command line
├── ConfigError     the project's configuration
├── RulePackError   a rule pack that is missing, broken or in conflict
├── TokenError      a model or encoding that is unknown, or a tokenizer that cannot be used
├── TrimError       passages or messages that cannot be trimmed as asked
│   └── BudgetError what must stay is over budget
└── InternalError   a rule that failed on a prompt
"""

from __future__ import annotations


class PromptoptError(Exception):
    """The run cannot go on; the message is one line that says what was wrong, where, and what to do."""


class UsageError(PromptoptError):
    """A path or option that cannot be used."""


class ConfigError(PromptoptError):
    """Configuration that cannot be read, or that names an unknown key, rule or option."""


class RulePackError(PromptoptError):
    """No rule pack, one that cannot be imported, or two rules of one code."""


class TokenError(PromptoptError, ValueError):
    """A model or encoding that is unknown, a tokenizer that cannot be used, or messages that cannot be counted."""


class TrimError(PromptoptError, ValueError):
    """Arguments, messages or passages that a trimmer cannot work with."""


class BudgetError(TrimError):
    """What must stay is over budget.

    Attributes:
        needed: tokens of what must stay.
        budget: tokens that there are.
    """

    def __init__(self, *, needed: int, budget: int) -> None:
        super().__init__(f"what must stay takes {needed} tokens, the budget is {budget}: raise it, or keep less")
        self.needed = needed
        self.budget = budget


class InternalError(PromptoptError):
    """A rule raised an exception; `__cause__` holds it."""
