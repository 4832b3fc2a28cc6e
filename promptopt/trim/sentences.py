"""Where a sentence ends inside a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# A full stop, closing quotes, space, and what can begin a sentence; CJK marks need no space after them.
_ENDS: Final = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?P<space>\s++)(?=\S)|(?<![。！？｡．])[。！？｡．]++[」』”’）》〉】]*+(?P<none>\s*+)(?=\S)"
)
_LAST_WORD: Final = re.compile(r"\S+$")
_INITIALS: Final = re.compile(r"[(\[\"'“]*(?:[^\W\d_]\.)+")
_OPENING: Final = "\"'“‘«([*_`¿¡#-–—"
_REACH: Final = 24
"""Characters looked back for the last word: no abbreviation is longer."""

_ABBREVIATIONS: Final = frozenset(
    {
        *("adj", "adm", "al", "approx", "apr", "art", "aug", "ave", "bd", "blvd", "brig", "bros", "ca", "capt", "cdr"),
        *("cf", "ch", "chap", "cmdr", "co", "col", "corp", "cpl", "dec", "dept", "dist", "dr", "ed", "eds", "eg"),
        *("eq", "est", "etc", "ex", "feb", "fig", "figs", "fl", "fr", "ft", "gen", "gov", "hon", "ie", "inc", "jan"),
        *("jr", "jul", "jun", "lat", "lt", "ltd", "maj", "mar", "messrs", "mfg", "mr", "mrs", "ms", "mt", "mts"),
        *("no", "nos", "nov", "nr", "oct", "op", "p", "pl", "pp", "pres", "prof", "pt", "pvt", "rd", "ref", "rep"),
        *("rev", "rs", "sec", "sect", "sen", "sep", "sept", "sgt", "sr", "st", "ste", "supt", "vol", "vols", "vs"),
    }
)

# Words that open a sentence even after an abbreviation that often ends one.
_OPENERS: Final = frozenset(
    {
        *("A", "After", "Although", "An", "As", "At", "But", "During", "For", "He", "Her", "His", "However", "If"),
        *("In", "It", "Its", "On", "She", "Since", "That", "The", "Their", "There", "These", "They", "This"),
        *("Those", "We", "When", "While", "With", "You"),
    }
)
_NEXT_WORD: Final = re.compile(r"\w*")
_NEVER_LAST: Final = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "fig", "figs", "no", "nos", "vs", "eg", "ie", "cf"}
)


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets in `text[start:end]` at which a sentence ends and another one follows, ahead of the space between."""
    for match in _ENDS.finditer(text, start, end):
        if match["none"] is not None:
            yield match.start("none")
        elif _ends_sentence(text, match.start(), match.start("space"), match.end(), start):
            yield match.start("space")


def _ends_sentence(text: str, stop: int, space: int, following: int, start: int) -> bool:
    """Whether the mark at `stop` ends a sentence, with white space at `space` and the next word at `following`."""
    if text[following].islower():
        return False
    if text[following] in _OPENING and text[following + 1 : following + 2].islower():
        return False
    if text[stop] != "." or space - stop > 1:
        return True
    found = _LAST_WORD.search(text, max(start, stop - _REACH), stop)
    if found is None:
        return True
    opens = _next_word(text, following) in _OPENERS
    if _INITIALS.fullmatch(found[0] + "."):
        return opens and len(found[0].strip("([\"'“")) > 1
    word = found[0].lstrip("([\"'“").replace(".", "").lower()
    return word not in _ABBREVIATIONS or (opens and word not in _NEVER_LAST)


def _next_word(text: str, at: int) -> str:
    found = _NEXT_WORD.match(text, at)
    return found[0] if found else ""
