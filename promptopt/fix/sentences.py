"""Sentences and lines: what may be moved as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_END: Final = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|[\r\n]+")


def sentences(text: str) -> Iterator[str]:
    """The text cut at line ends and behind `.`, `!` and `?` with white space after them; no empty pieces."""
    start = 0
    for cut in _END.finditer(text):
        if piece := text[start : cut.end()].strip():
            yield piece
        start = cut.end()
    if piece := text[start:].strip():
        yield piece
