"""How much two requests share, and what it is that differs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptopt.wire import OTHER_TEXT, THE_END, common_prefix, read_prompt

ORDER = "the same words in another order"


def difference(one: Any, other: Any) -> Any:
    """Where two prompts part."""
    return common_prefix(read_prompt(one), read_prompt(other)).difference


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Now: 2026-12-01T12:35:18 x", "Now: 2026-12-01T12:35:44 x", "a time"),
        ("It is 9:05.", "It is 12:05.", "a time"),
        ("On Monday, 30 November", "On Tuesday, 1 December", "a time"),
        ("t=1764590000", "t=1764590077", "a time"),
        ("run 8f14e45f-ceea-467f-9575-2b1b1b1b1b1b", "run 7f14e45f-ceea-467f-9575-2b1b1b1b1b1b", "an id"),
        ("<Tool object at 0x7f3a5c0d>", "<Tool object at 0x7f3a5c2e>", "an id"),
        ("session abc123XYZ9", "session abd777XYZ1", "an id"),
        ("Topics: apples, pears, plums", "Topics: pears, apples, plums", ORDER),
        ("one\ntwo\nthree", "two\none\nthree", ORDER),
        ("You have 12 letters", "You have 13 letters", "a number"),
        ("0.3879478717419459", "0.8932857461688893", "a number"),
        ("order 4711081500", "order 4711081501", "an id"),
        ("Dear Ada", "Dear Bob", OTHER_TEXT),
        ("Rules", "Rules and more", OTHER_TEXT),
        (
            [{"role": "user", "content": "a"}],
            [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
            THE_END,
        ),
    ],
)
def test_what_differs_is_named(one: Any, other: Any, kind: str) -> None:
    """The same in both directions."""
    assert difference(one, other).kind == kind
    assert difference(other, one).kind == kind


def test_the_place_is_told() -> None:
    """The part, its line, both sides from the beginning of the line."""
    one, other = ([{"role": "system", "content": f"First.\nNow: {time}\nRules."}] for time in ("12:01", "13:01"))
    found = difference(one, other)
    assert (found.label, found.line, found.column) == ("0: system", 2, 6)
    assert found.first.startswith("Now: 12:01\n")
    assert found.second.startswith("Now: 13:01\n")


def test_tools_come_first() -> None:
    """A tool that differs leaves nothing of the messages."""
    one, other = (
        {"messages": [{"role": "user", "content": "Hello."}], "tools": [{"name": name}]} for name in ("find", "look")
    )
    common = common_prefix(read_prompt(one), read_prompt(other))
    assert common.texts == ('{"name": "',)
    assert common.difference is not None
    assert common.difference.label == "tool 0: find"


def test_another_role_is_another_message() -> None:
    """The same words of another speaker are not shared."""
    one, other = ([{"role": role, "content": "Hello."}] for role in ("user", "assistant"))
    assert common_prefix(read_prompt(one), read_prompt(other)).texts == ("",)


def test_markers_of_caches_are_no_content() -> None:
    """They move with the newest message."""
    plain = [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]
    marked = [{"role": "user", "content": [{"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}]}]
    assert difference(plain, marked) is None


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("Ask Where?", "Ask When?", "Ask "),
        ("12:51", "12:57", "12:"),
        ("Rules. A", "Rules. B", "Rules. "),
        ("ab", "a-", ""),
    ],
)
def test_half_a_word_is_not_shared(one: str, other: str, shared: str) -> None:
    """Its beginning is no token of both."""
    assert common_prefix(read_prompt(one), read_prompt(other)).texts == (shared,)


MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": st.text("ab\n:1", min_size=1)}),
    min_size=1,
    max_size=4,
)


@given(MESSAGES, MESSAGES)
def test_what_is_shared_is_a_prefix_of_both(one: Any, other: Any) -> None:
    """And everything is shared where nothing differs."""
    first, second = read_prompt(one), read_prompt(other)
    common = common_prefix(first, second)
    shared = "".join(common.texts)
    whole = ["".join(piece.text for piece in prompt.pieces()) for prompt in (first, second)]
    assert all(text.startswith(shared) for text in whole)
    assert (common.difference is None) == (one == other)
    assert common.difference or shared == whole[0]
    assert common_prefix(second, first).texts == common.texts


@given(MESSAGES, MESSAGES)
def test_a_longer_request_continues_a_shorter_one(one: Any, more: Any) -> None:
    """And not the other way round."""
    first, second = read_prompt(one), read_prompt([*one, *more])
    assert common_prefix(first, second).continued
    assert not common_prefix(second, first).continued
