"""Cuts a template into segments that tile its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from promptopt.readers.jinja.lexing import PlacedToken

SegmentKind: TypeAlias = Literal["text", "trimmed", "expression", "statement", "comment", "raw"]

_TAGS: Final[dict[str, SegmentKind]] = {
    "variable": "expression",
    "block": "statement",
    "linestatement": "statement",
    "comment": "comment",
    "linecomment": "comment",
}
_LINE_TAGS: Final = ("linestatement", "linecomment")


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of template source, delimiters included.

    `text` is sent as it stands, `trimmed` is white space that white space control or the dropped
    last line end takes away, `raw` is a tag that opens or closes a raw block.
    """

    kind: SegmentKind
    start: int
    end: int


def tile(tokens: Iterable[PlacedToken], length: int) -> Iterator[Segment]:
    """Segments from the tokens that a `PlacingLexer` yields; they cover `0:length` without gap or overlap."""
    done = 0
    opened: int | None = None
    for place, kind, value in tokens:
        if opened is None and place.start > done:
            yield Segment("trimmed", done, place.start)
            done = place.start
        tag, _, side = kind.rpartition("_")
        if tag == "raw":
            yield Segment("raw", place.start, place.end)
            done = place.end
        elif side == "begin":
            opened = place.start
        elif side == "end" and opened is not None:
            end = place.start if tag in _LINE_TAGS else place.start + len(value.rstrip())
            yield Segment(_TAGS[tag], opened, end)
            done, opened = end, None
        elif opened is None and place.end > place.start:
            yield Segment("text", place.start, place.end)
            done = place.end
    if done < length:
        yield Segment("trimmed", done, length)
