"""Requests of every SDK and wire format as what they send."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptopt import wire
from promptopt.errors import TokenError, TrimError
from promptopt.tokens import count_tokens, token_counter
from promptopt.wire import find_endpoint, read_prompt, read_request

CALL = '{"city": "Bonn"}'
FORMS: dict[str, dict[str, Any]] = {
    "chat.completions": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": CALL}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Rain."},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells.", "parameters": {}}}],
        "max_completion_tokens": 50,
        "stream": True,
    },
    "responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": CALL},
            {"type": "function_call_output", "call_id": "c1", "output": "Rain."},
        ],
        "tools": [{"type": "function", "name": "weather", "description": "Tells.", "parameters": {}}],
        "max_output_tokens": 50,
        "stream": True,
    },
    "messages": {
        "model": "m",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bonn"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Rain."}]},
        ],
        "tools": [{"name": "weather", "description": "Tells.", "input_schema": {}}],
        "max_tokens": 50,
        "stream": True,
    },
    "generateContent": {
        "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Bonn"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "Rain."}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "description": "Tells.", "parameters": {}}]}],
        "generationConfig": {"maxOutputTokens": 50},
    },
    "converse": {
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "Weather?"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Bonn"}}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "Rain."}]}}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "weather", "description": "Tells.", "inputSchema": {}}}]},
        "inferenceConfig": {"maxTokens": 50},
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_each_wire_format_says_the_same(form: str) -> None:
    """Tools, then the system text, the question, the call with its arguments, and its result; the cap."""
    request = read_request(FORMS[form])
    pieces = [(piece.label, piece.text) for piece in request.prompt.pieces()]
    assert pieces[0][0] == "tool 0: weather"
    texts = [text for _, text in pieces[1:]]
    if form == "generateContent":
        assert texts[-2:] == ["weather", '{"result": "Rain."}']
        texts[-2:] = ["Rain."]
    assert texts == ["Be brief.", "Weather?", "weather", CALL, "Rain."]
    assert request.cap == 50
    assert request.stream == (form not in ("generateContent", "converse"))
    assert request.model == ("m" if "model" in FORMS[form] else None)


@pytest.mark.parametrize("form", FORMS)
def test_tool_calls_and_results_find_each_other(form: str) -> None:
    """The id that the call has is the one that the result names."""
    facts = [message.facts(n) for n, message in enumerate(read_request(FORMS[form]).prompt.messages)]
    made = [call for one in facts for call in one.calls]
    answered = [result for one in facts for result in one.results]
    assert len(made) == 1
    assert made == answered


@pytest.mark.parametrize("form", FORMS)
def test_what_is_sent_is_counted(form: str) -> None:
    """A longer answer of the tool, and a longer tool, make a longer request."""
    counter = token_counter()
    prompt = read_request(FORMS[form]).prompt
    size = prompt.tokens(counter)
    longer = eval(repr(FORMS[form]).replace("Rain.", "Rain, and more rain."), {})  # noqa: S307 (the table above)
    assert read_request(longer).prompt.tokens(counter) == size + 4
    described = eval(repr(FORMS[form]).replace("Tells.", "Tells it all"), {})  # noqa: S307
    assert read_request(described).prompt.tokens(counter) > size


def test_chat_counts_as_count_tokens_does() -> None:
    """What frames the messages included."""
    messages = FORMS["chat.completions"]["messages"]
    assert read_prompt(messages).tokens(token_counter("gpt-4o")) == count_tokens(messages, "gpt-4o")
    named = [{"role": "user", "name": "Ada", "content": "Hello."}]
    assert read_prompt(named).tokens(token_counter("gpt-4o")) == count_tokens(named, "gpt-4o")


@pytest.mark.parametrize(
    ("path", "name", "model", "stream"),
    [
        ("/v1/chat/completions", "chat.completions", None, False),
        ("/openai/deployments/house/chat/completions", "chat.completions", None, False),
        ("/v1/responses", "responses", None, False),
        ("/v1/messages", "messages", None, False),
        ("/v1beta/models/gemini-x:generateContent", "generateContent", "gemini-x", False),
        ("/v1/models/gemini-x:streamGenerateContent", "generateContent", "gemini-x", True),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-x:rawPredict", "messages", "claude-x", False),
        ("/v1/publishers/anthropic/models/claude-x:streamRawPredict", "messages", "claude-x", True),
        ("/model/anthropic.claude-x/converse", "converse", "anthropic.claude-x", False),
        ("/model/anthropic.claude-x/converse-stream", "converse", "anthropic.claude-x", True),
        ("/model/m%3A0/invoke", "invoke", "m:0", False),
        ("/model/m/invoke-with-response-stream", "invoke", "m", True),
    ],
)
def test_addresses_are_known(path: str, name: str, model: str | None, *, stream: bool) -> None:
    """By their path, whichever host: gateways and proxies have their own."""
    endpoint = find_endpoint(path)
    assert endpoint
    assert (endpoint.name, endpoint.model, endpoint.stream) == (name, model, stream)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/models", "/v1/files", "/"])
def test_other_addresses_are_passed_by(path: str) -> None:
    """They ask no model for text."""
    assert find_endpoint(path) is None


def test_the_table_of_forms_is_whole() -> None:
    """Each pattern compiles, names what is known, and matches whole ends of paths; nothing is misspelt."""
    table = tomllib.loads((Path(wire.__file__).parent / "formats.toml").read_text("utf-8"))
    assert table.keys() == {"request", "endpoints", "operations", "content"}
    assert table["request"].keys() == {"model", "tools", "system", "messages", "cap", "stream"}
    for entry in table["endpoints"]:
        assert entry.keys() == {"name", "path"}
        assert set(re.compile(entry["path"]).groupindex) <= {"model", "stream"}
        assert entry["path"].startswith("/")
        assert entry["path"].endswith("$")
    names = {entry["name"] for entry in table["endpoints"]}
    assert {entry["endpoint"] for entry in table["operations"]} <= names
    assert all(entry.keys() <= {"name", "endpoint", "body", "stream"} for entry in table["operations"])
    assert set(table["content"]["calls"]) | set(table["content"]["results"]) <= set(table["content"]["text"])


def test_objects_are_read_by_their_fields() -> None:
    """Any class's, and prompts that know their own messages."""
    block = SimpleNamespace(type="text", text="Hello.")
    message = SimpleNamespace(role="user", content=[block], _private="secret")
    assert [piece.text for piece in read_prompt(message).pieces()] == ["Hello."]
    prompt = type("ChatPrompt", (), {"to_messages": lambda _: [message, message]})()
    assert [piece.text for piece in read_prompt(prompt).pieces()] == ["Hello.", "Hello."]


def test_images_are_told_apart_and_count_nothing() -> None:
    """The same text with another image is another request."""
    one, other = (
        read_prompt([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:{x}"}}]}])
        for x in "ab"
    )
    assert list(one.pieces()) != list(other.pieces())
    assert [piece.text for piece in one.pieces()] == [""]


@pytest.mark.parametrize("value", [None, 7, b"x", [7], {"temperature": 1}, [{"role": "user"}, object()]])
def test_what_is_no_prompt_is_refused(value: object) -> None:
    """With its place and type."""
    with pytest.raises(TokenError, match=r"message \d is \w+: give text, or messages with role and content"):
        read_prompt(value)


def test_an_unknown_role_is_refused() -> None:
    """Where halves of tool calls are looked for."""
    with pytest.raises(TrimError, match="message 3 has the unknown role or type 'wizard'"):
        read_prompt([{"role": "wizard", "content": "x"}]).messages[0].facts(3)


def test_endless_values_are_refused() -> None:
    """A structure that holds itself."""
    loop: dict[str, Any] = {"role": "user"}
    loop["content"] = [loop]
    with pytest.raises(ValueError, match="deeper than 60 levels"):
        read_prompt(loop)
