"""What kind of answer a question asks for, and whether a part has one. English; other questions ask for nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from promptopt.trim.terms import words

_NUMBER: Final = re.compile(
    r"\b(?:when|(?:what|which) (?:year|date|day|month|decade|century)|what (?:percentage|number|age)"
    r"|how (?:many|much|long|old|far|tall|big|high|deep|large))\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"\b(?:who|whom|whose|where|which|what (?:city|country|state|person|company|county|town))\b", re.IGNORECASE
)
_DIGIT: Final = re.compile(r"\d")


def has_number(question: str, texts: Sequence[str]) -> list[bool]:
    """For a question that asks for a date or number, whether each text has digits."""
    asked = _NUMBER.search(question) is not None
    return [asked and _DIGIT.search(text) is not None for text in texts]


def has_name(question: str, texts: Sequence[str]) -> list[bool]:
    """For a question that asks for a person or place, whether each text has a name that the question has not."""
    asked = _NAME.search(question) is not None
    known = set(words(question))
    return [asked and any(word[0].isupper() and word not in known for word in words(text)[1:]) for text in texts]
