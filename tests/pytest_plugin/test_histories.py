"""assert_bounded_history and assert_prefix_grows: conversations turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptopt import HistoryTrimmer
from promptopt.errors import TrimError
from pytest_promptopt import PromptHistoryError, PromptPrefixError, assert_bounded_history, assert_prefix_grows

SYSTEM = {"role": "system", "content": "Answer from the handbook only. " * 100}
Build = Callable[[int], Any]


def conversation(cut: Callable[[list[Any]], list[Any]] = list, answer: str = "word " * 20) -> Build:
    """A conversation that gains a question and an answer with every turn; `cut` decides what of it is sent."""
    turns: list[Any] = []

    def build(turn: int) -> Any:
        turns.append({"role": "user", "content": f"question {turn}"})
        request = [SYSTEM, *cut(turns)]
        turns.append({"role": "assistant", "content": answer})
        return request

    return build


def trimmed() -> Build:
    """What a trimmer leaves, which cuts in steps."""
    trimmer = HistoryTrimmer(200, step=100, count=lambda text: len(str(text)) // 5)
    return conversation(lambda turns: trimmer.trim(turns).messages)


def with_tool(*, lost: str) -> Build:
    """A conversation with a tool call in it, of which one half is lost in the tenth turn."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    halves = {
        "call": {"role": "assistant", "content": None, "tool_calls": [call]},
        "result": {"role": "tool", "tool_call_id": "c1", "content": "found"},
    }

    def build(turn: int) -> Any:
        kept = [half for name, half in halves.items() if turn < 10 or name != lost]
        return [SYSTEM, {"role": "user", "content": "Look."}, *kept, {"role": "user", "content": "And?"}]

    return build


def test_what_only_grows_fails() -> None:
    """With its tokens turn by turn, and what the largest request is made of; behind a long system text, too."""
    with pytest.raises(PromptHistoryError) as caught:
        assert_bounded_history(conversation(), 20)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the conversation still grows after 20 turns, by about 32 tokens a turn: nothing bounds")
    assert lines[1].split() == ["turn", *map(str, range(0, 20, 2)), "19"]
    assert lines[2].split()[0] == "tokens"
    assert lines[3].startswith("  the largest: system ")
    with pytest.raises(PromptHistoryError, match="still grows"):
        assert_bounded_history(conversation(), 8)
    with pytest.raises(PromptHistoryError, match="still grows"):
        assert_bounded_history(
            conversation(lambda turns: [{"role": "user", "content": "long " * 5000}, *turns][len(turns) < 9 :]), 24
        )


@pytest.mark.parametrize(
    "build",
    [
        conversation(lambda turns: turns[-6:]),
        conversation(lambda turns: turns[-1:]),
        conversation(lambda turns: turns[-1:], answer=""),
        trimmed(),
        lambda turn: f"One question of {'many ' * (turn * 7 % 5)} words",
    ],
)
def test_what_is_bounded_passes(build: Build) -> None:
    """A window, a trimmer that cuts in steps, requests without a history and of changing length."""
    assert_bounded_history(build, 24, 1_000)


def test_a_bound_that_is_passed_fails() -> None:
    """From the first turn that passes it."""
    with pytest.raises(
        PromptHistoryError, match=r"the request of turn 3 has about \d+ tokens, \d+ over the bound of 700"
    ):
        assert_bounded_history(conversation(), 20, 700)
    with pytest.raises(PromptHistoryError, match="the request of turn 0"):
        assert_bounded_history(lambda _: [SYSTEM], 20, 600)


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("call", "turn 10: 2: tool answers the tool call 'c1', which is not sent"),
        ("result", "turn 10: 2: assistant makes the tool call 'c1', whose result is not sent"),
    ],
)
def test_half_a_tool_call_fails(lost: str, message: str) -> None:
    """Providers refuse such requests."""
    with pytest.raises(PromptHistoryError, match=message):
        assert_bounded_history(with_tool(lost=lost), 12)
    assert_bounded_history(with_tool(lost=lost), 10)


def test_calls_without_ids_are_told_by_their_names() -> None:
    """Gemini's, also where one message makes several of one name."""
    call, result = {"functionCall": {"name": "f", "args": {}}}, {"functionResponse": {"name": "f", "response": {}}}
    turns = [{"role": "model", "parts": [call, call]}, {"role": "user", "parts": [result, result]}]
    assert_bounded_history(lambda _: {"contents": turns}, 8)
    with pytest.raises(PromptHistoryError, match="turn 0: 0: model makes the tool call 'f', whose result is not sent"):
        assert_bounded_history(lambda _: {"contents": turns[:1]}, 8)


def test_what_is_appended_to_passes() -> None:
    """Messages, and a text that gets longer."""
    assert_prefix_grows(conversation(), 6)
    assert_prefix_grows(lambda turn: "line\n" * turn + "line", 6)
    assert_prefix_grows(lambda _: SYSTEM["content"], 3)


def test_a_change_ahead_of_the_end_fails() -> None:
    """With both sides."""
    with pytest.raises(PromptPrefixError) as caught:
        assert_prefix_grows(lambda turn: [{"role": "system", "content": f"Turn {turn}. Be brief."}], 3)
    lines = str(caught.value).splitlines()
    assert lines[0] == "the request of turn 1 does not begin with that of turn 0: 5 of its 17 characters stay"
    assert lines[1] == "  they part in 0: system, line 1, at what looks like a number"
    assert [line.split() for line in lines[2:4]] == [
        ["turn", "0", "Turn", "0.", "Be", "brief."],
        ["turn", "1", "Turn", "1.", "Be", "brief."],
    ]


def test_a_value_behind_the_newest_question_fails() -> None:
    """The next turn sends the question without it."""
    with pytest.raises(PromptPrefixError, match="the request of turn 1 does not begin with that of turn 0"):
        assert_prefix_grows(conversation(lambda turns: [*turns, {"role": "user", "content": "(12:01)"}]), 3)


def test_cuts_are_allowed_where_they_are_rare() -> None:
    """A trimmer's steps pass, a window that moves in every turn does not."""
    with pytest.raises(PromptPrefixError, match="does not begin with"):
        assert_prefix_grows(trimmed(), 24)
    assert_prefix_grows(trimmed(), 24, turns_between_cuts=2)
    with pytest.raises(
        PromptPrefixError, match="the request of turn 4 cuts the conversation, 1 turns after the last cut"
    ):
        assert_prefix_grows(conversation(lambda turns: turns[-5:]), 24, turns_between_cuts=2)
    with pytest.raises(PromptPrefixError, match="the request of turn 1 does not begin with"):
        assert_prefix_grows(lambda turn: f"Turn {turn}", 24, turns_between_cuts=2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: assert_bounded_history(conversation(), 7), ValueError, "turns is 7: give at least 8"),
        (lambda: assert_bounded_history(conversation(), ["x"]), ValueError, "turns has 1 elements: give at least 8"),
        (lambda: assert_bounded_history(conversation(), 8, -1), ValueError, "max_tokens is -1"),
        (lambda: assert_prefix_grows(conversation(), 1), ValueError, "turns is 1: give at least 2"),
        (
            lambda: assert_prefix_grows(conversation(), 4, turns_between_cuts=1),
            ValueError,
            "turns_between_cuts is 1: give at least 2, or None",
        ),
        (
            lambda: assert_bounded_history(lambda _: [{"role": "wizard", "content": "x"}], 8),
            TrimError,
            "a conversation cannot be judged: message 0 has the unknown role or type 'wizard'",
        ),
    ],
)
def test_misuse_is_told(call: Callable[[], None], error: type[Exception], message: str) -> None:
    """On one line."""
    with pytest.raises(error, match=message):
        call()
