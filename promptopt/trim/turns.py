"""Which messages of a conversation stay or go together.

A *unit* is a run of messages that no cut may divide: a user message, or a model's response with the
results of all tools that it called. A *turn* is a user message and the units up to the next one. The
rules that providers check, as of 2026-12-01:

- Each tool call needs its result and each result its call, parallel ones too. OpenAI: "An assistant
  message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'", "No tool
  call found for function call output" (error texts of the Chat Completions and the Responses API).
  Anthropic: results stand in the message right after the call
  (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls).
- A reasoning item of the Responses API and the items that it led to need each other, so a response's items
  are one unit (https://cookbook.openai.com/examples/reasoning_function_calls).
- A conversation starts with a user message, after system messages: Anthropic ("first message must use
  the "user" role") and, as LangChain's `trim_messages` says, most others; OpenAI accepts any.
- A system message inside the conversation stands after a user message or tool result and is the last one
  or followed by the assistant
  (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from promptopt.trim.messages import MessageFacts, Role


@dataclass(slots=True)
class Unit:
    """Messages that stay or go together.

    Attributes:
        turn: number of the turn; None for system messages ahead of the conversation, -1 for what
            stands between them and the first user message.
        opens: whether it is the user message that opens the turn.
        members: indices of its messages.
        tokens: tokens of these messages.
        instructs: whether a system message is among them.
    """

    turn: int | None
    opens: bool = False
    members: list[int] = field(default_factory=list)
    tokens: int = 0
    instructs: bool = False


@dataclass(slots=True)
class Turns:
    """Units of a conversation that grows message by message; what was grouped stays grouped."""

    units: list[Unit] = field(default_factory=list)
    openers: dict[int, int] = field(default_factory=dict)
    _turn: int = -1
    _open_calls: set[str] = field(default_factory=set)
    _calls: set[str] = field(default_factory=set)
    _last: Role | None = None

    def add(self, index: int, facts: MessageFacts, tokens: int) -> int | None:
        """Put the next message into a unit.

        Args:
            index: its place in the conversation.
            facts: what it is.
            tokens: its length.

        Returns:
            The number of the unit; None for a tool result whose call is not in the unit before it.
        """
        if facts.role is Role.TOOL and not self._calls.intersection(facts.results):
            return None
        if self._starts_unit(facts):
            self._start(facts)
        unit = self.units[-1]
        unit.members.append(index)
        unit.tokens += tokens
        unit.instructs |= facts.role is Role.SYSTEM
        self._calls.update(facts.calls)
        self._open_calls.update(facts.calls)
        self._open_calls.difference_update(facts.results)
        if facts.role is not Role.SYSTEM:
            self._last = facts.role
        return len(self.units) - 1

    def opener(self, unit: int) -> int | None:
        """The unit that opens the turn of a unit, if there is one."""
        turn = self.units[unit].turn
        return None if turn is None else self.openers.get(turn)

    def _starts_unit(self, facts: MessageFacts) -> bool:
        match facts.role:
            case Role.SYSTEM:
                return self._last is None
            case Role.USER:
                return not self._open_calls
            case Role.ASSISTANT:
                answers = bool(self._calls.intersection(facts.results))
                waiting = self._open_calls and self._last is not Role.USER
                return not (answers or waiting or self._last is Role.ASSISTANT)
            case _:
                return False

    def _start(self, facts: MessageFacts) -> None:
        self._calls.clear()
        self._open_calls.clear()
        if facts.role is Role.USER:
            self._turn += 1
            self.openers[self._turn] = len(self.units)
        system = facts.role is Role.SYSTEM
        self.units.append(Unit(turn=None if system else self._turn, opens=facts.role is Role.USER))
