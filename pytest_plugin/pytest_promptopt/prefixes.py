"""What stays the same at the beginning of requests, which is what a provider's cache can keep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any, Final, Literal

from promptopt.tokens import TokenCounter, token_counter
from promptopt.wire import OTHER_TEXT, THE_END, CommonPrefix, Difference, SentPrompt, common_prefix
from pytest_promptopt.budgets import THE_PROMPT, check_limit
from pytest_promptopt.building import built
from pytest_promptopt.clocks import moved, within_the_day
from pytest_promptopt.elsewhere import built_elsewhere
from pytest_promptopt.errors import PromptPrefixError
from pytest_promptopt.notes import Note, note

_VALUE: Final = 40
"""Characters of an input that are shown."""


@dataclass(frozen=True, slots=True)
class Built:
    """A request, and in words how it came about."""

    prompt: SentPrompt
    how: str


def assert_stable_prefix(
    build: Callable[..., Any],
    inputs: Iterable[object],
    min_tokens: int | None = None,
    min_ratio: float | None = None,
    *,
    clock: timedelta | Literal["within-the-day"] | None = "within-the-day",
    hash_seeds: int = 0,
    model: str | None = None,
    encoding: str | None = None,
) -> None:
    """Fail where the requests that `build` makes share too little of their beginning.

    `build` is called for each input, again for the first one, and for the first one with a moved clock. Tools come
    first, then the system text, then messages, as providers cache them.

    Args:
        build: takes an input and returns a request in any of the shapes that `assert_token_budget` takes, or a
            coroutine of one.
        inputs: at least one; such as questions of different users.
        min_tokens: tokens that all requests must share. Images and files count nothing, but must stay the same.
        min_ratio: the share of the longest request that all must share, above 0 and at most 1.
        clock: how far the clock is moved; by default by an hour or less within the same day, None not at all.
        hash_seeds: in how many other processes with other seeds for the hashes of strings the first input is built,
            too, so that the order of sets shows. `build` must be a function of a module then.
        model: what is counted for; see `assert_token_budget`.
        encoding: what is counted with.

    Raises:
        PromptPrefixError: they share less. The failure shows where two of them part.
        ValueError: no input, neither `min_tokens` nor `min_ratio`, or limits that cannot be.
        TokenError: an unknown model or encoding, or `build` returns no prompt.
    """
    __tracebackhide__ = True
    check_prefix_limits(min_tokens, min_ratio)
    check_limit("hash_seeds", hash_seeds, 0)
    values = list(inputs)
    if not values:
        raise ValueError("inputs is empty: give at least one value to call build with")
    counter = token_counter(model, encoding)
    requests = [*_requests(build, values, clock), *_elsewhere(build, values[0], hash_seeds)]
    check_common_prefix(requests, counter, min_tokens, min_ratio)


def _requests(build: Callable[..., Any], values: Sequence[object], clock: timedelta | str | None) -> Iterator[Built]:
    first = values[0]
    for index, value in enumerate(values):
        yield Built(built(build, value, f"input {index}: {_short(value)}"), f"input {index}, {_short(value)}")
    yield Built(built(build, first, "input 0"), "the same input again")
    if clock is not None:
        step = clock if isinstance(clock, timedelta) else within_the_day()
        with moved(step):
            late = built(build, first, "input 0 with a moved clock")
        yield Built(late, f"the clock {abs(step)} {'ahead' if step > timedelta() else 'behind'}")


def _elsewhere(build: Callable[..., Any], value: object, number: int) -> list[Built]:
    here = os.environ.get("PYTHONHASHSEED", "")
    seeds = [seed for seed in range(1, number + 2) if str(seed) != here][:number]
    made = built_elsewhere(build, value, seeds) if seeds else []
    return [Built(prompt, f"PYTHONHASHSEED={seed}") for seed, prompt in zip(seeds, made, strict=True)]


def check_prefix_limits(min_tokens: int | None, min_ratio: float | None) -> None:
    """Raise `ValueError` for limits that ask for nothing or cannot be."""
    if min_tokens is None and min_ratio is None:
        raise ValueError("give min_tokens or min_ratio: how much of the requests must stay the same")
    if min_tokens is not None:
        check_limit("min_tokens", min_tokens)
    if min_ratio is not None and not 0 < min_ratio <= 1:
        raise ValueError(f"min_ratio is {min_ratio!r}: give a share above 0 and at most 1")


def check_common_prefix(
    requests: Sequence[Built], counter: TokenCounter, min_tokens: int | None, min_ratio: float | None
) -> None:
    """Fail where the requests share too little, and show the two that part first."""
    __tracebackhide__ = True
    first = requests[0]
    shared = [(common_prefix(first.prompt, other.prompt), other) for other in requests]
    tokens, common, other = min(((one.tokens(counter.text), one, of) for one, of in shared), key=lambda it: it[0])
    longest = max(sum(counter.text(piece.text) for piece in of.prompt.pieces()) for of in requests)
    wanted = max(min_tokens or 0, ceil(longest * (min_ratio or 0)))
    failed = tokens < wanted
    name = first.prompt.name or THE_PROMPT
    note(Note(name, tokens=longest, stable_prefix=tokens, failed=failed))
    if failed:
        word = "about " if counter.estimate else ""
        share = f" ({tokens / longest:.0%} of {longest:,})" if longest else ""
        summary = f"the stable prefix has {word}{tokens:,} tokens{share}, {wanted - tokens:,} short of {wanted:,}"
        raise PromptPrefixError("\n".join([summary, *_difference(common, first, other, longest)]))


def _difference(common: CommonPrefix, first: Built, other: Built, longest: int) -> list[str]:
    if common.difference is None:
        return [f"  all requests are the same, but the longest has {longest:,} tokens"]
    return difference_lines(common.difference, first.how, other.how)


def difference_lines(difference: Difference, first: str, second: str) -> list[str]:
    """Where two requests part, both sides below one another."""
    width = max(len(first), len(second))
    sides = [_visible(side, difference.column) for side in (difference.first, difference.second)]
    looks = f", at what looks like {difference.kind}" if difference.kind not in (OTHER_TEXT, THE_END) else ""
    place = f"in {difference.label}, line {difference.line}{looks}"
    return [
        f"  one ends where the other goes on, at {difference.label}"
        if difference.kind == THE_END
        else f"  they part {place}",
        f"    {first:{width}}  {sides[0][0]}",
        f"    {second:{width}}  {sides[1][0]}",
        f"    {'':{width}}  {' ' * sides[0][1]}^",
    ]


def _visible(text: str, column: int) -> tuple[str, int]:
    """Text on one line, and where a column of it stands then."""
    head, tail = (part.replace("\n", "\\n").replace("\t", "\\t") for part in (text[:column], text[column:]))
    return head + tail, len(head)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE else text[: _VALUE - 3] + "..."
