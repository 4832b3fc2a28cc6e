"""Conversations turn by turn: whether they stay bounded, and whether each request continues the one before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final

from promptopt.errors import TrimError
from promptopt.tokens import TokenCounter, token_counter
from promptopt.wire import SentMessage, SentPrompt, common_prefix
from pytest_promptopt.budgets import THE_PROMPT, about, check_limit
from pytest_promptopt.building import built
from pytest_promptopt.errors import PromptHistoryError, PromptPrefixError
from pytest_promptopt.notes import Note, note
from pytest_promptopt.prefixes import difference_lines

_FEWEST: Final = 8
"""Turns below which growth and a plateau look alike."""
_COLUMNS: Final = 12
"""Turns that a failure shows."""


def assert_bounded_history(
    build: Callable[..., Any],
    turns: int | Iterable[object],
    max_tokens: int | None = None,
    *,
    model: str | None = None,
    encoding: str | None = None,
) -> None:
    """Fail where the requests of a conversation pass a bound, still grow as they did at first, or hold one half of a
    tool call.

    Args:
        build: takes a turn and returns the request of that turn, or a coroutine of it; called once for each, in order.
        turns: how many (the turns are 0, 1, ...), or what build is given for each; at least 8.
        max_tokens: what no request may exceed. Growth is judged with and without it: it is unbounded where each request
            of the last quarter is longer than all of the first half, by more than one turn adds. Let the conversation
            have twice the turns that its bound takes to reach.
        model: what is counted for; see `assert_token_budget`.
        encoding: what is counted with.

    Raises:
        PromptHistoryError: one of these does not hold.
        ValueError: too few turns, or a bound that cannot be.
        TokenError: an unknown model or encoding, or `build` returns no prompt.
        TrimError: a message with an unknown role.
    """
    __tracebackhide__ = True
    if max_tokens is not None:
        check_limit("max_tokens", max_tokens)
    counter = token_counter(model, encoding)
    requests = _conversation(build, turns, _FEWEST)
    sizes = [request.tokens(counter) for request in requests]
    faults = [
        *_halves(requests),
        *_over(sizes, max_tokens, about(requests[0], counter)),
        *_growth(sizes, about(requests[0], counter)),
    ]
    largest = max(sizes)
    name = requests[0].name or THE_PROMPT
    note(Note(name, tokens=largest, budget=max_tokens, failed=bool(faults)))
    if faults:
        raise PromptHistoryError("\n".join([faults[0], *_profile(sizes, requests, counter), *faults[1:]]))


def assert_prefix_grows(
    build: Callable[..., Any], turns: int | Iterable[object], *, turns_between_cuts: int | None = None
) -> None:
    """Fail where the request of a turn does not begin with the whole request of the turn before it.

    Args:
        build: takes a turn and returns the request of that turn, or a coroutine of it; called once for each, in order.
        turns: how many (the turns are 0, 1, ...), or what build is given for each; at least 2.
        turns_between_cuts: where the conversation may be cut, so that a request leaves out earlier messages: the
            least number of turns from one cut to the next. None: it may not be cut.

    Raises:
        PromptPrefixError: one does not. The failure shows where they part.
        ValueError: too few turns.
        TokenError: `build` returns no prompt.
    """
    __tracebackhide__ = True
    if turns_between_cuts is not None and turns_between_cuts < 2:
        raise ValueError(f"turns_between_cuts is {turns_between_cuts!r}: give at least 2, or None for no cut at all")
    requests = _conversation(build, turns, 2)
    last_cut = None
    for turn, (before, after) in enumerate(pairwise(requests), 1):
        common = common_prefix(before, after)
        if common.difference is None or common.continued:
            continue
        is_cut = turns_between_cuts is not None and _is_cut(before, after)
        if is_cut and (last_cut is None or turn - last_cut >= (turns_between_cuts or 0)):
            last_cut = turn
            continue
        parts = difference_lines(common.difference, f"turn {turn - 1}", f"turn {turn}")
        shared = sum(len(text) for text in common.texts)
        whole = sum(len(piece.text) for piece in before.pieces())
        summary = (
            f"the request of turn {turn} cuts the conversation, {turn - (last_cut or 0)} turns after the last cut, "
            f"{turns_between_cuts} are promised"
            if is_cut
            else f"the request of turn {turn} does not begin with that of turn {turn - 1}: "
            f"{shared:,} of its {whole:,} characters stay"
        )
        raise PromptPrefixError("\n".join([summary, *parts]))


def _conversation(build: Callable[..., Any], turns: int | Iterable[object], fewest: int) -> list[SentPrompt]:
    if isinstance(turns, bool) or (isinstance(turns, int) and turns < fewest):
        raise ValueError(f"turns is {turns!r}: give at least {fewest}")
    values = list(range(turns)) if isinstance(turns, int) else list(turns)
    if len(values) < fewest:
        raise ValueError(f"turns has {len(values)} elements: give at least {fewest}")
    return [built(build, value, f"turn {index}") for index, value in enumerate(values)]


def _over(sizes: Sequence[int], limit: int | None, word: str) -> list[str]:
    turn = next((turn for turn, size in enumerate(sizes) if limit is not None and size > limit), None)
    if turn is None or limit is None:
        return []
    over = f"{sizes[turn] - limit:,} over the bound of {limit:,}"
    return [f"the request of turn {turn} has {word}{sizes[turn]:,} tokens, {over}"]


def _growth(sizes: Sequence[int], word: str) -> list[str]:
    """Whether each request of the last quarter is longer than all of the first half, by more than one turn adds: a
    bounded conversation has come to its bound by then, and falls and rises below it."""
    half, quarter = len(sizes) // 2, len(sizes) // 4
    highest, last = max(sizes[:half]), sizes[-quarter:]
    added = median(last) - highest
    if min(last) <= highest or added <= max(after - before for before, after in pairwise(sizes[half:])):
        return []
    unbounded = "nothing bounds it, or its bound takes more turns to reach"
    each = f"{word}{added / (len(sizes) - half - (quarter - 1) / 2):,.0f}"
    return [f"the conversation still grows after {len(sizes)} turns, by {each} tokens a turn: {unbounded}"]


def _halves(requests: Sequence[SentPrompt]) -> list[str]:
    """The first tool call without its result, or the other way round."""
    for turn, request in enumerate(requests):
        waiting: dict[str, str] = {}
        made: set[str] = set()
        for index, message in enumerate(() if request.is_text else request.messages):
            facts = _facts(message, index)
            made.update(facts.calls)
            waiting |= dict.fromkeys(facts.calls, f"{index}: {message.role}")
            for answered in facts.results:
                waiting.pop(answered, None)
                if answered not in made:
                    return [
                        f"turn {turn}: {index}: {message.role} answers the tool call {answered!r}, which is not sent"
                    ]
        for call, place in waiting.items():
            return [f"turn {turn}: {place} makes the tool call {call!r}, whose result is not sent"]
    return []


def _facts(message: SentMessage, index: int) -> Any:
    try:
        return message.facts(index)
    except TrimError as error:
        raise TrimError(f"a conversation cannot be judged: {error}") from error


def _is_cut(before: SentPrompt, after: SentPrompt) -> bool:
    """Whether `after` begins as `before` does and then goes on with later messages of it."""
    old, new = ([_content(message) for message in request.messages] for request in (before, after))
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    return any(new[head : head + len(old) - start] == old[start:] for start in range(head + 1, len(old)))


def _content(message: SentMessage) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return message.role, message.texts, message.media


def _profile(sizes: Sequence[int], requests: Sequence[SentPrompt], counter: TokenCounter) -> list[str]:
    """Tokens of some turns, and what the largest request is made of."""
    step = max(1, -(-len(sizes) // _COLUMNS))
    shown = sorted({*range(0, len(sizes), step), len(sizes) - 1})
    columns = [(str(turn), f"{sizes[turn]:,}") for turn in shown]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join((label, *(text.rjust(width) for text, width in zip(row, widths, strict=True))))
        for label, row in zip(("  turn  ", "  tokens"), zip(*columns, strict=True), strict=True)
    ]
    largest = requests[sizes.index(max(sizes))]
    roles: dict[str, int] = {}
    for name, tokens in largest.sizes(counter):
        role = name.partition(": ")[2] or name
        roles[role] = roles.get(role, 0) + tokens
    made = ", ".join(f"{role} {tokens:,}" for role, tokens in sorted(roles.items(), key=lambda pair: -pair[1]))
    return [*lines, f"  the largest: {made}"]
