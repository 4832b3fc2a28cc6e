"""Where the text stands whose size a finding tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptopt.prompt import Block, Message, Prompt, Text
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
