"""assert_token_budget with the message objects of the SDKs, skipped where they are not installed."""

from __future__ import annotations

from typing import Any

import pytest

from promptopt.tokens import count_tokens
from promptopt.wire import read_prompt
from pytest_promptopt import PromptBudgetError, assert_token_budget

pytestmark = pytest.mark.filterwarnings("default")  # the SDKs' own

TEXT = "Where is my parcel?"


def openai_message() -> Any:
    """What the API returns, sent back in the next turn."""
    chat = pytest.importorskip("openai.types.chat")
    return chat.ChatCompletionMessage(role="assistant", content=TEXT)


def anthropic_message() -> Any:
    """A message with content blocks."""
    types = pytest.importorskip("anthropic.types")
    usage = types.Usage(input_tokens=1, output_tokens=1)
    block = types.TextBlock(type="text", text=TEXT)
    return types.Message(
        id="x", type="message", role="assistant", model="m", content=[block], stop_reason="end_turn", usage=usage
    )


def google_content() -> Any:
    """A content with parts."""
    types = pytest.importorskip("google.genai.types")
    return types.Content(role="user", parts=[types.Part(text=TEXT)])


def langchain_message() -> Any:
    """A human message; its type is its role."""
    return pytest.importorskip("langchain_core.messages").HumanMessage(TEXT)


@pytest.mark.parametrize("make", [openai_message, anthropic_message, google_content, langchain_message])
def test_messages(make: Any) -> None:
    """Each counts as the mapping that is sent, alone and in a list."""
    message = make()
    role = getattr(message, "role", None) or message.type
    size = count_tokens([{"role": role, "content": TEXT}], "gpt-4o")
    for prompt in (message, [message]):
        assert_token_budget(prompt, size, "gpt-4o")
        with pytest.raises(PromptBudgetError, match=rf"has {size} tokens, 1 over"):
            assert_token_budget(prompt, size - 1, "gpt-4o")


def test_langchain_prompts() -> None:
    """A prompt value knows its messages; tool calls count with name and arguments, once."""
    prompts = pytest.importorskip("langchain_core.prompts")
    messages = pytest.importorskip("langchain_core.messages")
    value = prompts.ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{q}")]).invoke({"q": TEXT})
    assert [piece.text for piece in read_prompt(value).pieces()] == ["Be brief.", TEXT]
    call = {"name": "find", "args": {"id": 7}, "id": "c1"}
    twice = [{"type": "tool_use", "id": "c1", "name": "find", "input": {"id": 7}}]
    for message in (messages.AIMessage("", tool_calls=[call]), messages.AIMessage(twice, tool_calls=[call])):
        texts = [piece.text for piece in read_prompt(message).pieces() if piece.text]
        assert texts == ["find", '{"id": 7}']
        assert read_prompt(message).messages[0].facts(0).calls == ("c1",)


def test_tool_calls_of_objects() -> None:
    """OpenAI's and Google's."""
    chat = pytest.importorskip("openai.types.chat")
    function = {"name": "find", "arguments": '{"id": 7}'}
    message = chat.ChatCompletionMessage.model_validate(
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    )
    assert [piece.text for piece in read_prompt(message).pieces()] == ["find", '{"id": 7}']
    types = pytest.importorskip("google.genai.types")
    content = types.Content(role="model", parts=[types.Part.from_function_call(name="find", args={"id": 7})])
    assert [piece.text for piece in read_prompt(content).pieces()] == ["find", '{"id": 7}']
    assert read_prompt(content).messages[0].facts(0).calls == ("find",)
