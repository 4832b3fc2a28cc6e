"""Answers customers with OpenAI, sums conversations up with Anthropic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anthropic
import openai
from jinja2 import Environment, FileSystemLoader

from promptopt import HistoryTrimmer, token_counter

MODEL = "gpt-4o"
SUMMARY_MODEL = "claude-sonnet-4-5"
RULES = {"politeness", "brevity", "no promises about prices", "no advice on medicine", "no opinions on other shops"}
PASSAGES = [
    "Parcels leave the warehouse on the day of the order, until four in the afternoon.",
    "Delivery takes two days within the country and five abroad.",
    "A parcel that could not be handed over waits for two weeks at the nearest parcel shop.",
]

templates = Environment(loader=FileSystemLoader(Path(__file__).parent / "prompts"))


def instructions() -> str:
    return templates.get_template("rules.j2").render(rules=sorted(RULES))


def retrieve(question: str) -> list[str]:
    words = set(question.lower().strip("?").split())
    return [passage for passage in PASSAGES if words & set(passage.lower().split())][:2]


def first_request(question: str) -> list[dict[str, Any]]:
    now = datetime.now().strftime("%H:%M")
    passages = "\n".join(retrieve(question))
    return [
        {"role": "system", "content": instructions()},
        {"role": "user", "content": f"{passages}\n\n{question}\n(It is {now}.)"},
    ]


class Conversation:
    def __init__(self, client: openai.OpenAI) -> None:
        self.client = client
        self.turns: list[dict[str, Any]] = []
        self.trimmer = HistoryTrimmer(400, step=200, count=token_counter(MODEL))

    def request(self, question: str) -> list[dict[str, Any]]:
        self.turns.append({"role": "user", "content": question})
        self.turns = list(self.trimmer.trim(self.turns).messages)
        return [{"role": "system", "content": instructions()}, *self.turns]

    def answered(self, text: str) -> None:
        self.turns.append({"role": "assistant", "content": text})

    def reply(self, question: str) -> Iterator[str]:
        parts: list[str] = []
        stream = self.client.chat.completions.create(
            model=MODEL, messages=self.request(question), max_completion_tokens=300, stream=True
        )
        for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                parts.append(text)
                yield text
        self.answered("".join(parts))


async def reply_later(client: openai.AsyncOpenAI, question: str) -> AsyncIterator[str]:
    stream = await client.chat.completions.create(
        model=MODEL, messages=first_request(question), max_completion_tokens=300, stream=True
    )
    async for chunk in stream:
        if chunk.choices and (text := chunk.choices[0].delta.content):
            yield text


def summarize(client: anthropic.Anthropic, turns: Sequence[dict[str, Any]]) -> str:
    answer = client.messages.create(
        model=SUMMARY_MODEL,
        max_tokens=200,
        system=instructions(),
        messages=[*turns, {"role": "user", "content": "Sum the conversation up for a colleague."}],
    )
    return "".join(block.text for block in answer.content if block.type == "text")


def summarize_live(client: anthropic.Anthropic, turns: Sequence[dict[str, Any]]) -> Iterator[str]:
    asked = [*turns, {"role": "user", "content": "Sum the conversation up for a colleague."}]
    with client.messages.stream(model=SUMMARY_MODEL, max_tokens=200, system=instructions(), messages=asked) as stream:
        yield from stream.text_stream
