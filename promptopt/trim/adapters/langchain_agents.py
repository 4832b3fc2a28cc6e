"""LangChain's agents: middleware that bounds what each call of the model is sent. Needs langchain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest

from promptopt.trim.history import HistoryTrimmer


class HistoryMiddleware(AgentMiddleware):
    """Trims the conversation ahead of each call of an agent's model.

    The agent's state keeps the whole conversation, as `HistoryTrimmer` needs it: only what is sent is
    shorter, and between two cuts it begins with what was sent before.

    Args:
        trimmer: what trims. Its budget covers the system prompt; tools come on top.
    """

    def __init__(self, trimmer: HistoryTrimmer) -> None:
        super().__init__()
        self.trimmer = trimmer

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Call the model with what is left of the conversation."""
        return handler(_with_messages(request, self.trimmer.trim(_messages(request)).messages))

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        """As `wrap_model_call`."""
        trimmed = await self.trimmer.atrim(_messages(request))
        return await handler(_with_messages(request, trimmed.messages))


def _messages(request: ModelRequest) -> list[Any]:
    return [*filter(None, [request.system_message]), *request.messages]


def _with_messages(request: ModelRequest, messages: list[Any]) -> ModelRequest:
    kept = [message for message in messages if message is not request.system_message]
    system = request.system_message if len(kept) < len(messages) else None
    return request.override(messages=kept, system_message=system)
