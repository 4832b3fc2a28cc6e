"""Answers from the product catalogue, with tools for stock and prices."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

from prompts import HANDBOOK

client = OpenAI(timeout=30)

STOCK = {
    "type": "function",
    "function": {
        "name": "stock",
        "description": "How many pieces of an article are in the warehouse.",
        "parameters": {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]},
    },
}
PRICE = {
    "type": "function",
    "function": {
        "name": "price",
        "description": "The current price of an article in euros.",
        "parameters": {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]},
    },
}
TOOLS = {"stock": STOCK, "price": PRICE}

OUTDOOR = {"tents", "packs", "sleeping bags"}
KITCHEN = {"stoves", "cookware"}


def departments() -> set[str]:
    return OUTDOOR | KITCHEN


def advise(question: str, passages: list[dict[str, str]]) -> Any:
    topics = ", ".join(departments())
    context = "\n\n".join(passage["text"] for passage in passages[:5])
    enabled = {"stock", "price"}
    return client.chat.completions.create(
        model="gpt-5",
        tools=[TOOLS[name] for name in enabled],
        messages=[
            {"role": "system", "content": f"Advise on {topics} only.\n\n{HANDBOOK}"},
            {"role": "user", "content": f"{context}\n\nQuestion: {question}"},
        ],
        max_completion_tokens=600,
    )


def advise_in_fixed_order(question: str, passages: list[dict[str, str]]) -> Any:
    topics = ", ".join(sorted(departments()))
    enabled = {"stock", "price"}
    context = "\n\n".join(passage["text"] for passage in passages[:5])
    return client.chat.completions.create(
        model="gpt-5",
        tools=[TOOLS[name] for name in sorted(enabled)],
        messages=[
            {"role": "system", "content": f"Advise on {topics} only.\n\n{HANDBOOK}"},
            {"role": "user", "content": f"{context}\n\nQuestion: {question}"},
        ],
        max_completion_tokens=600,
    )
