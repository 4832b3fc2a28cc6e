"""Budgets: how many tokens prompts may have, how much of them must stay the same, how far they may grow.

A budget holds for a prompt by its name, or by a pattern for the file of prompts; a pattern also holds for text and
template files whose text a request sends. Growth is measured against `promptopt.lock`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from promptopt.config import Budget, Config
from promptopt.errors import ConfigError
from promptopt.lock import LockEntry, read_lock, write_lock
from promptopt.prompt import History, Interpolation, Media, Prompt, Text, stable_texts
from promptopt.source import Location, Span
from promptopt.tokens import Size, encoding_of, measure

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LOCK: Final = "promptopt.lock"

FlatPart: TypeAlias = Text | Interpolation | Media | History


@dataclass(frozen=True, slots=True)
class Breach:
    """What of a budget does not hold: in short, and in words that go on from the prompt's name."""

    summary: str
    detail: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A prompt, or a file of prompt text, with its size and its budget.

    `stable` are the proved tokens of its stable prefix, `open` the values whose length is not known: no sample was
    given for them, they count as nothing. `key` is the entry of the configuration that holds for it.
    """

    name: str
    location: Location
    size: Size
    stable: int
    encoding: str
    open: tuple[str, ...] = ()
    key: str | None = None
    budget: Budget | None = None
    locked: LockEntry | None = None

    @property
    def growth(self) -> int | None:
        """Tokens since the lock file was written; None where it has no such prompt, or counted otherwise."""
        comparable = self.locked is not None and self.locked.encoding == self.encoding
        return self.size.tokens - self.locked.tokens if self.locked and comparable else None

    def breaches(self) -> Iterator[Breach]:
        """What of its budget does not hold."""
        budget = self.budget or Budget()
        if budget.tokens is not None and self.size.tokens > budget.tokens:
            over = self.size.tokens - budget.tokens
            yield Breach("over budget", f"has {self.size} tokens, {over:,} over its budget of {budget.tokens:,}")
        if budget.stable_prefix is not None and self.stable < budget.stable_prefix:
            least = f"{budget.stable_prefix:,}"
            yield Breach(
                f"stable prefix below {least}",
                f"has a stable prefix of {self.stable:,} tokens; its budget asks for {least}",
            )
        growth = self.growth
        if budget.growth is not None and self.locked and growth and growth * 100 > self.locked.tokens * budget.growth:
            yield Breach(
                f"grew more than {budget.growth:g}%",
                f"grew by {growth:,} tokens since {LOCK}, more than {budget.growth:g}% of {self.locked.tokens:,}",
            )


class Budgets:
    """The budgets of a configuration, with their samples and the lock file."""

    def __init__(self, config: Config) -> None:
        """Raises `ConfigError` where samples or the lock file cannot be read."""
        self._config = config
        self._patterns = _patterns(config)
        self._samples = {
            key: read_samples(config.patterns_root / budget.samples) if budget.samples else {}
            for key, budget in config.budgets.items()
        }
        self._lock = read_lock(config.patterns_root / LOCK)
        relative = config.root.relative_to(config.patterns_root)
        self._prefix = "" if relative == Path() else relative.as_posix() + "/"

    def measure(self, prompts: Sequence[Prompt]) -> tuple[Measured, ...]:
        """Every prompt, and every file that a pattern names whose text is sent, by name."""
        found = {prompt.name: self._prompt(prompt) for prompt in prompts}
        for prompt in prompts:
            for path in dict.fromkeys(_text_files(prompt)):
                entry = self._file(prompt, path) if path not in found or found[path].key else None
                if entry and (path not in found or entry.size.tokens > found[path].size.tokens):
                    found[path] = entry
        return tuple(found[name] for name in sorted(found))

    def unmatched(self, measured: Iterable[Measured]) -> list[str]:
        """Entries of the configuration that hold for nothing."""
        used = {one.key for one in measured}
        return [key for key in self._config.budgets if key not in used]

    def update(self, measured: Iterable[Measured], files: Iterable[str]) -> int:
        """Write sizes to the lock file, and keep its entries of prompts outside of `files`; how many it has then.

        Raises:
            ConfigError: the lock file cannot be written.
        """
        looked_at = frozenset(files)
        kept = {name: entry for name, entry in self._lock.items() if self._outside(name, looked_at)}
        entries = kept | {one.name: LockEntry(one.size.tokens, one.stable, one.encoding) for one in measured}
        write_lock(self._config.patterns_root / LOCK, entries)
        return len(entries)

    def _outside(self, name: str, looked_at: frozenset[str]) -> bool:
        """Whether a prompt's file exists and was not looked at."""
        path = name.partition("::")[0]
        return path not in looked_at and (self._config.root / path).exists()

    def _prompt(self, prompt: Prompt) -> Measured:
        key = self._key(prompt.name, prompt.name.partition("::")[0])
        return self._measured(prompt.name, prompt.location, tuple(prompt.flatten()), prompt, key)

    def _file(self, prompt: Prompt, path: str) -> Measured | None:
        key = self._key(path, path)
        if key is None:
            return None
        return self._measured(path, Location(path, Span(0, 0)), tuple(_parts_in(prompt, path)), prompt, key)

    def _key(self, name: str, path: str) -> str | None:
        """The entry that holds: the name itself, else the last pattern that matches."""
        if name in self._config.budgets:
            return name
        matching = [key for key, spec in self._patterns.items() if _matches(key, spec, name, self._prefix + path)]
        return matching[-1] if matching else None

    def _measured(
        self, name: str, location: Location, parts: Sequence[FlatPart], prompt: Prompt, key: str | None
    ) -> Measured:
        samples = self._samples[key] if key else {}
        values = [_expression(part) for part in parts if not isinstance(part, Text)]
        texts = [part.value for part in parts if isinstance(part, Text)]
        size = measure([*texts, *(samples[value] for value in values if value in samples)], prompt.call)
        stable = measure(stable_texts(parts)[0], prompt.call).tokens
        return Measured(
            name,
            location,
            size,
            stable,
            encoding_of(prompt.call)[0],
            tuple(dict.fromkeys(value for value in values if value not in samples)),
            key,
            self._config.budgets[key] if key else None,
            self._lock.get(name),
        )


def _patterns(config: Config) -> dict[str, GitIgnoreSpec | None]:
    """The configuration's entries with a matcher of files; None for patterns of prompt names, which hold `::`."""
    if not config.budgets:
        return {}
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (loaded only where it is needed)

    return {key: None if "::" in key else GitIgnoreSpec.from_lines([key]) for key in config.budgets}


def _matches(key: str, spec: GitIgnoreSpec | None, name: str, path: str) -> bool:
    return spec.match_file(path) if spec else fnmatchcase(name, key)


def _text_files(prompt: Prompt) -> Iterator[str]:
    """Files other than Python that supply text or values of the prompt."""
    for part in prompt.flatten():
        places = [segment.location for segment in part.map] if isinstance(part, Text) else [part.location]
        yield from (place.path for place in places if place and not place.path.endswith((".py", ".pyi", ".pyw")))


def _parts_in(prompt: Prompt, path: str) -> Iterator[FlatPart]:
    """What of the prompt stands in a file."""
    for part in prompt.flatten():
        if isinstance(part, Text):
            inside = [segment for segment in part.map if segment.location.path == path]
            yield from (Text(part.value[one.offset : one.offset + one.length], (one,)) for one in inside)
        elif part.location and part.location.path == path:
            yield part


def _expression(part: Interpolation | Media | History) -> str:
    return part.kind if isinstance(part, Media) else part.expression


def read_samples(file: Path) -> Mapping[str, str]:
    """Values of variables by name, as text, from a JSON or YAML file.

    Raises:
        ConfigError: a file that cannot be read, is no such document or no mapping; YAML where PyYAML is missing.
    """
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: the samples cannot be read: {error}") from error
    values = _yaml(text, file) if file.suffix in (".yaml", ".yml") else _json(text, file)
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: samples must be a mapping from variables to values")
    return {str(name): value if isinstance(value, str) else str(value) for name, value in values.items()}


def _json(text: str, file: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: samples are not valid JSON: {error}") from error


def _yaml(text: str, file: Path) -> Any:
    try:
        import yaml  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise ConfigError(
            f"{file}: reading YAML needs PyYAML: pip install pyyaml, or write the samples as JSON"
        ) from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{file}: samples are not valid YAML: {' '.join(str(error).split())}") from error
