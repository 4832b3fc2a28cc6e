"""Tokens of chat messages and tools: their text, and what the provider's framing adds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from promptopt.errors import TokenError
from promptopt.tokens.models import Framing


def count_messages(messages: Sequence[Mapping[str, Any]], count: Callable[[str], int], framing: Framing) -> int:
    """Tokens of a request with these messages.

    Text of messages and their parts is counted, and names and arguments of tool calls; images, audio and
    files are not. An empty list costs what frames the reply.

    Args:
        messages: as chat APIs take them: `role`, `content` (text or a list of parts), perhaps `name`.
        count: tokens of a text.
        framing: what is added.

    Raises:
        TokenError: a message that is none.
    """
    return framing.reply + sum(_message(message, n, count, framing) for n, message in enumerate(messages))


def _message(message: Mapping[str, Any], number: int, count: Callable[[str], int], framing: Framing) -> int:
    if not _is_message(message):
        raise TokenError(f"message {number} has no role: give dictionaries with role and content")
    named = "name" in message
    return framing.message + named * framing.name + sum(map(count, _texts(message, number)))


def _is_message(message: object) -> bool:
    return isinstance(message, Mapping) and isinstance(message.get("role"), str)


def _texts(message: Mapping[str, Any], number: int) -> Iterator[str]:
    yield message["role"]
    if isinstance(message.get("name"), str):
        yield message["name"]
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence):
        yield from (part if isinstance(part, str) else part["text"] for part in content if _is_text(part))
    elif content is not None:
        raise TokenError(f"message {number}: content is {type(content).__name__}: give text or a list of parts")
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        yield from (function[key] for key in ("name", "arguments") if isinstance(function.get(key), str))


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str))


def count_tools(tools: Sequence[Mapping[str, Any]], count: Callable[[str], int], framing: Framing) -> int:
    """Tokens of tool definitions in a request; nested schemas count as the JSON that they are.

    Args:
        tools: OpenAI's form (`{"type": "function", "function": {...}}`, or flat) or Anthropic's (`input_schema`).
        count: tokens of a text.
        framing: what is added.
    """
    if not tools:
        return 0
    return framing.functions + sum(_tool(tool, count, framing) for tool in tools)


def _tool(tool: Mapping[str, Any], count: Callable[[str], int], framing: Framing) -> int:
    function = tool.get("function", tool)
    schema = function.get("parameters") or function.get("input_schema") or {}
    properties = schema.get("properties") or {}
    line = f"{function.get('name', '')}:{_sentence(function.get('description'))}"
    each = sum(_property(name, entry, count, framing) for name, entry in properties.items())
    return framing.function + count(line) + (framing.properties if properties else 0) + each


def _property(name: str, entry: Mapping[str, Any], count: Callable[[str], int], framing: Framing) -> int:
    kind = entry.get("type", "")
    line = f"{name}:{kind if isinstance(kind, str) else json.dumps(kind)}:{_sentence(entry.get('description'))}"
    choices = entry.get("enum") or ()
    tokens = framing.property + count(line) + (framing.enum if choices else 0)
    tokens += sum(framing.enum_item + count(str(choice)) for choice in choices)
    nested = {key: entry[key] for key in ("items", "properties", "anyOf", "allOf", "oneOf") if key in entry}
    return tokens + (count(json.dumps(nested, ensure_ascii=False)) if nested else 0)


def _sentence(text: object) -> str:
    """A description without its last full stop, as the published arithmetic has it."""
    return text.removesuffix(".") if isinstance(text, str) else ""
