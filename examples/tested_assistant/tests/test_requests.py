"""What is promised about the requests that the SDKs really send."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import openai
import pytest

import assistant
from pytest_promptopt import LlmCalls, assert_latency


def test_replies_are_streamed(openai_client: openai.OpenAI, llm_calls: LlmCalls) -> None:
    conversation = assistant.Conversation(openai_client)
    for question in ("Where is my parcel?", "And where is the shop?"):
        assert "".join(conversation.reply(question)) == "It waits at the parcel shop."
    assert len(llm_calls) == 2
    llm_calls.assert_streamed()
    llm_calls.assert_within(input_tokens=400, max_tokens=300)
    llm_calls.assert_stable_prefix(min_tokens=180)
    assert_latency(llm_calls, ttft_p50=5, itl_p50=5, total_p50=10)


def test_asynchronous_replies(address: str, llm_calls: LlmCalls) -> None:
    async def ask() -> str:
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{address}/v1") as client:
            return "".join([part async for part in assistant.reply_later(client, "Where is my parcel?")])

    assert asyncio.run(ask()) == "It waits at the parcel shop."
    llm_calls.assert_streamed()
    llm_calls.assert_capped(300)


def test_summaries(anthropic_client: anthropic.Anthropic, llm_calls: LlmCalls) -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "Where is my parcel?"},
        {"role": "assistant", "content": "At the shop."},
    ]
    assert assistant.summarize(anthropic_client, turns) == "It waits at the parcel shop."
    assert "".join(assistant.summarize_live(anthropic_client, turns)) == "It waits at the parcel shop."
    assert [call.stream for call in llm_calls] == [False, True]
    llm_calls.assert_capped(200)
    llm_calls.assert_stable_prefix(min_ratio=1)
    llm_calls.where(containing="Sum the conversation up").assert_within(input_tokens=400)


@pytest.mark.token_budget(400)
def test_everything_that_is_sent_is_short(openai_client: openai.OpenAI) -> None:
    assert list(assistant.Conversation(openai_client).reply("Do you repair ropes?"))
