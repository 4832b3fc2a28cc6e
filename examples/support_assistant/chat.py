"""Conversations in the shop's chat window."""

from __future__ import annotations

import uuid
from typing import Any

from llm import Assistant
from prompts import HANDBOOK, chat_instructions, question_with_time

MAX_TURNS = 24


def shorten(turns: list[dict[str, Any]]) -> None:
    if len(turns) > MAX_TURNS:
        del turns[: MAX_TURNS // 2]


class Conversation:
    def __init__(self, assistant: Assistant, tenant: str) -> None:
        self.assistant = assistant
        self.tenant = tenant
        self.turns: list[dict[str, Any]] = []

    def reply(self, question: str) -> str:
        self.turns.append({"role": "user", "content": question})
        text = self.assistant.answer(
            chat_instructions(),
            self.turns,
            prompt_cache_key=f"support-{uuid.uuid4()}",
        )
        self.turns.append({"role": "assistant", "content": text})
        shorten(self.turns)
        return text

    def reply_with_stable_prefix(self, question: str) -> str:
        self.turns.append({"role": "user", "content": question_with_time(question)})
        text = self.assistant.answer(
            HANDBOOK,
            self.turns,
            prompt_cache_key=f"support-{self.tenant}",
        )
        self.turns.append({"role": "assistant", "content": text})
        shorten(self.turns)
        return text
