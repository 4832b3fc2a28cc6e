"""Calls through an interface: one call that may reach the same method of several classes.

A project with an adapter per provider sends one prompt through whichever is configured. The prompt is
told once, through the adapter that passes it on with the least change, and nothing is claimed about
the provider.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptopt.project.callers import Confidence
from promptopt.project.values import Parameter, Sequence, Splice, Value

if TYPE_CHECKING:
    from collections.abc import Sequence as Chain

    from promptopt.project.callers import Callers, CallSite
    from promptopt.project.requests import Slots
    from promptopt.project.values import Place, ScopeRef
    from promptopt.prompt import Prompt


class Interfaces:
    """Remembers which implementation stands for all at each call through an interface."""

    def __init__(self, callers: Callers) -> None:
        self.callers = callers
        self._chosen: dict[Place, ScopeRef] = {}

    def chooses(self, hop: CallSite, callee: ScopeRef) -> bool:
        """Whether a call is followed into this implementation: the first that asks."""
        if not self._is_open(hop, callee):
            return True
        return self._chosen.setdefault(hop.place, callee) == callee

    def widened(self, prompt: Prompt, hops: Chain[CallSite], callees: Chain[ScopeRef]) -> Prompt:
        """The prompt without a provider where another implementation may send it."""
        if not any(self._is_open(hop, callee) for hop, callee in zip(hops, callees, strict=True)):
            return prompt
        return replace(prompt, call=replace(prompt.call, provider=None, explicit_markers=False))

    def _is_open(self, hop: CallSite, callee: ScopeRef) -> bool:
        return hop.confidence < Confidence.EXACT and self.callers.implementations(callee) > 1


def passes_on(slots: Slots) -> bool:
    """Whether a request sends a parameter of its function as it is."""
    return not slots.system and (_is_parameter(slots.messages) or _is_parameter(slots.input))


def _is_parameter(value: Value | None) -> bool:
    if isinstance(value, Sequence) and len(value.items) == 1:
        only = value.items[0]
        value = only.value if isinstance(only, Splice) else None
    return isinstance(value, Parameter)
