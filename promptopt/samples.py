"""Sample values for what prompts are given at run time: read from a file, and put in the values' places."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from promptopt.errors import ConfigError
from promptopt.prompt import (
    Block,
    Choice,
    History,
    Interpolation,
    Message,
    Part,
    Parts,
    Prompt,
    Repeat,
    Segment,
    Text,
    Volatility,
)
from promptopt.source import Location

Samples = Mapping[str, Any]
"""Values by variable name or expression."""

_PARAMETER: Final = re.compile(r"(\w+): ")
_STEP: Final = re.compile(r"""\.?(\w+)|\[(?:"([^"]*)"|'([^']*)'|(\d+))\]""")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_MOST_PARTS: Final = 100_000
"""Parts that nested repetitions may amount to; what would be more stays one repetition of unknown length."""
_MISSING: Final = object()

CONVERSATION: Final = "history"
"""The sample for earlier turns, whatever holds them: a list of texts or messages."""


def read_samples(file: Path) -> Samples:
    """Sample values by variable name or expression.

    Raises:
        ConfigError: no such file, another format, not a table at the top, YAML without the package that reads it.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ConfigError(f"{file}: sample values are read from {', '.join(_READERS)} files")
    try:
        samples = reader(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: sample values cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: sample values cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(samples, dict):
        raise ConfigError(f"{file}: sample values must be a table: names of variables and a value for each")
    return {str(name): value for name, value in samples.items()}


def _yaml(text: str) -> object:
    if not find_spec("yaml"):
        raise ValueError("YAML needs the package PyYAML (extra `yaml`); JSON and TOML need none")
    import yaml  # noqa: PLC0415 (optional)

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("aliases (*name) are not followed: write the values out")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from error


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yaml": _yaml,
    ".yml": _yaml,
}


@dataclass(frozen=True, slots=True)
class Filler:
    """Puts samples in the place of values; with `stable`, only where the value is known to stay the same from
    user to user, so that the prefix keeps its end."""

    samples: Samples
    stable: bool = False

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt with samples for its values and its conversation."""
        if not self.samples:
            return prompt
        return replace(prompt, messages=tuple(new for message in prompt.messages for new in self._message(message)))

    def _message(self, message: Message | History) -> tuple[Message | History, ...]:
        if isinstance(message, Message):
            blocks = (replace(b, parts=self._parts(b.parts, self.samples, _MOST_PARTS)) for b in message.blocks)
            return (replace(message, blocks=tuple(blocks)),)
        turns = _sample_of(message.expression, self.samples)
        turns = self.samples.get(CONVERSATION) if turns is _MISSING else turns
        if self.stable or not isinstance(turns, list):
            return (message,)
        return tuple(Message("history", (Block((_text(_turn(turn), message.location),)),)) for turn in turns)

    def _parts(self, parts: Parts, samples: Samples, room: int) -> Parts:
        return tuple(new for part in parts for new in self._part(part, samples, room))

    def _part(self, part: Part, samples: Samples, room: int) -> Parts:
        if isinstance(part, Choice):
            return (replace(part, alternatives=tuple(self._parts(a, samples, room) for a in part.alternatives)),)
        if isinstance(part, Repeat):
            return self._repeat(part, samples, room)
        if not isinstance(part, Interpolation) or (self.stable and part.volatility >= Volatility.USER):
            return (part,)
        value = _sample_of(part.expression, samples)
        return (part,) if value is _MISSING else (_text(str(value), part.location),)

    def _repeat(self, part: Repeat, samples: Samples, room: int) -> Parts:
        elements = _MISSING if self.stable else _sample_of(part.over, samples)
        if not isinstance(elements, list) or len(elements) * len(part.body) > room:
            return (replace(part, body=self._parts(part.body, samples, room)),)
        left = room // max(len(elements), 1)
        named = _NAME.fullmatch(part.variable)
        scopes = ({**samples, part.variable: element} if named else samples for element in elements)
        return tuple(new for scope in scopes for new in self._parts(part.body, scope, left))


def _sample_of(expression: str, samples: Samples) -> Any:
    """The sample for an expression: under its own text, its variable's name, or a path into a sample
    (`user.name`, `passage["text"]`); `_MISSING` where there is none."""
    parameter = _PARAMETER.match(expression)
    wanted = parameter[1] if parameter else " ".join(expression.split())
    if wanted in samples:
        return samples[wanted]
    value: Any = samples
    place = 0
    while place < len(wanted):
        step = _STEP.match(wanted, place)
        key = next((group for group in step.groups() if group is not None), None) if step else None
        if step is None or not isinstance(value, dict) or key not in value:
            return _item(value, step) if step and step.end() == len(wanted) else _MISSING
        value, place = value[key], step.end()
    return value if wanted else _MISSING


def _item(value: Any, step: re.Match[str]) -> Any:
    """The element of a list that a last step such as `[0]` names."""
    number = step[4]
    return value[int(number)] if number and isinstance(value, list) and int(number) < len(value) else _MISSING


def _text(value: str, place: Location | None) -> Text:
    return Text(value, (Segment(0, len(value), place),) if place else ())


def _turn(turn: object) -> str:
    """The text of one earlier turn: a string, or a message's content."""
    content = turn.get("content", turn) if isinstance(turn, dict) else turn
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def names_in(prompt: Prompt) -> frozenset[str]:
    """What samples for the prompt may be called: its values' expressions, and the names in them."""
    expressions = {" ".join(expression.split()) for expression in _expressions(prompt)}
    return frozenset(expressions).union(*map(_NAME.findall, expressions))


def _expressions(prompt: Prompt) -> Iterator[str]:
    for message in prompt.messages:
        if isinstance(message, History):
            yield from (CONVERSATION, message.expression)
        else:
            yield from (expression for block in message.blocks for expression in _in_parts(block.parts))


def _in_parts(parts: Parts) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Repeat):
            yield part.over
            yield from _in_parts(part.body)
        elif isinstance(part, Choice):
            yield from (expression for alternative in part.alternatives for expression in _in_parts(alternative))
        elif isinstance(part, Interpolation):
            yield part.expression
