"""The one place from which the shop's code talks to OpenAI."""

from __future__ import annotations

import os
from typing import Any

from openai import OpenAI

MODEL = os.environ.get("SUPPORT_MODEL", "gpt-5")


class Assistant:
    def __init__(self) -> None:
        self._client = OpenAI(timeout=30, max_retries=2)

    def answer(self, instructions: str, messages: list[dict[str, Any]], **options: Any) -> str:
        completion = self._client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "system", "content": instructions}, *messages],
            max_completion_tokens=800,
            **options,
        )
        return completion.choices[0].message.content or ""
