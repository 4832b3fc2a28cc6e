"""Sample values for what prompts are given at run time: read from a file, found by expression."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from promptopt.errors import ConfigError

Samples = Mapping[str, Any]
"""Values by variable name or expression."""

MISSING: Final = object()
"""What is found where there is no sample."""

_PARAMETER: Final = re.compile(r"(\w+): ")
_COMPREHENSION: Final = re.compile(r"[(\[{](.+?) for .+ in .+[)\]}]")
_STEP: Final = re.compile(
    r"""\.?(?P<name>[^\W\d]\w*)|\[(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')\]"""
    r"""|\[(?P<index>-?\d+)\]|\[(?P<start>-?\d*):(?P<stop>-?\d*)\]"""
)
_WRAPPED: Final = re.compile(r"(?P<how>enumerate|list|reversed|sorted|tuple)\((?P<inner>.+)\)")
_MEMBERS: Final = re.compile(r"(?P<inner>.+)\.(?P<how>items|keys|values)\(\)")


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


def sample_of(expression: str, samples: Samples) -> Any:
    """The sample for an expression: under its own text, its variable's name, or a path into another sample
    (`user.name`, `passage["text"]`, `passages[:5]`); of a comprehension that for its element. `MISSING` where there
    is none."""
    parameter = _PARAMETER.match(expression)
    wanted = parameter[1] if parameter else " ".join(expression.split())
    if wanted in samples:
        return samples[wanted]
    if comprehension := _COMPREHENSION.fullmatch(wanted):
        return sample_of(comprehension[1], samples)
    value: Any = dict(samples) if wanted else MISSING
    place = 0
    while place < len(wanted) and value is not MISSING:
        step = _STEP.match(wanted, place)
        value = _inside(value, step) if step else MISSING
        place = step.end() if step else place
    return value


def _inside(value: Any, step: re.Match[str]) -> Any:
    """What one step of a path leads to."""
    if isinstance(value, dict):
        key = step["name"] or step["double"] or step["single"]
        return value.get(key, MISSING)
    if not isinstance(value, list):
        return MISSING
    if step["index"]:
        return value[int(step["index"])] if -len(value) <= int(step["index"]) < len(value) else MISSING
    start, stop = (int(bound) if bound else None for bound in (step["start"], step["stop"]))
    return MISSING if step["start"] is None else value[start:stop]


def rounds(over: str, variable: str, samples: Samples) -> list[Samples] | None:
    """The samples as each round of a loop sees them, with a value for its variable and Jinja's `loop`; None where
    there is no sample for what it runs over."""
    elements = _elements(" ".join(over.split()), samples)
    if elements is None:
        return None
    names = [name.strip() for name in variable.strip("()").split(",")]
    last = len(elements) - 1
    return [
        {**samples, "loop": {"index": n + 1, "index0": n, "length": last + 1}, **_bound(names, element)}
        for n, element in enumerate(elements)
    ]


def _elements(over: str, samples: Samples) -> list[Any] | None:
    wrapped = _WRAPPED.fullmatch(over)
    if wrapped and over not in samples:
        inner = _elements(wrapped["inner"], samples) or _elements(wrapped["inner"].partition(", ")[0], samples)
        return [list(pair) for pair in enumerate(inner)] if inner and wrapped["how"] == "enumerate" else inner
    members = _MEMBERS.fullmatch(over)
    value = sample_of(members["inner"] if members else over, samples)
    if members and isinstance(value, dict):
        return [list(pair) for pair in value.items()] if members["how"] == "items" else list(_members(value, members))
    return list(value) if isinstance(value, list | dict) else None


def _members(value: dict[str, Any], members: re.Match[str]) -> Iterator[Any]:
    return iter(value.values() if members["how"] == "values" else value)


def _bound(names: list[str], element: Any) -> dict[str, Any]:
    """The loop's variables with their values; none where the element is of another shape."""
    if len(names) == 1:
        return {names[0]: element}
    fits = isinstance(element, list) and len(element) == len(names)
    return dict(zip(names, element, strict=True)) if fits else {}
