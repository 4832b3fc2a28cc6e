"""Prompts drawn in cache order: one row of blocks for the tools and for each message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from promptopt.lint import Report
from promptopt.prompt import (
    Absent,
    Call,
    History,
    Interpolation,
    Media,
    Prompt,
    Text,
    Volatility,
    flatten,
)
from promptopt.report.bar import glyphs
from promptopt.report.style import Paint, Style, counted, printable
from promptopt.tokens import encoding_of, measure

FlatPart: TypeAlias = Text | Interpolation | Media | History

_BAR = 48
_LONGEST_BAR = 64
_VALUE = 2
"""Columns of a value whose length is not known."""
_MOST_NAMES = 3
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Row:
    """What one message, the tools or a conversation puts into the prompt; `tokens` are those of each part's
    constant text."""

    role: str
    parts: tuple[FlatPart, ...]
    tokens: tuple[int, ...]

    @classmethod
    def of(cls, role: str, parts: Iterable[FlatPart], call: Call) -> Row:
        """The row, counted as the request's model counts."""
        given = tuple(parts)
        return cls(role, given, tuple(measure(_constant(part), call).tokens for part in given))


def _constant(part: FlatPart) -> tuple[str, ...]:
    return (part.value,) if isinstance(part, Text) else ()


def rows(prompt: Prompt) -> tuple[Row, ...]:
    """The prompt's rows in cache order."""
    found: list[Row] = []
    if prompt.tools:
        tools = (part for tool in prompt.tools.tools for part in flatten(tool.parts))
        found.append(Row.of("tools", tools, prompt.call))
    for message in prompt.messages:
        if isinstance(message, History):
            found.append(Row.of("history", (message,), prompt.call))
        else:
            parts = (part for block in message.blocks for part in flatten(block.parts))
            found.append(Row.of(message.role, parts, prompt.call))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PromptSizes:
    """Tokens of a prompt's constant text and of its stable prefix (proved, possible), as its model counts; `exact`
    where that is known and its tokenizer public."""

    total: int
    proved: int
    possible: int
    encoding: str
    exact: bool


def prompt_sizes(prompt: Prompt) -> PromptSizes:
    """The figures that head a prompt."""
    encoding, exact = encoding_of(prompt.call)
    proved, possible = prompt.stable_prefix(count=lambda texts: measure(texts, prompt.call).tokens)
    total = prompt.constant_tokens(lambda texts: measure(texts, prompt.call).tokens)
    return PromptSizes(total, proved, possible, encoding, exact)


def breaking_part(prompt: Prompt) -> Interpolation | History | None:
    """The first part that is known to differ from user to user or more often: the cached prefix ends there."""
    for part in prompt.flatten():
        if isinstance(part, History):
            return part
        if isinstance(part, Interpolation) and part.volatility.at_least(Volatility.USER):
            return part
    return None


def prompts_as_text(prompts: Iterable[Prompt], report: Report, style: Style) -> str:
    """Each prompt with its bars, then the legend and a closing line."""
    chosen = sorted(prompts, key=lambda prompt: prompt.name)
    lines = [line for prompt in chosen for line in (*_prompt(prompt, style), "")]
    if chosen:
        lines.append(_legend(style))
    if style.verbosity >= 0:
        calls, files = counted(len(report.calls), "call"), counted(len(report.files), "file")
        lines.append(f"{counted(len(chosen), 'prompt')} of {calls} in {files}.")
    return "".join(f"{line}\n" for line in lines)


def _prompt(prompt: Prompt, style: Style) -> Iterator[str]:
    yield _head(prompt, style)
    drawn = rows(prompt)
    bars = list(_bars(drawn, breaking_part(prompt), style))
    roles = max((len(row.role) for row in drawn), default=0)
    widths = [sum(map(len, bar)) + len(notes) + bool(notes) for bar, notes in bars]
    sizes = [_size(row) for row in drawn]
    column = max(widths, default=0) + 2 + max(map(len, sizes), default=0)
    paint = Paint.of(style)
    for row, (bar, notes), width, size in zip(drawn, bars, widths, sizes, strict=True):
        cells = "".join(paint.mark(cell) if cell == glyphs(style).edge else cell for cell in bar)
        yield f"  {row.role:{roles}}  {' '.join(filter(None, (cells, notes)))}{paint.dim(size.rjust(column - width))}"


def _head(prompt: Prompt, style: Style) -> str:
    paint = Paint.of(style)
    call = prompt.call
    model = call.model.value if call.model and not isinstance(call.model.value, Absent) else None
    sizes = prompt_sizes(prompt)
    total, proved, possible = sizes.total, sizes.proved, sizes.possible
    prefix = f"{proved:,}" if proved == possible else f"{proved:,} to {possible:,}"
    share = f" ({100 * proved / total:.0f}%)" if total else ""
    dot = " · " if style.unicode else " - "
    about = "" if sizes.exact else "about "
    facts = [f"{call.sdk} {call.endpoint}", str(model or "model unknown"), f"{about}{total:,} tokens"]
    line = f"{paint.bold(printable(prompt.name))}  {printable(dot.join((*facts, f'stable prefix {prefix}{share}')))}"
    return f"{line}{_break(breaking_part(prompt), style)}"


def _break(part: Interpolation | History | None, style: Style) -> str:
    if part is None:
        return ""
    arrow = "←" if style.unicode else "<-"
    if isinstance(part, History):
        return "   breaks at the conversation"
    cause = part.cause
    source = cause.expression or cause.label if cause else ""
    name = _name(part.expression) or source
    return f"   breaks at {name}" + (f" {arrow} {_name(source)}" if source and _name(source) != name else "")


def _bars(drawn: Sequence[Row], broken: FlatPart | None, style: Style) -> Iterator[tuple[list[str], str]]:
    """For each row its blocks, one string per part and one for the break, and its notes."""
    draw = glyphs(style)
    largest = max((sum(row.tokens) for row in drawn), default=0) or 1
    behind = False
    for row in drawn:
        bar: list[str] = []
        for part, tokens in zip(row.parts, row.tokens, strict=True):
            if part is broken and not behind:
                behind = True
                bar.append(draw.edge)
            bar.append(_cells(part, tokens / largest, draw.behind if behind else draw.stable, style))
        yield list(_cut(bar, style.ellipsis)), printable(" ".join(_notes(row.parts)))


def _cut(bar: Iterable[str], ellipsis: str) -> Iterator[str]:
    """The bar, cut where a row of many parts outgrows it."""
    room = _LONGEST_BAR
    for cells in bar:
        if len(cells) > room:
            yield ellipsis
            return
        room -= len(cells)
        yield cells


def _size(row: Row) -> str:
    """Tokens of its constant text, `+` where values come on top; `?` for a conversation."""
    if any(isinstance(part, History) for part in row.parts):
        return "?"
    return f"{sum(row.tokens):,}" + ("+" if any(not isinstance(part, Text) for part in row.parts) else "")


def _cells(part: FlatPart, share: float, constant: str, style: Style) -> str:
    """One part; `share` is its text's part of the longest row."""
    draw = glyphs(style)
    if isinstance(part, Text):
        return constant * max(1, round(_BAR * share)) if part.value else ""
    if isinstance(part, History):
        return draw.session * (_BAR // 4)
    if isinstance(part, Media) or part.volatility is Volatility.UNKNOWN:
        return "?" * _VALUE
    if part.volatility.at_least(Volatility.REQUEST):
        return draw.request * _VALUE
    return (draw.session if part.volatility.at_least(Volatility.PROCESS) else constant) * _VALUE


def _notes(parts: Sequence[FlatPart]) -> list[str]:
    """Names of the values in a row; how a conversation is bounded."""
    names: list[str] = []
    for part in parts:
        if isinstance(part, History):
            bounded = f"bounded by {', '.join(part.bounds)}" if part.bounds else "not bounded"
            names.append(f"grows, {bounded}" if part.known else "messages that are not known in detail")
        elif isinstance(part, Media):
            names.append(part.kind)
        elif isinstance(part, Interpolation) and part.volatility is not Volatility.CONSTANT:
            names.append(_name(part.expression or (part.cause.label if part.cause else "")))
    unique = [name for name, _ in groupby(filter(None, names))]
    return unique[:_MOST_NAMES] + ([f"+{len(unique) - _MOST_NAMES}"] if len(unique) > _MOST_NAMES else [])


def _name(expression: str) -> str:
    flat = " ".join(printable(expression).split())
    return flat if len(flat) <= _LONGEST_NAME else f"{flat[: _LONGEST_NAME - 3]}..."


def _legend(style: Style) -> str:
    draw = glyphs(style)
    words = (
        (draw.stable, "stable"),
        (draw.behind, "constant but behind the break"),
        (draw.session, "day, user or session"),
        (draw.request, "request"),
        ("?", "unknown"),
        (draw.edge, "where it breaks"),
    )
    return "  " + "   ".join(f"{glyph} {word}" for glyph, word in words)
