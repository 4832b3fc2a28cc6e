"""What is promised about the prompts, without sending them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

import assistant
from pytest_promptopt import (
    assert_bounded_history,
    assert_lint_clean,
    assert_prefix_grows,
    assert_retrieval_budget,
    assert_stable_prefix,
    assert_token_budget,
)

QUESTIONS = ["Where is my parcel?", "How long does delivery take?", "Do you repair ropes?"]


def turns() -> Any:
    conversation = assistant.Conversation(openai.OpenAI(api_key="none"))

    def build(turn: int) -> Any:
        request = conversation.request(f"{QUESTIONS[turn % 3]} This is my question number {turn}.")
        conversation.answered("It waits at the parcel shop. " * 3)
        return request

    return build


def test_requests_are_short() -> None:
    for question in QUESTIONS:
        assert_token_budget(assistant.first_request(question), 400, model=assistant.MODEL)


@pytest.mark.token_budget(400, model="gpt-4o")
def test_rules_are_short(render_prompt: Any) -> None:
    assert "politeness" in render_prompt("prompts/rules.j2", rules=["politeness"])


def test_the_cache_can_keep_the_rules() -> None:
    assert_stable_prefix(assistant.first_request, QUESTIONS, min_tokens=180, hash_seeds=2, model=assistant.MODEL)


def test_conversations_stay_bounded() -> None:
    assert_bounded_history(turns(), 40, max_tokens=800, model=assistant.MODEL)


def test_turns_are_appended() -> None:
    assert_prefix_grows(turns(), 40, turns_between_cuts=3)


def test_little_is_retrieved() -> None:
    assert_retrieval_budget(assistant.retrieve(QUESTIONS[0]), max_tokens=60, max_passages=2)


def test_promptopt_finds_nothing() -> None:
    assert_lint_clean(Path(assistant.__file__))
