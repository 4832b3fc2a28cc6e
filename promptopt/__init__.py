"""promptopt: finds what makes LLM features slow and expensive in their source code.

Everything public is importable from here; modules are loaded when a name is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs as much as starting the interpreter
if TYPE_CHECKING:
    from typing import Any, Final

    from promptopt.config import Config, load_config
    from promptopt.errors import (
        BudgetError,
        ConfigError,
        InternalError,
        PromptoptError,
        RulePackError,
        TokenError,
        TrimError,
        UsageError,
    )
    from promptopt.finding import Applicability, Edit, Finding, Fix, Related, Remedy, Severity
    from promptopt.lint import Report, check, check_text
    from promptopt.prompt import (
        Block,
        CacheMarker,
        Call,
        CallContext,
        Cause,
        Choice,
        History,
        Interpolation,
        Media,
        Message,
        Parameter,
        Prompt,
        Repeat,
        Text,
        Tool,
        ToolList,
        Volatility,
    )
    from promptopt.rule import Rule, RuleContext, load_rules
    from promptopt.source import Location, Position, SourceFile, Span
    from promptopt.tokens import TokenCounter, count_tokens, token_counter
    from promptopt.trim import ContextTrimmer, HistoryTrimmer, Trimmed, TrimmedHistory

__version__ = "0.1.0"

_ROOMS: Final = {
    "config": ("Config", "load_config"),
    "errors": (
        *("BudgetError", "ConfigError", "InternalError", "PromptoptError", "RulePackError"),
        *("TokenError", "TrimError", "UsageError"),
    ),
    "finding": ("Applicability", "Edit", "Finding", "Fix", "Related", "Remedy", "Severity"),
    "lint": ("Report", "check", "check_text"),
    "prompt": (
        *("Block", "CacheMarker", "Call", "CallContext", "Cause", "Choice", "History", "Interpolation"),
        *("Media", "Message", "Parameter", "Prompt", "Repeat", "Text", "Tool", "ToolList", "Volatility"),
    ),
    "rule": ("Rule", "RuleContext", "load_rules"),
    "source": ("Location", "Position", "SourceFile", "Span"),
    "tokens": ("TokenCounter", "count_tokens", "token_counter"),
    "trim": ("ContextTrimmer", "HistoryTrimmer", "Trimmed", "TrimmedHistory"),
}
_HOMES: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Applicability",
    "Block",
    "BudgetError",
    "CacheMarker",
    "Call",
    "CallContext",
    "Cause",
    "Choice",
    "Config",
    "ConfigError",
    "ContextTrimmer",
    "Edit",
    "Finding",
    "Fix",
    "History",
    "HistoryTrimmer",
    "InternalError",
    "Interpolation",
    "Location",
    "Media",
    "Message",
    "Parameter",
    "Position",
    "Prompt",
    "PromptoptError",
    "Related",
    "Remedy",
    "Repeat",
    "Report",
    "Rule",
    "RuleContext",
    "RulePackError",
    "Severity",
    "SourceFile",
    "Span",
    "Text",
    "TokenCounter",
    "TokenError",
    "Tool",
    "ToolList",
    "TrimError",
    "Trimmed",
    "TrimmedHistory",
    "UsageError",
    "Volatility",
    "__version__",
    "check",
    "check_text",
    "count_tokens",
    "load_config",
    "load_rules",
    "token_counter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (not needed to print the version)

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
