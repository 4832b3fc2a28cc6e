"""Where the text stands whose size a finding tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from promptopt.prompt import Block, Message, Prompt, Segment, Text
from promptopt.source import Location, Span

NEAR: Final = 60
"""Characters of source between two pieces of one text: values and the code that puts them in."""


def largest(texts: Iterable[Text]) -> Location | None:
    """Where the largest part of texts begins in the source: the first of the pieces that stand close together there,
    without the blanks and line ends that open it."""
    pieces = [(segment, text.value) for text in texts for segment in text.map]
    pieces.sort(key=lambda piece: piece[0].location)
    clusters: list[list[tuple[Segment, str]]] = []
    for piece in pieces:
        if clusters and _is_near(clusters[-1][-1][0].location, piece[0].location):
            clusters[-1].append(piece)
        else:
            clusters.append([piece])
    if not clusters:
        return None
    return _opening(*max(clusters, key=lambda cluster: sum(segment.length for segment, _ in cluster))[0])


def _is_near(one: Location, following: Location) -> bool:
    return one.path == following.path and following.span.start - one.span.end <= NEAR


def _opening(segment: Segment, value: str) -> Location:
    place = segment.location
    if segment.length != place.span.end - place.span.start:
        return place
    piece = value[segment.offset : segment.offset + segment.length]
    blanks = len(piece) - len(piece.lstrip())
    return Location(place.path, Span(place.span.start + blanks % segment.length, place.span.end))


def place_in(text: Text, start: int, end: int) -> Location | None:
    """Where characters of a text stand: exactly where they correspond to the source one to one, else the piece of
    source that they come from; None where that is not known."""
    for segment in text.map:
        if segment.offset <= start < segment.offset + segment.length:
            place = segment.location
            if place.span.end - place.span.start != segment.length:
                return place
            first = place.span.start + start - segment.offset
            return Location(place.path, Span(first, min(first + end - start, place.span.end)))
    return None


def certain_blocks(prompt: Prompt) -> Iterator[tuple[Message, Block]]:
    """The content blocks that are certain to be sent."""
    for message in prompt.messages:
        if isinstance(message, Message) and message.certain:
            yield from ((message, block) for block in message.blocks)
