"""What a file of volatility sources says: where values that change come from.

Symbol patterns are those of `promptopt.sdks.schema`: `root:suffix`. Builtins have the root
`builtins`, a last component `*` stands for any name, and `/n` after a function says that it counts
only when it is called with at most n positional arguments (`time:localtime/0`).
"""

from __future__ import annotations

from dataclasses import dataclass

from promptopt.prompt import Volatility


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of value that changes.

    `functions` are symbols whose call yields it, `attributes` symbols whose mere reading yields it
    (`sys.argv`, `flask:request`). `names` are identifiers of parameters and otherwise unresolved
    variables, fields or template variables that carry it (`question`, `user_id`), matched whole and
    without case. `members` are `base.attribute` pairs for unresolved objects, `*` allowed on either
    side (`user.*`, `*.email`). `annotations` are symbols: a parameter annotated with one is it.
    `template_names` are identifiers that carry it only as variables of a template that nothing in the
    project renders (`time`); `commands` are the first words of command lines that print it
    (`git status`).
    """

    kind: str
    label: str
    volatility: Volatility
    functions: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    template_names: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How reading a member of a value of kind `of` turns it into another kind.

    `members` are attributes or methods (`year`, `date`); `to` the resulting kind. Members that no
    narrowing names return the same kind (`astimezone`).
    `formats` are methods whose first argument holds strftime directives, which decide; those of them
    that are also `tokens` read an argument without directives as Moment tokens (`YYYY-MM-DD HH:mm`).
    """

    of: str
    to: str
    members: tuple[str, ...]
    formats: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passing:
    """Functions and methods that keep what their inputs say: the result changes when an input does.

    `functions` are symbols (`builtins:str`, `json:dumps`), `methods` names of methods on text and
    collections (`strip`, `upper`). `ordering` ones return a fixed order whatever they were given
    (`builtins:sorted`). `sizes` reduce to a number or a flag, which no order can change; those without
    a root are methods. `lookups` are methods that fetch one record by its key. `runners` return what
    the command line in their first argument prints.
    """

    functions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    caching_decorators: tuple[str, ...] = ()
    """Decorators under which a function's value is computed once per process (`functools:lru_cache`)."""
    runners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """Where the symbols of one third-party package were looked up.

    `package` is the distribution, `roots` the import roots that it accounts for, `source` the files
    read, `date` an ISO date.
    """

    package: str
    roots: tuple[str, ...]
    version: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class SourceData:
    """One TOML file; each kind has one entry in all files together."""

    sources: tuple[Source, ...] = ()
    narrowings: tuple[Narrowing, ...] = ()
    passing: Passing = Passing()
    references: tuple[Reference, ...] = ()
