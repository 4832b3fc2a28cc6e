"""HistoryTrimmer: budget, tool calls, legal roles, stable prefixes, for every shape of message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptopt import count_tokens
from promptopt.trim import BudgetError, HistoryTrimmer, Reason, TrimError
from promptopt.trim.messages import message_text, read_message

OVERHEAD = 3


def count(messages: Sequence[Any]) -> int:
    """A stand-in for a tokenizer: a token for each word, four for each message, three for each request."""
    return OVERHEAD + sum(4 + len(message_text(message).split()) for message in messages)


@dataclass(frozen=True)
class Step:
    """One response of the model: some words, parallel tool calls whose results come in an order of their own."""

    words: int
    calls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Exchange:
    """A user message and what the model does with it."""

    words: int
    steps: tuple[Step, ...] = ()


steps = st.builds(
    Step,
    words=st.integers(1, 12),
    calls=st.permutations(range(4)).flatmap(
        lambda order: st.integers(0, 3).map(lambda size: tuple(one for one in order if one < size))
    ),
)
exchanges = st.builds(Exchange, words=st.integers(1, 12), steps=st.lists(steps, max_size=3).map(tuple))
conversations = st.lists(exchanges, min_size=1, max_size=6)


def words(number: int, name: str) -> str:
    """So many words."""
    return " ".join(f"{name}{position}" for position in range(number))


class Chat:
    """OpenAI chat messages, as dictionaries."""

    system: Callable[[str], Any] = staticmethod(lambda text: {"role": "system", "content": text})

    def user(self, text: str) -> list[Any]:
        """One message."""
        return [{"role": "user", "content": text}]

    def step(self, text: str, calls: Sequence[str], results: Sequence[tuple[str, str]]) -> Iterator[list[Any]]:
        """What each request and its answers append."""
        if not calls:
            yield [{"role": "assistant", "content": text}]
            return
        requests = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in calls]
        yield [{"role": "assistant", "content": text, "tool_calls": requests}]
        for one, result in results:
            yield [{"role": "tool", "tool_call_id": one, "content": result}]

    def problem(self, messages: Sequence[Any]) -> str | None:
        """What OpenAI would refuse."""
        waiting: set[str] = set()
        for message in messages:
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    return f"result without call: {message}"
                waiting.remove(message["tool_call_id"])
                continue
            if waiting:
                return f"calls without results: {waiting}"
            waiting = {call["id"] for call in message.get("tool_calls", ())}
        return None


@dataclass
class Human:
    """A user message that is made as LangChain's is."""

    content: str
    type: str = "human"


class Objects(Chat):
    """Messages as objects with LangChain's fields."""

    system = staticmethod(lambda text: SimpleNamespace(type="system", content=text))

    def user(self, text: str) -> list[Any]:
        """One message."""
        return [Human(text)]

    def step(self, text: str, calls: Sequence[str], results: Sequence[tuple[str, str]]) -> Iterator[list[Any]]:
        """What each request and its answers append."""
        yield [SimpleNamespace(type="ai", content=text, tool_calls=[{"name": "f", "args": {}, "id": c} for c in calls])]
        for one, result in results:
            yield [SimpleNamespace(type="tool", content=result, tool_call_id=one)]

    def problem(self, messages: Sequence[Any]) -> str | None:
        """As for the same messages in OpenAI's shape, which is what they become."""
        names = {"human": "user", "ai": "assistant"}
        plain = [{**vars(message), "role": names.get(message.type, message.type)} for message in messages]
        return super().problem(plain)


class Responses(Chat):
    """Items of the Responses API: each response starts with a reasoning item, all its items come at once."""

    def step(self, text: str, calls: Sequence[str], results: Sequence[tuple[str, str]]) -> Iterator[list[Any]]:
        """What each request and its answers append."""
        items: list[Any] = [{"type": "reasoning", "id": f"rs_{text}", "summary": []}]
        items += [{"type": "function_call", "call_id": one, "name": "f", "arguments": "{}"} for one in calls]
        items += [{"role": "assistant", "content": text}]
        yield items
        for one, result in results:
            yield [{"type": "function_call_output", "call_id": one, "output": result}]

    def problem(self, messages: Sequence[Any]) -> str | None:
        """What OpenAI would refuse: unpaired calls and results, reasoning without its items or items without it."""
        called = [item["call_id"] for item in messages if item.get("type") == "function_call"]
        answered = [item["call_id"] for item in messages if item.get("type") == "function_call_output"]
        if sorted(called) != sorted(answered):
            return f"{called} called, {answered} answered"
        before: Any = {"role": "user"}
        for item in messages:
            thinks = before.get("type") == "reasoning"
            follows = item.get("type") == "function_call" or item.get("role") == "assistant"
            if thinks and not follows:
                return "reasoning without its item"
            if follows and not (thinks or before.get("type") == "function_call"):
                return "an item without its reasoning"
            before = item
        return "reasoning at the end" if before.get("type") == "reasoning" else None


class Anthropic(Chat):
    """Anthropic messages: all results of a response stand in one user message, some with words beside them."""

    def step(self, text: str, calls: Sequence[str], results: Sequence[tuple[str, str]]) -> Iterator[list[Any]]:
        """What each request and its answers append."""
        said: list[Any] = [{"type": "text", "text": text}]
        uses = [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in calls]
        yield [{"role": "assistant", "content": said + uses}]
        blocks = [{"type": "tool_result", "tool_use_id": one, "content": result} for one, result in results]
        if blocks:
            yield [{"role": "user", "content": blocks + said * (len(blocks) % 2)}]

    def problem(self, messages: Sequence[Any]) -> str | None:
        """What Anthropic would refuse."""
        expected: set[str] = set()
        for message in messages:
            blocks = message["content"] if isinstance(message["content"], list) else []
            answers = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            if answers != expected:
                return f"{expected} called, {answers} answered"
            expected = {block["id"] for block in blocks if block["type"] == "tool_use"}
        return None


SHAPES = [Chat(), Objects(), Responses(), Anthropic()]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)


def grown(shape: Chat, script: Sequence[Exchange], *, system: bool = True) -> Iterator[tuple[list[Any], bool]]:
    """A conversation after each message, and whether that is when the model is asked."""
    messages = [shape.system("follow the rules")] if system else []
    for turn, exchange in enumerate(script):
        messages += shape.user(words(exchange.words, f"u{turn}."))
        yield list(messages), True
        for number, step in enumerate(exchange.steps):
            name = f"t{turn}s{number}."
            calls = [f"{name}{position}" for position in sorted(step.calls)]
            results = [(f"{name}{position}", words(step.words, f"{name}r")) for position in step.calls]
            asked = list(shape.step(words(step.words, name), calls, results))
            for position, batch in enumerate(asked):
                messages += batch
                yield list(messages), bool(calls) and position == len(asked) - 1


def role(message: Any) -> str:
    """The role of a message, whatever its shape."""
    return read_message(message, 0).role.value


def parameters() -> st.SearchStrategy[dict[str, Any]]:
    """Trimmers with and without ranker, summary and hysteresis."""
    return st.fixed_dictionaries(
        {"budget": st.integers(60, 220), "keep_last": st.integers(1, 4)},
        optional={
            "step": st.integers(0, 50),
            "ranker": st.just(Overlap()),
            "summarizer": st.just(summarize),
            "keep_system": st.sampled_from([True, False, "leading"]),
        },
    )


class Overlap:
    """Ranks by the number of characters in common."""

    def score(self, query: str, texts: Sequence[str], /) -> list[float]:
        """One number for each text."""
        return [float(len(set(query) & set(text))) for text in texts]


def summarize(messages: Sequence[Any]) -> str:
    """A summary that tells what it was made from."""
    return f"{len(messages)} messages from {message_text(messages[0]).split()[:1]} on"


@by_shape
@settings(max_examples=50, deadline=None)
@given(script=conversations, options=parameters(), system=st.booleans())
def test_every_request_is_legal_within_budget_and_begins_with_the_one_before(
    shape: Chat, script: list[Exchange], options: dict[str, Any], *, system: bool
) -> None:
    """Whenever the model is asked: paired tool calls, a legal first role, at most the budget, and the
    same beginning as last time unless there was a cut; the messages are the given objects in order."""
    trimmer = HistoryTrimmer(count=count, **options)
    sent: list[Any] = []
    cuts = 0
    for messages, asked in grown(shape, script, system=system):
        try:
            trimmed = trimmer.trim(messages)
        except BudgetError as error:
            assert error.needed > error.budget == options["budget"]  # noqa: PT017 (both paths are tested)
            sent, cuts = [], -1
            continue
        assert trimmed.tokens == count(trimmed.messages) <= options["budget"]
        if cuts == trimmed.cuts:
            assert trimmed.messages[: len(sent)] == sent
        sent, cuts = trimmed.messages, trimmed.cuts
        assert sorted(item.index for item in (*trimmed.kept, *trimmed.dropped)) == list(range(len(messages)))
        given_back = [message for message in trimmed.messages if any(message is one for one in messages)]
        assert [id(message) for message in given_back] == [id(messages[item.index]) for item in trimmed.kept]
        if asked:
            assert shape.problem(trimmed.messages) is None
            assert next(role(message) for message in trimmed.messages if role(message) != "system") == "user"


@by_shape
@settings(max_examples=25, deadline=None)
@given(script=conversations, options=parameters())
def test_a_trimmer_remembers_nothing(shape: Chat, script: list[Exchange], options: dict[str, Any]) -> None:
    """One that served the whole conversation and one that sees it for the first time agree."""
    old = HistoryTrimmer(count=count, **options)
    for messages, _ in grown(shape, script):
        assert outcome(old, messages) == outcome(HistoryTrimmer(count=count, **options), messages)


def outcome(trimmer: HistoryTrimmer, messages: list[Any]) -> object:
    """The result, or the error's text."""
    try:
        return trimmer.trim(messages)
    except BudgetError as error:
        return str(error)


@by_shape
@settings(max_examples=25, deadline=None)
@given(script=conversations, pins=st.sets(st.integers(0, 40)), budget=st.integers(60, 150))
def test_system_pinned_and_last_messages_stay(shape: Chat, script: list[Exchange], pins: set[int], budget: int) -> None:
    """They are kept whatever else must go, with the results of their tool calls."""
    for messages, asked in grown(shape, script):
        pinned = [messages[index] for index in pins if index < len(messages)]
        trimmer = HistoryTrimmer(budget, count=count, keep_last=2, pinned=lambda one: any(one is p for p in pinned))  # noqa: B023 (called in this round)
        try:
            trimmed = trimmer.trim(messages)
        except BudgetError:
            continue
        kept = {id(message) for message in trimmed.messages}
        assert {id(message) for message in (messages[0], *pinned, *messages[-2:])} <= kept
        assert not asked or shape.problem(trimmed.messages) is None


@by_shape
@settings(max_examples=25, deadline=None)
@given(script=conversations, step=st.integers(0, 30))
def test_a_budget_for_the_longest_exchange_is_possible(shape: Chat, script: list[Exchange], step: int) -> None:
    """No more than the system message, the last message's tool calls and its question must stay."""
    longest = max(count(list(grown(shape, [exchange]))[-1][0]) for exchange in script)
    trimmer = HistoryTrimmer(longest, step=min(step, longest - 1), count=count)
    for messages, _ in grown(shape, script):
        assert trimmer.trim(messages).tokens <= longest


@by_shape
def test_cuts_come_in_steps(shape: Chat) -> None:
    """A cut frees the step, so that as many tokens can be added before the next one."""
    trimmer = HistoryTrimmer(400, step=200, count=count)
    script = [Exchange(words=10, steps=(Step(words=10),))] * 60
    requests = [trimmer.trim(messages) for messages, _ in grown(shape, script)]
    sizes = [(trimmed.cuts, trimmed.tokens) for trimmed in requests]
    after_cuts = [after for before, after in pairwise(sizes) if after[0] > before[0]]
    total = count(list(grown(shape, script))[-1][0])
    assert all(150 < tokens <= 200 for _, tokens in after_cuts)
    assert len(after_cuts) <= total / 200


def chat(*roles: str) -> list[dict[str, Any]]:
    """Messages `s`ystem, `u`ser, `a`ssistant; `c3` calls a tool, `r3` answers; the content is their place."""
    names = {"s": "system", "u": "user", "a": "assistant", "c": "assistant", "r": "tool"}
    messages: list[dict[str, Any]] = []
    for index, short in enumerate(roles):
        message: dict[str, Any] = {"role": names[short[0]], "content": f"word{index}"}
        if short[0] == "c":
            message["tool_calls"] = [
                {"id": short[1:], "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ]
        if short[0] == "r":
            message["tool_call_id"] = short[1:]
        messages.append(message)
    return messages


def kept(messages: list[Any], budget: int, **options: Any) -> list[int]:
    """Places of the messages that are kept."""
    return [item.index for item in HistoryTrimmer(budget, count=count, **options).trim(messages).kept]


def test_what_fits_is_sent_whole() -> None:
    """Nothing is touched below the budget, and the reasons say so."""
    messages = chat("s", "u", "a", "u")
    trimmed = HistoryTrimmer(23, count=count).trim(messages)
    assert trimmed.messages == messages
    assert (trimmed.tokens, trimmed.cuts, trimmed.dropped, trimmed.summary) == (23, 0, (), None)
    assert [item.reason for item in trimmed.kept] == [Reason.SYSTEM, Reason.RECENT, Reason.RECENT, Reason.LAST]
    assert [item.tokens for item in trimmed.kept] == [5, 5, 5, 5]


def test_default_counter_counts_what_a_request_sends() -> None:
    """As `count_tokens` has it for chat messages; the same tool call is as long in any other shape."""
    messages = chat("s", "u", "c1", "r1", "u")
    assert HistoryTrimmer(100).trim(messages).tokens == count_tokens(messages)
    lengths = [
        HistoryTrimmer(100, first_role="any").trim([message]).tokens
        for message in (
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "find", "arguments": '{"a": 1}'}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find", "input": {"a": 1}}]},
            {"type": "function_call", "call_id": "1", "name": "find", "arguments": '{"a": 1}', "role": "assistant"},
            SimpleNamespace(type="ai", content="", tool_calls=[{"id": "1", "name": "find", "args": {"a": 1}}]),
        )
    ]
    assert len(set(lengths[:3])) == 1
    assert abs(lengths[3] - lengths[0]) <= 1


def test_an_agent_at_work_keeps_its_task() -> None:
    """A cut inside a long turn keeps the user message that opens it and the newest calls with results."""
    messages = chat("s", "u", "c1", "r1", "c2", "r2", "c3", "r3")
    trimmed = HistoryTrimmer(36, count=count).trim(messages)
    assert [(item.index, item.reason) for item in trimmed.kept] == [
        (0, Reason.SYSTEM),
        (1, Reason.OPENS),
        (6, Reason.LAST),
        (7, Reason.LAST),
    ]
    assert {item.reason for item in trimmed.dropped} == {Reason.OLDER}


def test_results_without_calls_go() -> None:
    """A history that was cut elsewhere between call and result is mended, even below the budget."""
    trimmed = HistoryTrimmer(100, count=count).trim(chat("s", "r1", "u", "a"))
    assert [(item.index, item.reason) for item in trimmed.dropped] == [(1, Reason.UNANSWERABLE)]


def test_a_greeting_goes_unless_any_role_may_stand_first() -> None:
    """Most providers refuse a conversation that the assistant begins."""
    messages = chat("s", "a", "u")
    assert kept(messages, 100) == [0, 2]
    assert kept(messages, 100, first_role="any") == [0, 1, 2]
    with pytest.raises(TrimError, match="no user message"):
        kept(chat("s", "a"), 100)
    assert kept(chat("s", "a"), 100, first_role="any") == [0, 1]
    assert kept(chat("s"), 100) == [0]
    assert kept([], 100) == []


def test_instructions_inside_the_conversation() -> None:
    """They stay with the user message ahead of them and the reply after them, or go with both."""
    messages = chat("s", "u", "s", "a", "u", "a", "u", "a", "u")
    assert kept(messages, 40, step=10) == [0, 1, 2, 3, 6, 7, 8]
    assert kept(messages, 40, step=10, keep_system="leading") == [0, 4, 5, 6, 7, 8]
    assert kept(messages, 40, step=20, keep_system=False) == [6, 7, 8]


def test_relevant_turns_stay_instead_of_newer_ones() -> None:
    """The turn that shares words with the newest question outlives newer small talk, whole."""

    class Words:
        def score(self, query: str, texts: Sequence[str], /) -> list[float]:
            return [float(len(set(query.split()) & set(text.split()))) for text in texts]

    messages = [
        {"role": "user", "content": "the tax number is 17"},
        {"role": "assistant", "content": "noted"},
        {"role": "user", "content": "nice weather today"},
        {"role": "assistant", "content": "indeed it is"},
        {"role": "user", "content": "which tax number"},
    ]
    assert kept(messages, 36, step=6) == [2, 3, 4]
    trimmed = HistoryTrimmer(36, step=6, count=count, ranker=Words()).trim(messages)
    assert [(item.index, item.reason, item.score) for item in trimmed.kept] == [
        (0, Reason.RELEVANT, 2.0),
        (1, Reason.RELEVANT, 2.0),
        (4, Reason.LAST, None),
    ]
    assert [(item.index, item.reason, item.score) for item in trimmed.dropped] == [
        (2, Reason.LESS_RELEVANT, 0.0),
        (3, Reason.LESS_RELEVANT, 0.0),
    ]


@pytest.mark.parametrize("scores", [[float("nan")], [], [1.0, 2.0]])
def test_scores_must_be_numbers(scores: list[float]) -> None:
    """NaN would make the order depend on chance."""
    ranker = SimpleNamespace(score=lambda *_: scores)
    with pytest.raises(TrimError, match="one finite number each"):
        kept(chat("u", "a", "u"), 12, step=0, ranker=ranker)


@dataclass
class Recorder:
    """A summarizer that remembers what it was asked."""

    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, messages: Sequence[Any]) -> str:
        """So many words."""
        self.asked.append([message["content"] for message in messages])
        return " ".join(["long"] * 50)


def test_the_summary_stands_after_the_system_message() -> None:
    """It is a user message, fits its room, and is asked for once while the same messages are cut."""
    recorder = Recorder()
    trimmer = HistoryTrimmer(40, count=count, summarizer=recorder, summary_tokens=14, step=0)
    messages = chat("s", "u", "a", "u", "a", "u", "a", "u")
    first = trimmer.trim(messages)
    assert [message["role"] for message in first.messages] == ["system", "user", "user", "assistant", "user"]
    assert first.messages[1]["content"] == "Summary of the conversation so far:\nlong long long long"
    assert first.tokens == 37
    assert trimmer.trim(messages).messages == first.messages
    assert recorder.asked == [["word1", "word2", "word3", "word4"]]


def test_summaries_may_be_asynchronous() -> None:
    """`atrim` awaits them; `trim` says to call it."""

    async def summarizer(messages: Sequence[Any]) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} before"

    trimmer = HistoryTrimmer(30, count=count, summarizer=summarizer, summary_tokens=12, step=0)
    messages = chat("s", "u", "a", "u", "a", "u")
    with pytest.raises(TrimError, match="call atrim"):
        trimmer.trim(messages)
    trimmed = asyncio.run(trimmer.atrim(messages))
    assert trimmed.summary == "4 before"
    assert asyncio.run(trimmer.atrim(messages)) == trimmed == trimmer.trim(messages)
    plain = HistoryTrimmer(30, count=count)
    assert asyncio.run(plain.atrim(messages)) == plain.trim(messages)


def test_impossible_budgets_name_both_numbers() -> None:
    """What must stay, and what there is."""
    with pytest.raises(BudgetError, match="takes 13 tokens, the budget is 12") as caught:
        kept(chat("s", "u"), 12)
    assert (caught.value.needed, caught.value.budget) == (13, 12)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"budget": 10, "step": 10}, "step is 10"),
        ({"budget": 10, "step": -1}, "step is -1"),
        ({"budget": 10, "keep_last": 0}, "keep_last is 0"),
        ({"budget": "10"}, "budget is '10': give a number of tokens, at least 1"),
        ({"budget": 10.0}, "budget is 10.0"),
        ({"budget": True}, "budget is True"),
        ({"budget": 10, "step": 2.5}, "step is 2.5"),
        ({"budget": 10, "summary_tokens": 11}, "summary_tokens is 11: give 1 to 10 tokens"),
        ({"budget": 10, "keep_system": "all"}, "keep_system is 'all'"),
        ({"budget": 10, "first_role": "assistant"}, "first_role is 'assistant'"),
    ],
)
def test_numbers_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    """They are told when the trimmer is made."""
    with pytest.raises(TrimError, match=message):
        HistoryTrimmer(count=count, **options)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"role": "narrator", "content": ""}, "message 1 has the unknown role or type 'narrator'"),
        ({"role": "tool", "content": ""}, "message 1 is a tool result without tool_call_id"),
        ("just text", "message 1 has the unknown role or type 'None'"),
    ],
)
def test_messages_that_cannot_be_read(message: object, error: str) -> None:
    """The error names the message."""
    with pytest.raises(TrimError, match=error):
        kept([*chat("u"), message], 100)


def test_pinned_messages_that_cannot_be_sent() -> None:
    """A pin does not make an illegal message legal."""
    with pytest.raises(TrimError, match="message 0 is pinned and cannot be sent: no user message"):
        kept(chat("a", "u"), 100, pinned=lambda message: message["role"] == "assistant")


def test_other_items_that_belong_together() -> None:
    """Legacy function calls, server tools of both APIs, approvals, calls that were given up."""
    function = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "word"}
    assert kept([*chat("u"), function, answer, *chat("u")], 18, step=0) == [3]
    assert kept([*chat("u"), function, answer], 100) == [0, 1, 2]
    search = [{"type": "web_search_call", "id": "ws", "status": "completed"}, {"role": "assistant", "content": "x"}]
    assert kept([*chat("u"), *search, *chat("u", "a", "u")], 28, step=0) == [3, 4, 5]
    approval = [
        {"type": "mcp_approval_request", "id": "m1", "name": "f", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "m1", "approve": True},
    ]
    assert kept([*chat("u"), *approval, *chat("u")], 17, step=0) == [3]
    paused = [
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}]},
        {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}]},
    ]
    assert kept([*chat("u"), *paused, *chat("u")], 17, step=0) == [3]
    assert kept(chat("u", "c1", "u", "a", "u", "a", "u"), 24, step=0) == [4, 5, 6]
    reference = {"id": "msg_1"}
    assert kept([*chat("u"), reference], 100) == [0, 1]
