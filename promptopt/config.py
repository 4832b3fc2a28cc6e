"""Configuration: which project a run is about, and what its `pyproject.toml` or `promptopt.toml` says.

Keys are written in kebab-case under `[tool.promptopt]`, or at the top of `promptopt.toml`::

    select = ["ALL"]                        # codes, names, families, ALL
    extend-select = ["PO114"]
    ignore = ["unstable-order"]
    preview = false
    include = ["src/**/*.py"]               # gitignore patterns, relative to the file's folder
    exclude = ["src/vendored/"]
    model = "gpt-5"
    encoding = "o200k_base"
    per-file-ignores = {"tests/**" = ["cache"]}
    severity = {unstable-order = "error"}

    [tool.promptopt.budgets]                # by the name of a prompt, or a pattern
    "app/chat.py::reply" = 800              # tokens
    "prompts/" = {tokens = 2000, stable-prefix = 1500, growth = 10, samples = "tests/samples.json"}

    [tool.promptopt.rules.volatile-prefix]
    min-static-tokens = 512

    [[tool.promptopt.sources]]              # a function of the project whose result changes
    function = "app.clock.stamp"
    volatility = "call"                     # deployment process day user session request call
    kind = "time-of-day"                    # optional: an entry of the source catalogue
    label = "the stamp"                     # optional: its words for people

    [[tool.promptopt.sinks]]                # a function of the project that sends a prompt
    function = "app.llm.ask"                # dotted, or the bare name of a method
    prompt = "question"                     # argument that holds text or messages: name or position
    system = "instructions"                 # optional: argument that holds the system text
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from promptopt.errors import ConfigError
from promptopt.finding import Severity
from promptopt.prompt import Volatility

PYPROJECT: Final = "pyproject.toml"
STANDALONE: Final = "promptopt.toml"
NAME_MARK: Final = "::"
"""Between path and function in the name of a prompt."""

_VOLATILITIES: Final = {
    level.name.lower(): level for level in Volatility if level not in (Volatility.CONSTANT, Volatility.UNKNOWN)
}


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function of the project whose result changes; `function` is dotted (`app.clock.stamp`)."""

    function: str
    volatility: Volatility
    kind: str = "project-source"
    label: str = ""


@dataclass(frozen=True, slots=True)
class SinkFunction:
    """A function of the project that sends a prompt: dotted name, or the bare name of a method.

    `prompt` and `system` are arguments by name or by position (from 0, without `self`).
    """

    function: str
    prompt: str | int
    system: str | int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a prompt may be: at most `tokens`, of which at least `stable_prefix` stay the same at the beginning, and
    at most `growth` percent longer than in the lock file. `samples` names a file of values for its variables."""

    tokens: int | None = None
    stable_prefix: int | None = None
    growth: float | None = None
    samples: str | None = None

    def overridden_by(self, other: Budget) -> Budget:
        """This budget with what the other one says."""
        given = {one.name: value for one in fields(self) if (value := getattr(other, one.name)) is not None}
        return replace(self, **given)

    def limits(self) -> dict[str, int | float | str | None]:
        """The fields under the names that configuration gives them."""
        return {one.name.replace("_", "-"): getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True)
class Config:
    """What a run works with.

    `root` is the project's folder, `file` the configuration that was read, if any. `select` is None
    where nothing chooses rules (all stable ones). `rules` maps rule names to their option tables,
    keys as written.
    """

    root: Path
    file: Path | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    model: str | None = None
    encoding: str | None = None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    budgets: Mapping[str, Budget] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    sources: tuple[SourceFunction, ...] = ()
    sinks: tuple[SinkFunction, ...] = ()
    templates: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def patterns_root(self) -> Path:
        """Folder that patterns are relative to: that of the configuration where it is the root or above it."""
        return self.file.parent if self.file and self.root.is_relative_to(self.file.parent) else self.root


def load_config(paths: Sequence[Path], *, file: Path | None = None, isolated: bool = False) -> Config:
    """The project that `paths` belong to and its configuration.

    Args:
        paths: files and folders that are to be checked; they need not exist.
        file: configuration to read instead of the nearest one.
        isolated: ignore all configuration and projects: the root is the paths' common folder.

    Raises:
        ConfigError: a file that cannot be read, an unknown key, a value of the wrong type.
    """
    common = common_folder(paths)
    if isolated:
        return Config(root=common)
    root = find_root(common)
    found = (file, _table_of(file)) if file else _nearest_table(common)
    if found is None:
        return Config(root=root)
    path, table = found
    if table is None:
        raise ConfigError(f"{path}: no table [tool.promptopt]")
    return parse_config(table, root, absolute(path))


def common_folder(paths: Sequence[Path]) -> Path:
    """The deepest folder that holds all of `paths` (of none: the current one)."""
    places = [absolute(path) for path in paths] or [Path.cwd()]
    folders = [str(path if path.is_dir() else path.parent) for path in places]
    try:
        return Path(os.path.commonpath(folders))
    except ValueError as error:
        raise ConfigError(f"paths have no folder in common: {error}") from error


def absolute(path: Path) -> Path:
    """The path from the file system's root without `..`; symbolic links are left alone."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links out of the project)


def find_root(folder: Path) -> Path:
    """The nearest folder at or above `folder` with configuration or `.git`; itself where none has."""
    for candidate in (folder, *folder.parents):
        if any((candidate / name).exists() for name in (PYPROJECT, STANDALONE, ".git")):
            return candidate
    return folder


def _nearest_table(folder: Path) -> tuple[Path, dict[str, Any] | None] | None:
    """The nearest configuration up to the repository's root; projects without our table are passed by."""
    for candidate in (folder, *folder.parents):
        for name in (STANDALONE, PYPROJECT):
            path = candidate / name
            if path.is_file():
                table = _table_of(path)
                if table is not None:
                    return path, table
        if (candidate / ".git").exists():
            break
    return None


def _table_of(path: Path) -> dict[str, Any] | None:
    """Our table of a TOML file; None where a `pyproject.toml` has none."""
    try:
        document = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    if path.name != PYPROJECT and "tool" not in document:
        return document
    tool = document.get("tool", {})
    table = tool.get("promptopt") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.promptopt must be a table")
    return table


def parse_config(table: Mapping[str, Any], root: Path, file: Path) -> Config:
    """Configuration from a table; `file` is where it stands, for messages and patterns.

    Raises:
        ConfigError: an unknown key or a value of the wrong type.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            raise ConfigError(f"{file}: unknown key {key!r}{suggestion(key, _READERS)}")
        try:
            values[key.replace("-", "_")] = reader(value)
        except _WrongValueError as error:
            raise ConfigError(f"{file}: {key}{error}") from error
    return Config(root=root, file=file, **values)


class _WrongValueError(ValueError):
    """A value of the wrong type; the message goes on from the key: ` must be ...` or `.key must ...`."""


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _WrongValueError(" must be a string")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _WrongValueError(" must be true or false")
    return value


def _tokens(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _WrongValueError(" must be a number of tokens, at least 1")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongValueError(" must be a list of strings")
    return tuple(value)


def _patterns(value: object) -> tuple[str, ...]:
    """Gitignore patterns; what is none is refused here rather than where it is first matched."""
    patterns = _strings(value)
    for pattern in patterns:
        _check_pattern(pattern)
    return patterns


def _check_pattern(pattern: str) -> None:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (loaded only where there are patterns)

    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error) as error:
        raise _WrongValueError(f": {pattern!r} is not a gitignore pattern") from error


def _ignores_by_pattern(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    entries = _each(value, _strings)
    for pattern in entries:
        _check_pattern(pattern)
    return tuple(entries.items())


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _WrongValueError(" must be a table")
    return value


def _each(value: object, reader: Callable[[object], Any]) -> dict[str, Any]:
    result = {}
    for key, item in _table(value).items():
        try:
            result[key] = reader(item)
        except _WrongValueError as error:
            raise _WrongValueError(f".{key}{error}") from error
    return result


def _severity(value: object) -> Severity:
    try:
        return Severity.parse(_string(value))
    except _WrongValueError:
        raise
    except ValueError as error:
        raise _WrongValueError(f": {error}") from error


def _argument(value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _WrongValueError(" must be the name or the position of an argument")
    return value


def _volatility(value: object) -> Volatility:
    word = _string(value)
    if word not in _VOLATILITIES:
        raise _WrongValueError(f": unknown volatility {word!r}: use {', '.join(_VOLATILITIES)}")
    return _VOLATILITIES[word]


def _tables(
    value: object, fields: Mapping[str, Callable[[object], Any]], required: Sequence[str]
) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise _WrongValueError(" must be a list of tables")
    return [_entry(item, fields, required, number) for number, item in enumerate(value, 1)]


def _entry(
    value: object, fields: Mapping[str, Callable[[object], Any]], required: Sequence[str], number: int
) -> dict[str, Any]:
    entry = {}
    for key, item in _table(value).items():
        if key not in fields:
            raise _WrongValueError(f" (entry {number}): unknown key {key!r}{suggestion(key, fields)}")
        try:
            entry[key] = fields[key](item)
        except _WrongValueError as error:
            raise _WrongValueError(f" (entry {number}): {key}{error}") from error
    missing = [key for key in required if key not in entry]
    if missing:
        raise _WrongValueError(f" (entry {number}): {missing[0]!r} is missing")
    return entry


def _sources(value: object) -> tuple[SourceFunction, ...]:
    fields = {"function": _string, "volatility": _volatility, "kind": _string, "label": _string}
    return tuple(SourceFunction(**entry) for entry in _tables(value, fields, ("function", "volatility")))


def _sinks(value: object) -> tuple[SinkFunction, ...]:
    fields: dict[str, Callable[[object], Any]] = {"function": _string, "prompt": _argument, "system": _argument}
    return tuple(SinkFunction(**entry) for entry in _tables(value, fields, ("function", "prompt")))


def _percentage(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise _WrongValueError(" must be a percentage, at least 0")
    return float(value)


_LIMITS: Final[Mapping[str, Callable[[object], Any]]] = {
    "tokens": _tokens,
    "stable-prefix": _tokens,
    "growth": _percentage,
    "samples": _string,
}


def _budget(value: object) -> Budget:
    if not isinstance(value, dict):
        return Budget(_tokens(value))
    for key in value:
        if key not in _LIMITS:
            raise _WrongValueError(f": unknown key {key!r}{suggestion(key, _LIMITS)}")
    limits = {key: _each({key: item}, _LIMITS[key])[key] for key, item in value.items()}
    if not limits.keys() - {"samples"}:
        raise _WrongValueError(": no limit: give tokens, stable-prefix or growth")
    return Budget(**{key.replace("-", "_"): limit for key, limit in limits.items()})


def _budgets(value: object) -> dict[str, Budget]:
    budgets: dict[str, Budget] = _each(value, _budget)
    for key in budgets:
        if NAME_MARK not in key:
            _check_pattern(key)
    return budgets


def _templates(value: object) -> dict[str, Any]:
    """Options of Jinja's environment by the names that it gives them."""
    options: dict[str, Any] = {}
    for key, item in _table(value).items():
        if key not in _TEMPLATE_OPTIONS:
            raise _WrongValueError(f": unknown key {key!r}{suggestion(key, _TEMPLATE_OPTIONS)}")
        try:
            options[key.replace("-", "_")] = _TEMPLATE_OPTIONS[key](item)
        except _WrongValueError as error:
            raise _WrongValueError(f".{key}{error}") from error
    return options


_TEMPLATE_OPTIONS: Final[Mapping[str, Callable[[object], Any]]] = {
    "block-start-string": _string,
    "block-end-string": _string,
    "variable-start-string": _string,
    "variable-end-string": _string,
    "comment-start-string": _string,
    "comment-end-string": _string,
    "line-statement-prefix": _string,
    "line-comment-prefix": _string,
    "trim-blocks": _flag,
    "lstrip-blocks": _flag,
    "keep-trailing-newline": _flag,
}

_READERS: Final[Mapping[str, Callable[[object], Any]]] = {
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "preview": _flag,
    "include": _patterns,
    "exclude": _patterns,
    "force-exclude": _flag,
    "model": _string,
    "encoding": _string,
    "per-file-ignores": _ignores_by_pattern,
    "severity": lambda value: _each(value, _severity),
    "budgets": _budgets,
    "rules": lambda value: _each(value, _table),
    "sources": _sources,
    "sinks": _sinks,
    "templates": _templates,
}


def suggestion(word: str, known: Iterable[str]) -> str:
    """`: did you mean ...?` for the known word that looks most like `word`, else empty."""
    folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return f": did you mean {folded[close[0]]!r}?" if close else ""
