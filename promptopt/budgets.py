"""Budgets: how many tokens prompts may have, how much of them must stay the same, how far they may grow.

A budget holds for a prompt by its name, or by a pattern for the file of prompts; a pattern also holds for text and
template files whose text a request sends. Growth is measured against `promptopt.lock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from promptopt.config import NAME_MARK, Budget, Config, suggestion
from promptopt.filling import CONVERSATION, Filler, names_in
from promptopt.lock import LockEntry, read_lock, write_lock
from promptopt.prompt import Call, History, Interpolation, Media, Prompt, Text, stable_texts
from promptopt.samples import Samples, read_samples
from promptopt.source import Location, Span
from promptopt.tokens import Size, encoding_of, measure, most_tokens

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
    """A prompt, or what a prompt takes from a file, with its budget; tokens are counted when they are asked for.

    `texts` are its constant text and samples, `proved` and `possible` those of its stable prefix, which differ where
    something on the way is unknown. `open` are the values whose length is not known: no sample was given for them,
    they count as nothing. `keys` are the entries of the configuration that hold for it.
    """

    name: str
    location: Location
    call: Call
    texts: tuple[str, ...]
    proved: tuple[str, ...]
    possible: tuple[str, ...]
    open: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    locked: LockEntry | None = None

    @property
    def size(self) -> Size:
        """Tokens of what is known to be sent."""
        return measure(self.texts, self.call)

    @property
    def stable(self) -> Size:
        """Tokens of the stable prefix, as far as it is proved."""
        return measure(self.proved, self.call)

    @property
    def stable_at_most(self) -> Size:
        """Tokens of the stable prefix if what is unknown stays the same."""
        return measure(self.possible, self.call)

    @property
    def encoding(self) -> str:
        """What it is counted with."""
        return encoding_of(self.call)[0]

    @property
    def growth(self) -> int | None:
        """Tokens since the lock file was written; None where it has no such prompt, or counted otherwise."""
        comparable = self.locked is not None and self.locked.encoding == self.encoding
        return self.size.tokens - self.locked.tokens if self.locked and comparable else None

    def breaches(self) -> Iterator[Breach]:
        """What of its budget does not hold, whatever the values are that are not known."""
        yield from self._length()
        yield from self._prefix()
        yield from self._growth()

    def doubts(self) -> Iterator[str]:
        """What of its budget cannot be judged."""
        least = self.budget.stable_prefix
        if least is not None and self.stable.tokens < least <= self.stable_at_most.tokens:
            yield f"stable prefix of {least:,} not proved"
        if self.budget.growth is not None and self.locked is None:
            yield f"not in {LOCK}"

    def _length(self) -> Iterator[Breach]:
        limit = self.budget.tokens
        if limit is None or sum(map(most_tokens, self.texts)) <= limit or self.size.tokens <= limit:
            return
        least = "at least " if self.open else ""
        over = f"{self.size.tokens - limit:,} over its budget of {limit:,}"
        yield Breach("over budget", f"has {least}{self.size} tokens, {over}")

    def _prefix(self) -> Iterator[Breach]:
        least = self.budget.stable_prefix
        if least is not None and self.stable_at_most.tokens < least:
            asked = f"its budget asks for {least:,}"
            yield Breach(
                f"stable prefix below {least:,}", f"has a stable prefix of {self.stable_at_most} tokens; {asked}"
            )

    def _growth(self) -> Iterator[Breach]:
        allowed = self.budget.growth
        growth = self.growth if allowed is not None else None
        if allowed is not None and self.locked and growth and growth * 100 > self.locked.tokens * allowed:
            yield Breach(
                f"grew more than {allowed:g}%",
                f"grew by {growth:,} tokens since {LOCK}, more than {allowed:g}% of {self.locked.tokens:,}",
            )


class Budgets:
    """The budgets of a configuration, with their samples and the lock file."""

    def __init__(self, config: Config) -> None:
        """Raises `ConfigError` where samples or the lock file cannot be read."""
        self._config = config
        self._patterns = _patterns(config)
        folder = config.file.parent if config.file else config.root
        files = {budget.samples for budget in config.budgets.values() if budget.samples}
        self._samples = {file: read_samples(folder / file) for file in files}
        self.lock_file = config.root / LOCK
        self._lock = read_lock(self.lock_file)
        relative = config.root.relative_to(config.patterns_root)
        self._prefix = "" if relative == Path() else relative.as_posix() + "/"

    def measure(self, prompts: Sequence[Prompt]) -> tuple[Measured, ...]:
        """Every prompt, and every file that a pattern names whose text is sent, by name."""
        found = {prompt.name: self._prompt(prompt) for prompt in prompts}
        for prompt in prompts if self._config.budgets else ():
            for path in dict.fromkeys(_text_files(prompt)):
                entry = self._file(prompt, path)
                if entry and (path not in found or _length(entry) > _length(found[path])):
                    found[path] = entry
        return tuple(found[name] for name in sorted(found))

    def idle(self, prompts: Sequence[Prompt]) -> Iterator[str]:
        """What of the configuration holds for none of a project's prompts, in words."""
        measured = self.measure(prompts)
        names = {one.name for one in measured} | {path for prompt in prompts for path in _text_files(prompt)}
        used = {key for one in measured for key in one.keys}
        for key in self._config.budgets:
            if key not in used:
                hint = suggestion(key, names)
                yield f"budgets: {key!r} matches no prompt and no file that a prompt is made of{hint}"
        for file, samples in sorted(self._samples.items()):
            using = {one.name for one in measured if one.budget.samples == file}
            values = {
                name
                for prompt in prompts
                if not using.isdisjoint((prompt.name, *_text_files(prompt)))
                for name in names_in(prompt)
            }
            for name in samples.keys() - values if using else ():
                yield f"{file}: no prompt has a value for the sample {name!r}{suggestion(name, values)}"

    def stale(self, known: Iterable[Measured], files: Iterable[str]) -> list[str]:
        """Entries of the lock file about `files`, or files that are gone, that are no prompt any more."""
        names, looked_at = {one.name for one in known}, frozenset(files)
        return [name for name in self._lock if name not in names and not self._outside(name, looked_at)]

    def update(self, measured: Iterable[Measured], files: Iterable[str]) -> int:
        """Write sizes to the lock file, and keep its entries of prompts outside of `files`; how many it has then.

        Raises:
            ConfigError: the lock file cannot be written.
        """
        looked_at = frozenset(files)
        kept = {name: entry for name, entry in self._lock.items() if self._outside(name, looked_at)}
        entries = kept | {one.name: LockEntry(one.size.tokens, one.stable.tokens, one.encoding) for one in measured}
        write_lock(self.lock_file, entries)
        return len(entries)

    def samples_for(self, path: str) -> Samples:
        """The sample values that the configuration has for a file of prompts, relative to the project's root."""
        return self._samples_of(self._budget(self._keys(path, path)))

    def _outside(self, name: str, looked_at: frozenset[str]) -> bool:
        """Whether a prompt's file exists and was not looked at."""
        path = name.partition(NAME_MARK)[0]
        return path not in looked_at and (self._config.root / path).exists()

    def _prompt(self, prompt: Prompt) -> Measured:
        keys = self._keys(prompt.name, prompt.name.partition(NAME_MARK)[0])
        return self._measured(prompt, prompt.name, prompt.location, keys)

    def _file(self, prompt: Prompt, path: str) -> Measured | None:
        keys = self._keys(path, path)
        return self._measured(prompt, path, Location(path, Span(0, 0)), keys, path) if keys else None

    def _keys(self, name: str, path: str) -> tuple[str, ...]:
        """The entries that hold, the weakest first: patterns in their order, then the name itself."""
        patterns = [key for key, spec in self._patterns.items() if _matches(key, spec, name, self._prefix + path)]
        return (*(key for key in patterns if key != name), *((name,) if name in self._config.budgets else ()))

    def _budget(self, keys: Iterable[str]) -> Budget:
        budget = Budget()
        for key in keys:
            budget = budget.overridden_by(self._config.budgets[key])
        return budget

    def _samples_of(self, budget: Budget) -> Samples:
        return self._samples[budget.samples] if budget.samples else {}

    def _measured(
        self, prompt: Prompt, name: str, location: Location, keys: tuple[str, ...], path: str | None = None
    ) -> Measured:
        """The prompt, or what of it stands in the file `path`."""
        budget = self._budget(keys)
        samples = self._samples_of(budget)
        parts = _parts(Filler(samples).prompt(prompt), path)
        proved, possible = stable_texts(_parts(Filler(samples, stable=True).prompt(prompt), path))
        return Measured(
            name,
            location,
            prompt.call,
            tuple(part.value for part in parts if isinstance(part, Text)),
            tuple(proved),
            tuple(possible),
            tuple(dict.fromkeys(_expression(part) for part in parts if not isinstance(part, Text))),
            keys,
            budget,
            self._lock.get(name),
        )


def _patterns(config: Config) -> dict[str, GitIgnoreSpec | None]:
    """The configuration's entries with a matcher of files; None for patterns of prompt names, which hold `::`."""
    if not config.budgets:
        return {}
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (loaded only where it is needed)

    return {key: None if NAME_MARK in key else GitIgnoreSpec.from_lines([key]) for key in config.budgets}


def _matches(key: str, spec: GitIgnoreSpec | None, name: str, path: str) -> bool:
    return spec.match_file(path) if spec else fnmatchcase(name, key)


def _length(one: Measured) -> int:
    return sum(map(len, one.texts))


def _text_files(prompt: Prompt) -> Iterator[str]:
    """Files other than Python that supply text or values of the prompt."""
    for part in prompt.flatten():
        places = [segment.location for segment in part.map] if isinstance(part, Text) else [part.location]
        yield from (place.path for place in places if place and not place.path.endswith((".py", ".pyi", ".pyw")))


def _parts(prompt: Prompt, path: str | None) -> list[FlatPart]:
    return list(prompt.flatten() if path is None else _parts_in(prompt, path))


def _parts_in(prompt: Prompt, path: str) -> Iterator[FlatPart]:
    """What of the prompt stands in a file."""
    for part in prompt.flatten():
        if isinstance(part, Text):
            inside = [segment for segment in part.map if segment.location.path == path]
            yield from (Text(part.value[one.offset : one.offset + one.length], (one,)) for one in inside)
        elif part.location and part.location.path == path:
            yield part


def _expression(part: Interpolation | Media | History) -> str:
    if isinstance(part, Media):
        return part.kind
    return part.expression or (CONVERSATION if isinstance(part, History) else part.cause.label if part.cause else "?")
