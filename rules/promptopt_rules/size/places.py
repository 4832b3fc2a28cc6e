"""Where the text stands whose size a finding tells."""

from __future__ import annotations

from collections.abc import Iterable

from promptopt.prompt import Text
from promptopt.source import Location, Span


def largest(texts: Iterable[Text]) -> Location | None:
    """Where the longest piece of source among texts stands, without the blanks and line ends that open it."""
    segments = [(segment, text.value) for text in texts for segment in text.map]
    if not segments:
        return None
    longest, value = max(segments, key=lambda one: one[0].length)
    place = longest.location
    if longest.length != place.span.end - place.span.start:
        return place
    piece = value[longest.offset : longest.offset + longest.length]
    opening = len(piece) - len(piece.lstrip())
    return Location(place.path, Span(place.span.start + opening % longest.length, place.span.end))
