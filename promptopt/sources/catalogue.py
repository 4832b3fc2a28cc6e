"""The source catalogue: every file of volatility data as one value that answers look-ups.

Names of functions, attributes and annotations are dotted and resolved (`datetime.datetime.now`,
`builtins.input`); every look-up is a few dictionary accesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from promptopt.config import SourceFunction
from promptopt.errors import ConfigError
from promptopt.sources.directives import Resolution, strftime_resolution, token_resolution
from promptopt.sources.loading import SourceDataError, read_all
from promptopt.sources.schema import Narrowing, Source, SourceData
from promptopt.symbols import SymbolIndex, index_symbols

_SEPARATORS: Final = re.compile(r"[\s_$@-]+")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class _Conversions:
    """What members and formats of the kinds turn them into."""

    members: Mapping[tuple[str, str], str]
    formats: Mapping[tuple[str, str], str]
    tokens: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Passing:
    """The functions that keep what their inputs say."""

    functions: SymbolIndex[bool]
    methods: frozenset[str]
    ordering: SymbolIndex[bool]
    sizes: SymbolIndex[bool]
    size_methods: frozenset[str]
    lookups: frozenset[str]
    caching_decorators: SymbolIndex[bool]
    runners: SymbolIndex[bool]


@dataclass(frozen=True, slots=True)
class SourceCatalogue:
    """Where values that change come from, as the data files and the project's configuration say.

    `kinds` maps each kind to its entry.
    """

    kinds: Mapping[str, Source]
    _functions: SymbolIndex[Source]
    _attributes: SymbolIndex[Source]
    _annotations: SymbolIndex[Source]
    _names: Mapping[str, Source]
    _template_names: Mapping[str, Source]
    _members: Mapping[tuple[str, str], Source]
    _commands: Mapping[tuple[str, ...], Source]
    _conversions: _Conversions
    _passing: _Passing

    def function(self, dotted: str, positional: int | None = None) -> Source | None:
        """What calling `dotted` yields; with more than a few arguments some functions are no source.

        `time.localtime()` is the time of day, `time.localtime(stamp)` is not: pass the number of
        `positional` arguments where it is known. Methods of source attributes count
        (`os.environ.get`).
        """
        return self._functions.find(dotted, positional) or self._attributes.find_prefix(dotted)

    def attribute(self, dotted: str) -> Source | None:
        """What reading `dotted`, or a member of it, yields (`sys.argv`, `flask.request.args`)."""
        return self._attributes.find_prefix(dotted)

    def annotation(self, dotted: str) -> Source | None:
        """What a parameter annotated with `dotted` is."""
        return self._annotations.find(dotted)

    def name(self, identifier: str) -> Source | None:
        """What an unresolved parameter or variable of this name carries: a guess.

        Matched whole, whatever its case and style (`userName`, `USER_NAME`, `_user_name`).
        """
        return self._names.get(_normalised(identifier))

    def template_name(self, identifier: str) -> Source | None:
        """What a variable carries in a template that nothing in the project renders: a guess.

        Knows more than `name`: `{{ time }}` is the time of day, a parameter `time` may be any time.
        """
        key = _normalised(identifier)
        return self._template_names.get(key) or self._names.get(key)

    def member(self, base: str, attribute: str) -> Source | None:
        """What an attribute, key or method of an unresolved object yields: a guess.

        `base` may be dotted; then its last component counts. The object's own name is not asked:
        use `name` for that.
        """
        owner = _normalised(base.rpartition(".")[2])
        member = _normalised(attribute)
        exact = self._members.get((owner, member))
        of_owner = self._members.get((owner, "*"))
        if exact is None and of_owner is not None:
            return self.kinds[self.narrow(of_owner.kind, attribute)]
        return exact or self._members.get(("*", member))

    def command(self, words: Sequence[str] | str) -> Source | None:
        """What a command line prints, by its first words (`["git", "status", "--short"]`)."""
        line = tuple(words.split() if isinstance(words, str) else words)
        for length in range(len(line), 0, -1):
            if line[:length] in self._commands:
                return self._commands[line[:length]]
        return None

    def kind(self, kind: str) -> Source:
        """The entry of a kind.

        Raises:
            KeyError: there is no such kind.
        """
        return self.kinds[kind]

    def narrow(self, kind: str, member: str) -> str:
        """The kind that reading or calling `member` of a value leaves, the same where nothing is known."""
        return self._conversions.members.get((kind, member), kind)

    def takes_format(self, kind: str, member: str) -> bool:
        """Whether the first argument of the method `member` is a date format."""
        return (kind, member) in self._conversions.formats

    def formatted(self, kind: str, directives: str, member: str = "") -> str:
        """The kind that formatting a value leaves; `""` is a constant.

        `member` is the method that formats. `strftime` reads directives, `format` and `__format__` (a
        format specification, which changes nothing where it is empty) read Moment tokens where there
        is no directive. Without a method both are tried, and only doubled letters (`HH:mm`) are tokens.
        """
        to = self._conversions.formats.get((kind, member or "strftime"))
        if to is None or (member == "__format__" and not directives):
            return kind
        resolution = strftime_resolution(directives)
        if resolution is Resolution.NOTHING and ((kind, member) in self._conversions.tokens or not member):
            resolution = token_resolution(directives, doubled=not member)
        month = self.narrow(to, "month")
        return {Resolution.TIME: kind, Resolution.DAY: to, Resolution.MONTH: month, Resolution.NOTHING: ""}[resolution]

    def passes_function(self, dotted: str) -> bool:
        """Whether the result of the function changes just when an argument does."""
        return self._passing.functions.find(dotted) is not None or self.orders(dotted)

    def passes_method(self, name: str) -> bool:
        """Whether the result of a method of this name changes just when its object or an argument does."""
        return name in self._passing.methods

    def orders(self, dotted: str) -> bool:
        """Whether the function returns a fixed order whatever order it was given."""
        return self._passing.ordering.find(dotted) is not None

    def sizes(self, dotted: str) -> bool:
        """Whether the function, or the method of this bare name, returns a number or flag that no
        order of its input can change; the input's other volatility stays."""
        if "." not in dotted:
            return dotted in self._passing.size_methods
        return self._passing.sizes.find(dotted) is not None

    def looks_up(self, name: str) -> bool:
        """Whether a method of this name fetches one record by its key: it changes when the key does."""
        return name in self._passing.lookups

    def caching_decorator(self, dotted: str) -> bool:
        """Whether a function decorated so computes its value once per process and argument."""
        return self._passing.caching_decorators.find(dotted) is not None

    def runs_command(self, dotted: str) -> bool:
        """Whether the function runs the command line in its first argument and returns its output."""
        return self._passing.runners.find(dotted) is not None

    def with_project_sources(self, entries: Iterable[SourceFunction]) -> SourceCatalogue:
        """This catalogue with a project's own functions, which come before the shipped ones.

        A bare name stands for a function or method of that name anywhere. An entry that names a
        shipped kind takes its label where it gives none; one that says something else about the kind
        becomes a kind of its own.

        Raises:
            ConfigError: a function that is not a dotted name.
        """
        own = [_project_source(entry, self.kinds.get(entry.kind)) for entry in entries]
        return replace(
            self,
            kinds={**{source.kind: source for source in own}, **self.kinds},
            _functions=_symbols(own, "functions").merged(self._functions),
            _members={**self._members, **_members(own)},
        )


@cache
def load_sources() -> SourceCatalogue:
    """The catalogue of the files that ship with promptopt, read once per process.

    Raises:
        SourceDataError: a file is malformed, or two entries contradict each other.
    """
    return build_catalogue(read_all())


def build_catalogue(files: Mapping[str, SourceData]) -> SourceCatalogue:
    """Index source data by look-up; `files` maps file names to their content.

    Raises:
        SourceDataError: a kind, symbol, name or member that two entries claim, or a narrowing from or
            to a kind that no file defines.
    """
    sources = [source for file in files.values() for source in file.sources]
    _check_unique(files)
    _check_narrowings(files)
    return SourceCatalogue(
        kinds={source.kind: source for source in sources},
        _functions=_symbols(sources, "functions"),
        _attributes=_symbols(sources, "attributes"),
        _annotations=_symbols(sources, "annotations"),
        _names=_identifiers(sources, "names"),
        _template_names=_identifiers(sources, "template_names"),
        _members=_members(sources),
        _commands=_commands(sources),
        _conversions=_conversions([entry for file in files.values() for entry in file.narrowings]),
        _passing=_passing(files.values()),
    )


def _project_source(entry: SourceFunction, known: Source | None) -> Source:
    if not _DOTTED.fullmatch(entry.function):
        raise ConfigError(f"sources: {entry.function!r} is not a function such as app.clock.stamp")
    root, _, suffix = entry.function.partition(".")
    label = entry.label or (known.label if known else f"the result of {entry.function}()")
    is_known = known is not None and (label, entry.volatility) == (known.label, known.volatility)
    return Source(
        kind=entry.kind if is_known else f"{entry.kind}:{entry.function}",
        label=label,
        volatility=entry.volatility,
        functions=(f"{root}:{suffix}", f"*:{entry.function}") if suffix else (f"*:{root}",),
        members=() if suffix else (f"*.{root}",),
    )


def _symbols(sources: Iterable[Source], key: str) -> SymbolIndex[Source]:
    return index_symbols((pattern, source) for source in sources for pattern in getattr(source, key))


def _identifiers(sources: Iterable[Source], key: str) -> dict[str, Source]:
    return {_normalised(name): source for source in sources for name in getattr(source, key)}


def _members(sources: Iterable[Source]) -> dict[tuple[str, str], Source]:
    return {_member_key(member): source for source in sources for member in source.members}


def _member_key(member: str) -> tuple[str, str]:
    base, _, attribute = member.partition(".")
    return _normalised(base), _normalised(attribute)


def _commands(sources: Iterable[Source]) -> dict[tuple[str, ...], Source]:
    return {tuple(line.split()): source for source in sources for line in source.commands}


def _normalised(identifier: str) -> str:
    return _SEPARATORS.sub("", identifier).lower()


def _conversions(narrowings: Sequence[Narrowing]) -> _Conversions:
    return _Conversions(
        members={(entry.of, member): entry.to for entry in narrowings for member in entry.members},
        formats={(entry.of, member): entry.to for entry in narrowings for member in entry.formats},
        tokens=frozenset((entry.of, member) for entry in narrowings for member in entry.tokens),
    )


def _passing(files: Iterable[SourceData]) -> _Passing:
    passing = [file.passing for file in files]
    sizes = [pattern for entry in passing for pattern in entry.sizes]
    return _Passing(
        functions=_flags(pattern for entry in passing for pattern in entry.functions),
        methods=frozenset(name for entry in passing for name in entry.methods),
        ordering=_flags(pattern for entry in passing for pattern in entry.ordering),
        sizes=_flags(pattern for pattern in sizes if ":" in pattern),
        size_methods=frozenset(pattern for pattern in sizes if ":" not in pattern),
        lookups=frozenset(name for entry in passing for name in entry.lookups),
        caching_decorators=_flags(pattern for entry in passing for pattern in entry.caching_decorators),
        runners=_flags(pattern for entry in passing for pattern in entry.runners),
    )


def _flags(patterns: Iterable[str]) -> SymbolIndex[bool]:
    return index_symbols((pattern, True) for pattern in patterns)


def _check_unique(files: Mapping[str, SourceData]) -> None:
    owners: dict[tuple[str, object], str] = {}
    for file, content in files.items():
        for source in content.sources:
            for key, value, claim in _claims(source):
                if (key, claim) in owners:
                    owner = owners[key, claim]
                    raise SourceDataError(f"{file}: {source.kind}.{key}: {value!r} is claimed by {owner}")
                owners[key, claim] = f"{source.kind} in {file}"


def _claims(source: Source) -> Iterator[tuple[str, str, object]]:
    """What an entry claims for itself: the key, the value as written, the value as it is looked up."""
    yield "kind", source.kind, source.kind
    for key in ("functions", "attributes", "annotations", "commands"):
        yield from ((key, value, value) for value in getattr(source, key))
    for key in ("names", "template_names"):
        yield from ((key, name, _normalised(name)) for name in getattr(source, key))
    yield from (("members", member, _member_key(member)) for member in source.members)


def _check_narrowings(files: Mapping[str, SourceData]) -> None:
    kinds = {source.kind for content in files.values() for source in content.sources}
    for file, content in files.items():
        for n, entry in enumerate(content.narrowings):
            if entry.of not in kinds:
                raise SourceDataError(f"{file}: narrowings[{n}].of: no file defines the kind {entry.of!r}")
            if entry.to not in kinds:
                raise SourceDataError(f"{file}: narrowings[{n}].to: no file defines the kind {entry.to!r}")
