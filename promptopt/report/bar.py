"""Prompts as bars: what stays cached, what is read again, what changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from promptopt.finding import Finding
from promptopt.prompt import (
    History,
    Interpolation,
    Media,
    Message,
    Prompt,
    Text,
    flatten,
)
from promptopt.report.style import Style
from promptopt.source import Location
from promptopt.tokens import Size, measure

_BAR_WIDTH: Final = 28


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters of bars: in Unicode, or in ASCII where the output cannot print them."""

    edge: str
    cut: str
    stable: str
    behind: str
    session: str
    request: str


UNICODE = Glyphs("▏", "┃", "█", "░", "▒", "▓")
ASCII = Glyphs("|", "|", "#", ".", "~", "%")


def glyphs(style: Style) -> Glyphs:
    """The characters that the output can print."""
    return UNICODE if style.unicode else ASCII


def prefix_line(prompt: Prompt, finding: Finding, style: Style) -> str | None:
    """`▏4 tokens ┃ ░░░░ 1,846 recomputed`; None where the finding's place is not in the prompt's text."""
    sizes = split_at(prompt, finding.location)
    if sizes is None or not sum(size.tokens for size in sizes):
        return None
    before, behind = sizes
    draw = glyphs(style)
    kept = round(_BAR_WIDTH * before.tokens / (before.tokens + behind.tokens))
    left = f"{draw.stable * kept} {before} tokens" if kept else f"{before} tokens"
    bar = draw.behind * (_BAR_WIDTH - kept)
    return f"{draw.edge}{left} {draw.cut} {bar} {behind} recomputed".replace("  ", " ")


def split_at(prompt: Prompt, place: Location) -> tuple[Size, Size] | None:
    """Tokens of constant text ahead of `place` and behind it, up to the conversation, without
    the newest user message unless `place` is in it; None where no part of the prompt stands there."""
    newest = max((i for i, m in enumerate(prompt.messages) if isinstance(m, Message) and m.role == "user"), default=-1)
    before: list[str] = []
    behind: list[str] = []
    found = False
    own = None
    for index, part in _indexed(prompt):
        if isinstance(part, History):
            if found and part.known:
                break
            continue
        if isinstance(part, Interpolation) and part.location == place:
            found, own = True, index
        elif isinstance(part, Text) and not found:
            before.append(part.value)
        elif isinstance(part, Text) and (index != newest or own == newest):
            behind.append(part.value)
    return (measure(before, prompt.call), measure(behind, prompt.call)) if found else None


def _indexed(prompt: Prompt) -> Iterator[tuple[int, Text | Interpolation | Media | History]]:
    """Flat parts in cache order with the index of their message, -1 for tools."""
    for tool in prompt.tools.tools if prompt.tools else ():
        yield from ((-1, part) for part in flatten(tool.parts))
    for index, message in enumerate(prompt.messages):
        if isinstance(message, History):
            yield index, message
            continue
        for block in message.blocks:
            yield from ((index, part) for part in flatten(block.parts))
