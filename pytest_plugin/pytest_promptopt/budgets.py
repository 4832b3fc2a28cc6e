"""A prompt as a test has it before it, against a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptopt.errors import TokenError
from promptopt.tokens import TokenCounter, token_counter
from promptopt.trim.messages import field, message_text, sent_texts


class PromptBudgetError(AssertionError):
    """A prompt is outside of its budget. The first line sums up, the others tell what it is made of."""


def assert_token_budget(prompt: object, max_tokens: int, model: str | None = None, encoding: str | None = None) -> None:
    """Fail where a prompt has more than `max_tokens` tokens.

    Args:
        prompt: a text; a message or a list of them, as mappings or as any SDK's objects; or a request: a mapping with
            `messages`, and perhaps `system`, `instructions` and `tools`.
        max_tokens: at least 1. Messages count with what frames them in OpenAI's chat requests.
        model: what the request calls it. Where its tokenizer, or how its provider frames messages, is not public,
            the count is an estimate, and the failure says so.
        encoding: `o200k_base` (the default), `cl100k_base` or the path of a `tokenizer.json`.

    Raises:
        PromptBudgetError: it is longer.
        ValueError: `max_tokens` is no positive number.
        TokenError: an unknown model or encoding, or something that is no prompt.
    """
    __tracebackhide__ = True
    _check_limit(max_tokens)
    counter = token_counter(model, encoding)
    sizes = _sizes(prompt, counter)
    total = sum(tokens for _, tokens in sizes)
    if total > max_tokens:
        framed = not isinstance(prompt, str)
        about = "about " if counter.estimate or (framed and counter.framing_estimate) else ""
        over = f"{total - max_tokens:,} over its budget of {max_tokens:,}"
        raise PromptBudgetError("\n".join([f"the prompt has {about}{total:,} tokens, {over}", *_table(sizes)]))


def _check_limit(max_tokens: object) -> None:
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens!r}: give a number of tokens, at least 1")


def _table(sizes: Sequence[tuple[str, int]]) -> list[str]:
    """The parts, the largest first."""
    ordered = sorted(sizes, key=lambda size: -size[1])
    names = max(len(name) for name, _ in sizes)
    width = max(len(f"{tokens:,}") for _, tokens in sizes)
    return [f"  {name:{names}}  {tokens:>{width},}" for name, tokens in ordered]


def _sizes(prompt: object, counter: TokenCounter) -> list[tuple[str, int]]:
    """What a prompt is made of, with tokens."""
    if isinstance(prompt, str):
        return [("text", counter.text(prompt))]
    if isinstance(prompt, Mapping) and "messages" in prompt:
        return _request(prompt, counter)
    return _messages(prompt if _is_list(prompt) else [prompt], counter)


def _request(request: Mapping[str, Any], counter: TokenCounter) -> list[tuple[str, int]]:
    tools = request.get("tools") or []
    system = [{"role": "system", "content": request[key]} for key in ("system", "instructions") if request.get(key)]
    sizes = _messages([*system, *request["messages"]], counter)
    return [*([("tools", counter.messages([], tools) - counter.framing.reply)] if tools else []), *sizes]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Mapping | bytes) and field(value, "content") is None


def _messages(messages: Any, counter: TokenCounter) -> list[tuple[str, int]]:
    sizes = []
    for index, message in enumerate(messages):
        as_mapping = _as_mapping(message, index)
        tokens = counter.messages([as_mapping]) - counter.framing.reply
        sizes.append((f"{index}: {as_mapping['role']}", tokens))
    return [*sizes, ("reply", counter.framing.reply)]


def _as_mapping(message: object, index: int) -> Mapping[str, Any]:
    """The message as a chat API takes it; an object of an SDK with the texts that it sends."""
    if isinstance(message, Mapping) and isinstance(message.get("role"), str):
        return message
    role = field(message, "role") or field(message, "type")
    if not role or not (message_text(message) or field(message, "tool_calls")):
        raise TokenError(f"message {index} is {type(message).__name__}: give text, or messages with role and content")
    role_text, *texts = sent_texts(message)
    return {"role": role_text, "content": texts}
