"""What a request sends, in cache order, whichever SDK or format it has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from promptopt.errors import TokenError
from promptopt.tokens import TokenCounter
from promptopt.trim.messages import MessageFacts, read_message
from promptopt.wire.formats import content_keys, request_paths
from promptopt.wire.plain import plain

_ROLES: Final = {"model": "assistant"}
"""Gemini's word for the assistant."""
_INSTRUCTIONS: Final = "system"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a request: a tool as JSON, a text of a message, or a digest of an image, sound or file."""

    label: str
    text: str
    media: str = ""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message: its role as it is sent, its texts in order, digests of what is no text, and what it calls."""

    role: str
    texts: tuple[str, ...]
    media: tuple[str, ...] = ()
    name: str | None = None
    source: Mapping[str, Any] | None = None

    def facts(self, index: int) -> MessageFacts:
        """Who speaks, and the ids of tool calls that it makes or answers.

        Raises:
            TrimError: neither role nor type is known.
        """
        return read_message(_with_known_blocks(self.source or {"role": self.role}, self.role), index)


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """What one request sends: tools, then messages, the system text first.

    Attributes:
        tools: definitions as they are sent.
        messages: in order.
        name: what it is called in failures, such as the template that it was rendered from.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    messages: tuple[SentMessage, ...] = ()
    name: str = ""
    is_text: bool = False

    def called(self, name: str) -> SentPrompt:
        """The same under another name."""
        return replace(self, name=name)

    def pieces(self) -> Iterator[Piece]:
        """All of it in cache order."""
        for index, tool in enumerate(self.tools):
            yield Piece(f"tool {index}: {_tool_name(tool)}", json.dumps(tool, ensure_ascii=False, default=str))
        for index, message in enumerate(self.messages):
            label = "text" if self.is_text else f"{index}: {message.role}"
            yield from (Piece(label, text) for text in message.texts)
            yield from (Piece(label, "", digest) for digest in message.media)

    def sizes(self, counter: TokenCounter) -> list[tuple[str, int]]:
        """Names and tokens of its parts, with what frames messages where it is more than a text."""
        if self.is_text:
            return [("text", sum(counter.text(text) for message in self.messages for text in message.texts))]
        tools = [_as_function(tool) for tool in self.tools]
        reply = counter.framing.reply
        sizes = [("tools", counter.messages([], tools) - reply)] if tools else []
        for index, message in enumerate(self.messages):
            sizes.append((f"{index}: {message.role}", counter.messages([_as_chat(message)]) - reply))
        return [*sizes, ("reply", reply)]

    def tokens(self, counter: TokenCounter) -> int:
        """All tokens of the request."""
        return sum(tokens for _, tokens in self.sizes(counter))


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A prompt with what else a request says of it: None where it does not say it."""

    prompt: SentPrompt
    model: str | None
    cap: int | None
    stream: bool


def read_prompt(value: object, name: str = "") -> SentPrompt:
    """What `value` sends.

    Args:
        value: a text; a message or several, as mappings or as any SDK's objects; or a request: a mapping or object
            with `messages`, `input` or `contents`, and perhaps system text and tools.
        name: what failures call it.

    Raises:
        TokenError: it is none of these.
    """
    if isinstance(value, str):
        return SentPrompt(messages=(SentMessage("text", (value,)),), name=name, is_text=True)
    if isinstance(value, bytes):
        raise TokenError("message 0 is bytes: give text, or messages with role and content")
    to_messages = getattr(type(value), "to_messages", None)
    value = to_messages(value) if callable(to_messages) else value
    if isinstance(value, Iterable) and _is_sequence(value):
        return SentPrompt(messages=tuple(_messages(value)), name=name)
    request = plain(value)
    if isinstance(request, Mapping) and not _names_speaker(request) and _first(request, "messages") is not None:
        return _request(request, name)
    return SentPrompt(messages=(_message(value, 0),), name=name)


def read_request(request: Mapping[str, Any], model: str | None = None, *, stream: bool = False) -> SentRequest:
    """A request's body, or the arguments of an SDK's method.

    Args:
        request: as it is sent.
        model: the model that its address names.
        stream: whether its address asks for a stream.

    Raises:
        TokenError: a message that is none.
    """
    body = plain(request)
    cap, named, streamed = (_first(body, what) for what in ("cap", "model", "stream"))
    return SentRequest(
        _request(body, ""),
        named if isinstance(named, str) else model,
        cap if isinstance(cap, int) and not isinstance(cap, bool) else None,
        stream or streamed is True,
    )


def _request(body: Mapping[str, Any], name: str) -> SentPrompt:
    tools = [one for tool in _listed(_first(body, "tools")) for one in _declared(tool)]
    system = _first(body, "system")
    instructions = (*_texts(system),)
    first = [SentMessage(_INSTRUCTIONS, instructions)] if instructions else []
    messages = _first(body, "messages")
    turns = [messages] if isinstance(messages, str) else _listed(messages)
    return SentPrompt(tuple(tools), (*first, *_messages(turns, bare="user")), name)


def _messages(values: Iterable[object], bare: str = "") -> Iterator[SentMessage]:
    for index, value in enumerate(values):
        yield SentMessage(bare, (value,)) if isinstance(value, str) and bare else _message(value, index)


def _message(value: object, index: int) -> SentMessage:
    message = plain(value)
    role = _speaker(message) if isinstance(message, Mapping) and _has_content(message) else None
    if role is None:
        raise TokenError(f"message {index} is {type(value).__name__}: give text, or messages with role and content")
    name = message.get("name")
    own = {key: member for key, member in message.items() if key != "name" or "arguments" in message}
    if _holds_calls(message.get("content")):
        own.pop("tool_calls", None)  # LangChain keeps Anthropic's calls in both places
    framed = isinstance(name, str) and bool(name) and "name" not in own
    return SentMessage(role, tuple(_texts(own)), tuple(_media(own)), name if framed else None, message)


def _has_content(message: Mapping[str, Any]) -> bool:
    keys = content_keys()
    return "role" in message or any(key in message for key in (*keys.text, *keys.written) if key != "name")


def _speaker(message: Mapping[str, Any]) -> str | None:
    for key in ("role", "type"):
        if isinstance(message.get(key), str):
            return str(message[key])
    return "user" if "parts" in message else None


def _names_speaker(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("role"), str) or isinstance(message.get("type"), str)


def _texts(value: object) -> Iterator[str]:
    """The texts that a model reads of a message or block, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)
    elif isinstance(value, Mapping):
        keys = content_keys()
        for key in keys.written:
            member = value.get(key)
            if isinstance(member, str):
                yield member
            elif isinstance(member, Mapping | list):
                yield json.dumps(member, ensure_ascii=False, default=str)
        for key in keys.text:
            yield from _texts(value.get(key))
        source = value.get("source")
        if isinstance(source, Mapping) and source.get("type") == "text":
            yield from _texts(source.get("data"))


def _media(value: object) -> Iterator[str]:
    """Digests of what is sent and is no text."""
    if isinstance(value, list):
        for element in value:
            yield from _media(element)
    elif isinstance(value, Mapping):
        keys = content_keys()
        for key in keys.media:
            if value.get(key) is not None:
                yield f"{key} {hashlib.sha256(repr(value[key]).encode()).hexdigest()[:12]}"
        for key in keys.text:
            yield from _media(value.get(key))


def _first(body: Mapping[str, Any], what: str) -> Any:
    for path in request_paths(what):
        value: Any = body
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _is_sequence(value: object) -> bool:
    return not isinstance(value, Mapping) and not hasattr(value, "model_dump")


def _declared(tool: object) -> Iterator[Mapping[str, Any]]:
    """The definitions in an entry of the tools: Gemini has several in one, Bedrock marks cache points among them."""
    if isinstance(tool, Mapping):
        nested = tool.get("functionDeclarations", tool.get("function_declarations"))
        if isinstance(nested, list):
            yield from (one for one in nested if isinstance(one, Mapping))
        elif tool and tool.keys() != {"cachePoint"}:
            yield tool


def _as_function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition with its schema where OpenAI and Anthropic have it."""
    inner = tool.get("toolSpec", tool.get("function", tool))
    schema = inner.get("inputSchema")
    nested = schema.get("json") if isinstance(schema, Mapping) else None
    return {**inner, "parameters": nested} if nested else inner


def _tool_name(tool: Mapping[str, Any]) -> str:
    return str(_as_function(tool).get("name") or tool.get("type") or "?")


def _as_chat(message: SentMessage) -> Mapping[str, Any]:
    chat: dict[str, Any] = {"role": message.role, "content": list(message.texts)}
    return {**chat, "name": message.name} if message.name else chat


def _blocks(content: object) -> Sequence[object]:
    return content if isinstance(content, list) else ()


def _holds_calls(content: object) -> bool:
    return any(isinstance(block, Mapping) and "input" in block and "name" in block for block in _blocks(content))


def _with_known_blocks(message: Mapping[str, Any], role: str) -> Mapping[str, Any]:
    """The message with Bedrock's and Gemini's tool calls and results in the words of Anthropic's."""
    keys = content_keys()
    blocks: list[Any] = []
    for block in (*_blocks(message.get("content")), *_blocks(message.get("parts"))):
        blocks.append(block)
        for names, kind, field in ((keys.calls, "tool_use", "id"), (keys.results, "tool_result", "tool_use_id")):
            inner = next((block[name] for name in names if isinstance(block, Mapping) and name in block), None)
            if isinstance(inner, Mapping):
                blocks[-1] = {"type": kind, field: next((inner[key] for key in keys.ids if key in inner), None)}
    known = {**message, "role": _ROLES.get(role, role)} if "role" in message or "parts" in message else message
    return {**known, "content": blocks} if blocks else known
