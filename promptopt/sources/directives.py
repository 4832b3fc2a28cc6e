"""How finely a date format resolves time: strftime directives and Moment tokens."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final


class Resolution(IntEnum):
    """What formatted text still tells of a moment; each includes the ones before it."""

    NOTHING = 0
    MONTH = 1
    DAY = 2
    TIME = 3


_DIRECTIVE: Final = re.compile(r"%[-+_0^#:]*[0-9]*[EO]?([A-Za-z%])")
_TIME_DIRECTIVES: Final = frozenset("HIMSfpPcXTRrskl")
_MONTH_DIRECTIVES: Final = frozenset("YCymbBh")
_DAY_DIRECTIVES: Final = frozenset("dejaAuwUWGgVxDFvzZ")
"""Zone names and offsets change with the date (summer time), never within an ordinary day."""

_LITERAL_TOKENS: Final = re.compile(r"\[[^\]]*\]|\\.", re.DOTALL)
_TIME_TOKENS: Final = re.compile(r"[HhmsSAaXxk]|LTS?|LLLL?|llll?")
_DOUBLED: Final = re.compile(r"(?<![A-Za-z])(?:YYYY|YY|M{2,4}|D{2,4}|d{3,4}|HH|hh|mm|ss)(?![a-z])")
_MONTH_TOKENS: Final = re.compile(r"[YQMo]")
_DAY_TOKENS: Final = re.compile(r"[DdEWwLlZz]")


def strftime_resolution(directives: str) -> Resolution:
    """Resolution of strftime directives: those of Python, and the common ones of C libraries."""
    letters = {match[1] for match in _DIRECTIVE.finditer(directives)}
    if letters & _TIME_DIRECTIVES:
        return Resolution.TIME
    if letters & _DAY_DIRECTIVES:
        return Resolution.DAY
    return Resolution.MONTH if letters & _MONTH_DIRECTIVES else Resolution.NOTHING


def token_resolution(tokens: str, *, doubled: bool = False) -> Resolution:
    """Resolution of Moment tokens (`YYYY-MM-DD HH:mm`); text in brackets is literal.

    With `doubled` only letters that stand twice count: for text that may not be tokens at all.
    """
    active = _LITERAL_TOKENS.sub("", tokens)
    if doubled:
        active = "".join(_DOUBLED.findall(active))
    if _TIME_TOKENS.search(active):
        return Resolution.TIME
    if _DAY_TOKENS.search(active):
        return Resolution.DAY
    return Resolution.MONTH if _MONTH_TOKENS.search(active) else Resolution.NOTHING
