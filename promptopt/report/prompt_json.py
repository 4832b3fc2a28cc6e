"""Prompts with all their parts as a JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from promptopt.lint import Report
from promptopt.prompt import (
    Absent,
    Block,
    CacheMarker,
    Call,
    Cause,
    Choice,
    History,
    Interpolation,
    Media,
    Message,
    Part,
    Parts,
    Prompt,
    Repeat,
    Text,
    ToolList,
)
from promptopt.report.json_array import place
from promptopt.report.prompt_text import breaking_part, prompt_sizes
from promptopt.report.style import Style
from promptopt.source import Location


def prompts_as_json(prompts: Iterable[Prompt], report: Report, style: Style) -> str:
    """An array of prompts by name; tokens are counted with `encoding`, `estimate` where it is not the model's own."""
    writer = _Writer(report, style)
    return json.dumps([writer.prompt(p) for p in sorted(prompts, key=lambda p: p.name)], indent=2) + "\n"


class _Writer:
    """Turns the model's values into dictionaries; holds what places need to be written."""

    def __init__(self, report: Report, style: Style) -> None:
        self._report = report
        self._style = style

    def prompt(self, prompt: Prompt) -> dict[str, Any]:
        sizes = prompt_sizes(prompt)
        broken = breaking_part(prompt)
        return {
            "name": prompt.name,
            **place(prompt.location, self._report, self._style),
            "call": self._call(prompt.call),
            "tokens": sizes.total,
            "stable_prefix": {"proved": sizes.proved, "possible": sizes.possible},
            "encoding": sizes.encoding,
            "estimate": not sizes.exact,
            "breaks_at": self._history(broken)
            if isinstance(broken, History)
            else self._part(broken)
            if broken
            else None,
            "tools": self._tools(prompt.tools) if prompt.tools else None,
            "messages": [self._history(m) if isinstance(m, History) else self._message(m) for m in prompt.messages],
        }

    def _call(self, call: Call) -> dict[str, Any]:
        model = call.model.value if call.model else None
        return {
            "sdk": call.sdk,
            "endpoint": call.endpoint,
            "provider": call.provider,
            "model": None if isinstance(model, Absent) else model,
            **place(call.location, self._report, self._style),
        }

    def _tools(self, tools: ToolList) -> dict[str, Any]:
        return {
            "complete": tools.complete,
            "cause": self._cause(tools.cause) if tools.cause else None,
            "tools": [
                {"name": tool.name, "parts": self._parts(tool.parts), "marker": _marker(tool.marker)}
                for tool in tools.tools
            ],
        }

    def _message(self, message: Message) -> dict[str, Any]:
        blocks = [self._block(block) for block in message.blocks]
        return {"role": message.role, "certain": message.certain, "blocks": blocks}

    def _block(self, block: Block) -> dict[str, Any]:
        return {"parts": self._parts(block.parts), "marker": _marker(block.marker)}

    def _history(self, history: History) -> dict[str, Any]:
        return {
            "role": "history",
            "grows_in": history.grows_in,
            "bounds": list(history.bounds),
            "expression": history.expression,
            "known": history.known,
            "place": self._place(history.location),
        }

    def _parts(self, parts: Parts) -> list[dict[str, Any]]:
        return [self._part(part) for part in parts]

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "value": part.value}
        if isinstance(part, Interpolation):
            return self._interpolation(part)
        if isinstance(part, Choice):
            alternatives = [self._parts(alternative) for alternative in part.alternatives]
            return {"type": "choice", "condition": part.condition, "alternatives": alternatives}
        if isinstance(part, Repeat):
            body = self._parts(part.body)
            return {"type": "repeat", "over": part.over, "variable": part.variable, "body": body}
        return self._media(part)

    def _media(self, part: Media) -> dict[str, Any]:
        return {"type": "media", "kind": part.kind, "place": self._place(part.location)}

    def _interpolation(self, part: Interpolation) -> dict[str, Any]:
        return {
            "type": "interpolation",
            "expression": part.expression,
            "volatility": part.volatility.name.lower(),
            "causes": [self._cause(cause) for cause in part.causes],
            "place": self._place(part.location),
        }

    def _cause(self, cause: Cause) -> dict[str, Any]:
        return {
            "kind": cause.kind,
            "label": cause.label,
            "volatility": cause.volatility.name.lower(),
            "expression": cause.expression,
            "by_name": cause.by_name,
            "chain": [self._place(location) for location in cause.chain],
        }

    def _place(self, location: Location | None) -> dict[str, Any] | None:
        return place(location, self._report, self._style) if location else None


def _marker(marker: CacheMarker | None) -> dict[str, Any] | None:
    return {"ttl": marker.ttl} if marker else None
