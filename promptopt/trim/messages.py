"""What a conversation's messages are, whichever library they come from.

Messages are read by the names of their fields, as mappings or as objects, so that no SDK is imported:
OpenAI chat messages, items of OpenAI's Responses API, Anthropic messages with content blocks, LangChain
messages. `message_types.toml` lists what may stand in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from promptopt.errors import TrimError

_SHOWN_NAMES: Final = "user, assistant, tool, system, developer, or an item type such as function_call"


class Role(StrEnum):
    """Who speaks: TOOL stands for results of tool calls, SYSTEM for instructions and settings."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """One message: who speaks, the ids of the tool calls that it makes, the ids of those that it answers."""

    role: Role
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _MessageTypes:
    roles: Mapping[str, Role]
    call_items: Mapping[str, str]
    result_items: Mapping[str, str]
    call_blocks: Mapping[str, str]
    result_blocks: Mapping[str, str]


@cache
def _message_types() -> _MessageTypes:
    import tomllib  # noqa: PLC0415 (both cost a good part of what importing the trimmers does)
    from importlib.resources import files  # noqa: PLC0415

    table = tomllib.loads(files("promptopt.trim").joinpath("message_types.toml").read_text("utf-8"))
    return _MessageTypes(
        roles={name: Role(role) for role, names in table["roles"].items() for name in names},
        call_items=table["items"]["calls"],
        result_items=table["items"]["results"],
        call_blocks=table["blocks"]["calls"],
        result_blocks=table["blocks"]["results"],
    )


def read_message(message: object, index: int) -> MessageFacts:
    """The facts of one message.

    Args:
        message: a mapping or an object in one of the shapes above.
        index: its place in the conversation, for the error.

    Raises:
        TrimError: neither role nor type is known, or a tool result does not say which call it answers.
    """
    known = _message_types()
    name = _name(message)
    if name in known.call_items:
        return MessageFacts(Role.ASSISTANT, calls=_ids(message, known.call_items[name]))
    if name in known.result_items:
        results = _ids(message, known.result_items[name])
        return MessageFacts(Role.TOOL if results else Role.ASSISTANT, results=results)
    role = known.roles.get(name)
    if role is None:
        raise TrimError(f"message {index} has the unknown role or type {name!r}: expected {_SHOWN_NAMES}")
    if role is Role.TOOL:
        return MessageFacts(role, results=(_answered(message, index),))
    if role is Role.SYSTEM:
        return MessageFacts(role)
    blocks = tuple(_blocks(message))
    calls = (*_block_ids(blocks, known.call_blocks), *_listed_calls(message))
    results = _block_ids(blocks, known.result_blocks)
    if role is Role.USER and results:
        return MessageFacts(Role.TOOL, calls=(), results=results)
    return MessageFacts(role, calls=tuple(dict.fromkeys(calls)), results=results)


def message_text(message: object) -> str:
    """The words of a message: its content, or the output or arguments of a tool call, parts on lines of their own."""
    parts: list[str] = []
    for name in ("content", "output", "arguments", "summary"):
        parts.extend(_texts(field(message, name)))
    return "\n".join(parts)


def sent_texts(message: object) -> Iterator[str]:
    """All texts of a message that a provider counts: role, name, words, names and arguments of tool calls."""
    calls = (*(field(message, "tool_calls") or ()), *_blocks(message))
    yield _name(message)
    yield message_text(message)
    for part in (message, *calls, *(field(call, "function") for call in calls)):
        for name in ("name", "args", "input"):
            yield from _written(field(part, name))
        if part is not message:
            yield from _written(field(part, "arguments"))


def field(thing: object, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _name(message: object) -> str:
    name = field(message, "role") or field(message, "type")
    if name is None and field(message, "id"):
        return "item_reference"
    return str(getattr(name, "value", name))


def _ids(message: object, name: str) -> tuple[str, ...]:
    identifier = field(message, name)
    return () if identifier is None else (str(identifier),)


def _answered(message: object, index: int) -> str:
    """The call that a message of role `tool` answers; the legacy role `function` knows only a name."""
    identifier = field(message, "tool_call_id")
    if identifier is None and _name(message).lower().startswith("function"):
        identifier = _function_key(field(message, "name"))
    if identifier is None:
        raise TrimError(f"message {index} is a tool result without tool_call_id: which call does it answer?")
    return str(identifier)


def _listed_calls(message: object) -> Iterator[str]:
    for name in ("tool_calls", "invalid_tool_calls"):
        for call in field(message, name) or ():
            yield from _ids(call, "id")
    extra = field(message, "additional_kwargs") or {}
    legacy = field(message, "function_call") or field(extra, "function_call")
    if legacy:
        yield _function_key(field(legacy, "name"))


def _function_key(name: object) -> str:
    return f"function:{name}"


def _blocks(message: object) -> Iterator[object]:
    content = field(message, "content")
    if isinstance(content, Iterable) and not isinstance(content, str | bytes | Mapping):
        yield from content


def _block_ids(blocks: Iterable[object], kinds: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        str(identifier)
        for block in blocks
        if (name := kinds.get(str(field(block, "type")))) and (identifier := field(block, name)) is not None
    )


def _written(value: object) -> Iterator[str]:
    """A name as it is, arguments that are no text yet as the JSON that is sent."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        import json  # noqa: PLC0415 (not needed where a counter is given)

        yield json.dumps(value, ensure_ascii=False, default=str)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) or hasattr(value, "text") or hasattr(value, "content"):
        for name in ("text", "content"):
            yield from _texts(field(value, name))
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for part in value:
            yield from _texts(part)
