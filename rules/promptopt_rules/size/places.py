"""Where the text stands whose size a finding tells."""

from __future__ import annotations

from collections.abc import Iterable

from promptopt.prompt import Text
from promptopt.source import Location


def largest(texts: Iterable[Text]) -> Location | None:
    """Where the longest piece of source among texts stands."""
    segments = [segment for text in texts for segment in text.map]
    longest = max(segments, key=lambda segment: segment.length, default=None)
    return longest.location if longest else None
