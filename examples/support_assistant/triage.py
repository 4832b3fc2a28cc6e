"""Sorts incoming mail before a colleague reads it."""

from __future__ import annotations

from typing import Any

import anthropic

from prompts import HANDBOOK, clock

client = anthropic.Anthropic(timeout=30)

TASK = "Sort the mail: order, return, repair, advice or other. Answer with one word."


def sort_mail(mail: str) -> Any:
    instructions = f"{HANDBOOK}\n{TASK}\nIt is {clock()}."
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=16,
        system=[
            {"type": "text", "text": instructions, "cache_control": {"type": "ephemeral"}},
        ],
        messages=[{"role": "user", "content": mail}],
    )


def sort_mail_with_working_breakpoint(mail: str) -> Any:
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=16,
        system=[
            {"type": "text", "text": f"{HANDBOOK}\n{TASK}", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": f"It is {clock()}."},
        ],
        messages=[{"role": "user", "content": mail}],
    )
