"""A message whose whole content is one of several texts stands for as many prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptopt.prompt import Choice, Message, Parts, Prompt, flatten, text_length

MAX_VARIANTS: Final = 16

_SUBSTANTIAL: Final = 200
"""Characters of constant text from which an alternative counts as a prompt of its own."""


def variants(prompt: Prompt) -> Iterator[Prompt]:
    """The prompt once for each alternative of the first message that consists of alternatives, where at
    least two of them are substantial texts; else the prompt itself."""
    for index, message in enumerate(prompt.messages):
        if not isinstance(message, Message) or len(message.blocks) != 1:
            continue
        options = _options(message.blocks[0].parts)
        if options is None:
            continue
        for option in options[:MAX_VARIANTS]:
            block = replace(message.blocks[0], parts=option)
            messages = (*prompt.messages[:index], replace(message, blocks=(block,)), *prompt.messages[index + 1 :])
            yield replace(prompt, messages=messages)
        return
    yield prompt


def _options(parts: Parts) -> list[Parts] | None:
    """The text once for each substantial alternative of its first choice between several of them."""
    for index, part in enumerate(parts):
        if isinstance(part, Choice):
            options = [option for one in part.alternatives for option in _options(one) or [one]]
            substantial = [option for option in options if _size(option) >= _SUBSTANTIAL]
            if len(substantial) > 1:
                return [(*parts[:index], *option, *parts[index + 1 :]) for option in substantial]
    return None


def _size(parts: Parts) -> int:
    return text_length(tuple(flatten(parts)))
