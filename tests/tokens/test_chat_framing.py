"""Messages and tools cost what their provider published, and what it measured."""

from __future__ import annotations

from typing import Any

import pytest

from promptopt import TokenError, count_tokens, token_counter

WEATHER = [
    {"role": "system", "content": "You are a helpful assistant that can answer to questions about the weather."},
    {"role": "user", "content": "What's the weather like in San Francisco?"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a given location",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                    "unit": {
                        "type": "string",
                        "description": "The unit of temperature to return",
                        "enum": ["celsius", "fahrenheit"],
                    },
                },
                "required": ["location"],
            },
        },
    }
]
"""The example of the provider's guide (OpenAI Cookbook, MIT); the API's own counts for it stand below."""


def test_a_name_costs_itself_and_one() -> None:
    """Of a message that has one."""
    plain, named = [{"role": "user", "content": "hi"}], [{"role": "user", "name": "ann", "content": "hi"}]
    assert count_tokens(plain, model="gpt-4o") == 3 + 3 + count_tokens("user") + count_tokens("hi")
    assert count_tokens(named, model="gpt-4o") == count_tokens(plain, model="gpt-4o") + count_tokens("ann") + 1


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4", 105), ("gpt-4o", 101), ("gpt-4o-mini", 101)])
def test_tools_cost_what_the_api_reported(model: str, tokens: int) -> None:
    """The example of the provider's own guide, in either form of a tool."""
    counter = token_counter(model)
    assert counter.messages(WEATHER, TOOLS) == tokens
    assert counter.messages(WEATHER, [TOOLS[0]["function"]]) == tokens  # type: ignore[list-item]
    assert not counter.framing_estimate


def test_an_unpublished_framing_is_an_estimate() -> None:
    """Text is exact, what stands around it is not."""
    counter = token_counter("gpt-5")
    assert (counter.estimate, counter.framing_estimate) == (False, True)


def test_parts_and_tool_calls_are_counted_and_media_is_not() -> None:
    """Text wherever it stands in a message."""
    text = {"role": "user", "content": "Describe this."}
    parts = {
        "role": "user",
        "content": [{"type": "text", "text": "Describe this."}, {"type": "image_url", "image_url": {}}],
    }
    assert count_tokens([parts]) == count_tokens([text])
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    assert count_tokens([call]) == count_tokens([{"role": "assistant"}]) + count_tokens("look") + count_tokens("{}")


def test_nested_schemas_count() -> None:
    """A property's own properties are text that is sent."""
    counter = token_counter("gpt-4o")
    flat: dict[str, Any] = {"name": "f", "parameters": {"properties": {"a": {"type": "object"}}}}
    deep: dict[str, Any] = {
        "name": "f",
        "input_schema": {"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}},
    }
    assert counter.messages([], [deep]) > counter.messages([], [flat]) > counter.messages([], []) == 3


@pytest.mark.parametrize("messages", [[{"content": "no role"}], ["text"], [{"role": "user", "content": 3}]])
def test_what_is_no_message_is_refused(messages: list[Any]) -> None:
    """By its number, with what to give."""
    with pytest.raises(TokenError, match="message 0"):
        count_tokens(messages)
