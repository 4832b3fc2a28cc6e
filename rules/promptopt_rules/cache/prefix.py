"""How a prompt lies in cache order: its stretches, the places where they change, what stands behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Final, TypeAlias

from promptopt.prompt import (
    Absent,
    Block,
    CacheMarker,
    Call,
    Choice,
    History,
    Interpolation,
    Message,
    Parameter,
    Parts,
    Prompt,
    Repeat,
    Text,
    Tool,
    Volatility,
    constant_texts,
    estimate_tokens,
    flatten,
    text_length,
)
from promptopt.source import Location
from promptopt.tokens import Figure, caches_from_first_block, model_of, reaches

TOOLS: Final = "tools"
"""Role of the stretches that hold tool definitions."""

_CUT: Final = re.compile(r"\[:\s*(\d+)\s*\]$")

INSTRUCTING: Final = frozenset({"system", "developer"})

UNSIZED: Final = frozenset({Volatility.CONSTANT, Volatility.DEPLOYMENT, Volatility.UNKNOWN})
"""Interpolations of these may hold any amount of text that stays the same."""

WINDOW: Final = "window"
"""What limits a conversation of which only the last turns are sent."""

FOLDER_ORDER: Final = "directory-order"
"""So may what is read from the files of a folder: only the order of that changes."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Constant text behind a place: its first piece, and the rest of it. `characters` is the length of all."""

    text: str
    rest: Tail | None
    characters: int

    @classmethod
    def of(cls, text: str, rest: Tail | None) -> Tail:
        """The text, and behind it the rest."""
        return cls(text, rest, len(text) + _length(rest))


def _length(tail: Tail | None) -> int:
    return tail.characters if tail else 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """One tool definition or content block. `message` is an index into `Prompt.messages`, -1 for tools."""

    role: str
    message: int
    parts: Parts
    certain: bool = True
    marker: CacheMarker | None = None

    @property
    def characters(self) -> int:
        """Constant text, the longest alternative of each choice."""
        return text_length(tuple(flatten(self.parts)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The same, piece by piece."""
        return tuple(text.value for text in constant_texts(self.parts))


Item: TypeAlias = Stretch | History


@dataclass(frozen=True, slots=True)
class Break:
    """A value that may end the cached beginning.

    `position` is its stretch's index in `Layout.items`. `behind` is the constant text behind it
    up to the conversation or the newest user message; `within` characters of it stand in its own stretch.
    `conversations` are the known histories behind it that are read again because of it. `doubtful` says that it
    stands in a lone user message behind a value of which nothing is known: that may change as well.
    """

    interpolation: Interpolation
    role: str
    position: int
    behind: Tail | None
    within: int
    conversations: tuple[History, ...] = ()
    doubtful: bool = False

    @property
    def characters(self) -> int:
        """Length of the constant text behind it."""
        return _length(self.behind)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the constant text behind it."""
        return estimate_tokens(self.characters)

    @property
    def texts(self) -> tuple[str, ...]:
        """The constant text behind it, piece by piece."""
        return tuple(_texts(self.behind))


def _texts(tail: Tail | None) -> Iterator[str]:
    while tail:
        yield tail.text
        tail = tail.rest


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt in cache order. `breaks` leave out what stands in the newest user message and behind the
    conversation: it is new in every turn anyway. `marked` is the position of the last explicit cache
    marker, -1 without one; `automatic` says that the provider sets one at the end by itself."""

    items: tuple[Item, ...]
    breaks: tuple[Break, ...]
    marked: int
    automatic: bool

    def stretches(self) -> Iterator[tuple[int, Stretch]]:
        """Stretches with their positions."""
        for position, item in enumerate(self.items):
            if isinstance(item, Stretch):
                yield position, item

    def is_cached(self, position: int) -> bool:
        """Whether a cached beginning can extend to this position: none does behind the last marker."""
        return self.marked < 0 or self.automatic or position <= self.marked

    def is_marked(self, position: int) -> bool:
        """Whether an explicit marker stands at this position or behind it."""
        return position <= self.marked

    def is_newest(self, position: int) -> bool:
        """Whether the stretch at this position belongs to the newest user message."""
        item = self.items[position]
        return isinstance(item, Stretch) and item.message == newest_user_message(self.items)

    def texts(self) -> tuple[str, ...]:
        """All constant text that is certain to be sent, piece by piece."""
        return tuple(text for _, stretch in self.stretches() if stretch.certain for text in stretch.texts)


def layout(prompt: Prompt, prompt_size: int) -> Layout:
    """The prompt's stretches and breaks.

    Where a request has no system text and at least `prompt_size` tokens of constant text in its newest
    user message, that message is the prompt; otherwise it is what the user says this time.
    """
    items = tuple(_items(prompt))
    marked = max((p for p, item in enumerate(items) if isinstance(item, Stretch) and item.marker), default=-1)
    automatic = prompt.call.params.get("auto_cache")
    return Layout(items, tuple(_breaks(items, prompt_size)), marked, _is_set(automatic))


def _is_set(parameter: Parameter | None) -> bool:
    return parameter is not None and parameter.value not in (None, False, Absent.UNSET)


def _items(prompt: Prompt) -> Iterator[Item]:
    for tool in prompt.tools.tools if prompt.tools else ():
        yield Stretch(TOOLS, -1, tool.parts, marker=tool.marker)
    for index, message in enumerate(prompt.messages):
        if isinstance(message, History):
            yield message
        else:
            yield from _stretches(index, message)


def _stretches(index: int, message: Message) -> Iterator[Stretch]:
    for block in message.blocks:
        yield Stretch(message.role, index, block.parts, message.certain, block.marker)


def marked_items(prompt: Prompt) -> Iterator[Tool | Block]:
    """What carries an explicit marker and is certain to be sent, in cache order."""
    yield from (tool for tool in (prompt.tools.tools if prompt.tools else ()) if tool.marker)
    for message in prompt.messages:
        if isinstance(message, Message) and message.certain:
            yield from (block for block in message.blocks if block.marker)


def newest_user_message(items: tuple[Item, ...]) -> int:
    """Index into `Prompt.messages` of the last user message, -2 without one."""
    return max((item.message for item in items if isinstance(item, Stretch) and item.role == "user"), default=-2)


def has_system_text(items: tuple[Item, ...]) -> bool:
    """Whether any instructing message holds constant text."""
    instructing = (item for item in items if isinstance(item, Stretch) and item.role in INSTRUCTING)
    return any(text.value.strip() for stretch in instructing for text in constant_texts(stretch.parts))


def is_whole(items: tuple[Item, ...]) -> bool:
    """Whether every message is known and sent for certain: a system text may hide among others."""
    return all(item.certain if isinstance(item, Stretch) else item.known for item in items)


def _breaks(items: tuple[Item, ...], prompt_size: int) -> list[Break]:
    """Breaks in cache order, found from the end backwards."""
    found: list[Break] = []
    conversations: tuple[History, ...] = ()
    behind: Tail | None = None
    newest = newest_user_message(items)
    user_is_prompt = not has_system_text(items) and is_whole(items)
    for first, message in reversed(list(_messages(items))):
        if isinstance(message, History):
            if message.known:
                found, conversations, behind = [], (message, *conversations), None
            continue
        least = prompt_size if message[0].message == newest else 0
        if least and not user_is_prompt:
            continue
        ahead = _length(behind)
        inner, opened = _breaks_in(message, first, behind)
        clear = _clear_until(message) if least else -1
        found += [
            Break(part, message[0].role, position, after, within, _reread(conversations, part), _length(after) < clear)
            for part, position, after, within in inner
            if estimate_tokens(_length(after) - ahead) >= least
        ]
        if message[0].certain and estimate_tokens(_length(opened) - ahead) >= least:
            behind = opened
    return found[::-1]


def _clear_until(message: tuple[Stretch, ...]) -> int:
    """Constant characters behind the first value inside the text of which nothing is known, -1 without one. What
    opens the message is taken for instructions."""
    inner, opened = _breaks_in(message, 0, None)
    unknown = (_length(after) for part, _, after, _ in inner if part.volatility is Volatility.UNKNOWN)
    return max((after for after in unknown if after < _length(opened)), default=-1)


def _reread(conversations: tuple[History, ...], part: Interpolation) -> tuple[History, ...]:
    """The conversations that are read again because of a value: one that grows in a loop is not where
    the value was made before the loop, nor is an agent's run whose instructions were made once, and a window on the
    last turns moves in every turn: it is read again anyway."""
    return tuple(one for one in conversations if _is_reread(one, part))


def _is_reread(conversation: History, part: Interpolation) -> bool:
    if WINDOW in conversation.bounds:
        return False
    if conversation.grows_in == "loop":
        return _made_inside(part, conversation.location)
    return conversation.grows_in != "run"


def _made_inside(part: Interpolation, loop: Location | None) -> bool:
    if loop is None:
        return True
    places = [place for cause in part.causes for place in cause.chain]
    places += [part.location] if part.location is not None else []
    return any(place.path == loop.path and loop.span.start <= place.span.start <= loop.span.end for place in places)


def _messages(items: tuple[Item, ...]) -> Iterator[tuple[int, tuple[Stretch, ...] | History]]:
    """Histories and messages (all tools count as one) with the position of their first stretch."""
    for _, group in groupby(enumerate(items), key=lambda one: _message_of(one[1])):
        numbered = list(group)
        first, item = numbered[0]
        if isinstance(item, History):
            yield first, item
        else:
            yield first, tuple(stretch for _, stretch in numbered if isinstance(stretch, Stretch))


def _message_of(item: Item) -> int:
    return -2 - id(item) if isinstance(item, History) else item.message


def _breaks_in(
    message: tuple[Stretch, ...], first: int, behind: Tail | None
) -> tuple[list[tuple[Interpolation, int, Tail | None, int]], Tail | None]:
    """Interpolations of one message from the end backwards, each with its position, the constant text
    behind it and how many characters of that are in its own stretch; and the message's text with what stands behind."""
    found: list[tuple[Interpolation, int, Tail | None, int]] = []
    for offset in range(len(message) - 1, -1, -1):
        inner, opened = _interpolations(message[offset].parts, behind)
        found += [(part, first + offset, tail, _length(tail) - _length(behind)) for part, tail in inner]
        behind = opened
    return found, behind


def _interpolations(parts: Parts, behind: Tail | None) -> tuple[list[tuple[Interpolation, Tail | None]], Tail | None]:
    """Interpolations from the end backwards with the constant text behind them, and the text of `parts` with
    what stands behind.

    What stands behind a value in one alternative of a choice is the rest of that alternative, never
    another one.
    """
    found: list[tuple[Interpolation, Tail | None]] = []
    for part in reversed(parts):
        if isinstance(part, Text):
            behind = Tail.of(part.value, behind)
        elif isinstance(part, Interpolation):
            found.append((part, behind))
        elif isinstance(part, Repeat):
            inner, behind = _interpolations(part.body, behind)
            found += inner
        elif isinstance(part, Choice):
            opened = [_interpolations(alternative, behind) for alternative in reversed(part.alternatives)]
            found += [one for inner, _ in opened for one in inner]
            behind = max((tail for _, tail in opened), key=_length, default=behind)
    return found, behind


def may_be_cached(prompt: Prompt, arranged: Layout, usual: int) -> bool:
    """Whether the prompt can be as long as it must be for its model to cache it: `usual` tokens where the model's
    minimum is not known.

    Proved by constant text; possible where a conversation, an incomplete tool list, the files of a folder or text that
    somebody marked for the cache stands ahead of the newest user message, or text that is cut to a length which makes
    up for the rest. Other values of unknown length, and tools of which nothing is known, are taken to be no longer than
    the text that is known: most are a name, a number or a language, and no tools.
    """
    minimum = _cache_minimum(prompt.call, usual)
    if minimum is None:
        return False
    tools = prompt.tools
    unlisted = tools is not None and not tools.complete
    if tools and unlisted and (tools.tools or tools.location):
        return True
    newest = newest_user_message(arranged.items)
    if any(isinstance(item, History) and WINDOW not in item.bounds for item in arranged.items):
        return True
    ahead = [part for _, item in arranged.stretches() if item.message != newest for part in _unsized(item.parts)]
    if any(arranged.marked >= 0 or _holds_files(part) for part in ahead):
        return True
    minimum = ceil(minimum / 2) if ahead or unlisted else minimum
    cut = sum(_cut_length(part) or 0 for _, one in arranged.stretches() for part in _values(one.parts))
    texts = (text for _, stretch in arranged.stretches() for text in stretch.texts)
    return reaches(texts, minimum - estimate_tokens(cut), prompt.call)


def shares(found: Break, arranged: Layout, call: Call) -> tuple[Figure, Figure]:
    """The tokens of the constant text behind a break, and of all that the prompt has."""
    behind, whole = found.texts, arranged.texts()
    if sum(map(len, behind)) > sum(map(len, whole)):
        whole = behind
    return Figure(behind, call), Figure(whole, call, marked=False)


def _cache_minimum(call: Call, usual: int) -> int | None:
    """Tokens of the shortest prefix that is cached for the request's model; None where none is."""
    model = model_of(call)
    if model and model.caches is False:
        return None
    if model and model.cache_minimum is not None:
        return model.cache_minimum
    return 0 if caches_from_first_block(call.provider) else usual


def is_unsized(parts: Parts) -> bool:
    """Whether text that stays the same stands there whose length is not known."""
    return any(True for _ in _unsized(parts))


def _unsized(parts: Parts) -> Iterator[Interpolation]:
    return (part for part in _values(parts) if _may_be_long(part) and _cut_length(part) is None)


def _may_be_long(part: Interpolation) -> bool:
    return part.volatility in UNSIZED or _holds_files(part)


def _holds_files(part: Interpolation) -> bool:
    return any(cause.kind == FOLDER_ORDER for cause in part.causes)


def _values(parts: Parts) -> Iterator[Interpolation]:
    return (part for part in flatten(parts) if isinstance(part, Interpolation))


def _cut_length(part: Interpolation) -> int | None:
    """Characters that a value is cut to where it is put in (`notes[:500]`), None where it is not."""
    found = _CUT.search(part.expression)
    return int(found[1]) if found else None
