"""Rules: the base class, what a rule is given, the registry, selection and documentation.

A rule is one file with one class. Packs register a package under the entry-point group
`promptopt.rules`; the folder that holds a rule's file is its family.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import metadata
from types import ModuleType, UnionType
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from promptopt.config import Config, suggestion
from promptopt.errors import ConfigError, RulePackError
from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Call
from promptopt.source import Location, SourceFile

ENTRY_POINT_GROUP: Final = "promptopt.rules"
DISTRIBUTION: Final = "promptopt-toolkit"
ALL: Final = "ALL"

SubjectT = TypeVar("SubjectT")


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Options of a rule that has none."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule may look at besides its subject.

    `options` is an instance of the rule's `Options`; `sources` holds every file that was read, by
    path relative to the project's root.
    """

    options: Any
    sources: Mapping[str, SourceFile]

    def source(self, path: str) -> SourceFile:
        """The file; raises `KeyError` for one that was not read."""
        return self.sources[path]

    def text(self, location: Location) -> str:
        """The source text of a place."""
        return self.sources[location.path][location.span]


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that could not be read (`unreadable`) or parsed (`syntax`); `reason` says why."""

    kind: Literal["unreadable", "syntax"]
    location: Location
    reason: str


class Rule(Generic[SubjectT]):
    """Base class of rules.

    `subject` decides what `check` is given: every value of that type that the run comes across
    (`Prompt`, `Call`, ...). `Options`, where a rule has some, is a nested frozen dataclass whose
    fields have defaults and a `help` entry in their metadata; in configuration `min_tokens` is
    written `min-tokens`. The docstring is the documentation: a summary line, then `##` sections (see
    `SECTIONS`). `level` is the severity of main findings, as configured.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str]
    preview: ClassVar[bool] = False
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Any] | UnionType]
    Options: ClassVar[type[Any]] = NoOptions

    def __init__(self, level: Severity | None = None) -> None:
        self.level = self.severity if level is None else level

    def check(self, subject: SubjectT, context: RuleContext) -> Iterator[Finding]:
        """Yield what is wrong with `subject`."""
        raise NotImplementedError

    def finding(
        self,
        message: object,
        location: Location,
        *,
        severity: Severity | None = None,
        prompt: str | None = None,
        subject: str = "",
        related: Iterable[Related] = (),
        remedies: Iterable[Remedy] = (),
        group: str = "",
    ) -> Finding:
        """A finding of this rule; fields as in `Finding`, `message` being its wording.

        `severity` is given for milder variants only: the rule's own one is replaced by the
        configured level.
        """
        main = severity is None or severity is self.severity
        return Finding(
            self.code,
            self.name,
            self.level if main or severity is None else severity,
            message,
            location,
            prompt,
            subject,
            tuple(related),
            tuple(remedies),
            group=group,
        )

    @classmethod
    def family(cls) -> str:
        """Name of the folder that holds the rule's file."""
        return cls.__module__.split(".")[-2] if "." in cls.__module__ else cls.__module__


AnyRule = Rule[Any]


def sent_by(call: Call, place: Location) -> tuple[Related, ...]:
    """The call that sends a prompt, or renders a template that nothing is seen to send, unless it stands at `place` or
    there is none."""
    if call.location == place or (not call.sent and call.location.span.end == 0):
        return ()
    return (Related("sent by this call" if call.sent else "rendered by this call", call.location),)


SECTIONS: Final = (
    "What it finds",
    "Why it is slow",
    "Example",
    "Use instead",
    "Silent on",
    "Options",
    "Fix safety",
    "References",
)
MANDATORY_SECTIONS: Final = SECTIONS[:5]
_FENCE = re.compile(r"^(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Documentation:
    """A rule's docstring: the line that sums it up and the text of each `##` section."""

    summary: str
    sections: Mapping[str, str] = field(default_factory=dict)


def documentation(rule: type[AnyRule]) -> Documentation:
    """The rule's docstring, taken apart at its `##` headings."""
    summary: list[str] = []
    sections: dict[str, list[str]] = {}
    current, fence = summary, ""
    for line in inspect.cleandoc(rule.__doc__ or "").splitlines():
        mark = _FENCE.match(line.lstrip())
        if mark and (not fence or mark.group().startswith(fence)):
            fence = "" if fence else mark.group()
        if not fence and line.startswith("## "):
            current = sections.setdefault(line[3:].strip(), [])
            continue
        current.append(line)
    texts = {title: "\n".join(lines).strip("\n") for title, lines in sections.items()}
    return Documentation("\n".join(summary).strip(), texts)


def documentation_faults(rule: type[AnyRule]) -> list[str]:
    """What a rule's docstring lacks; empty for a complete one."""
    found = documentation(rule)
    wanted = list(MANDATORY_SECTIONS)
    wanted += ["Options"] if rule.Options is not NoOptions else []
    wanted += ["Fix safety"] if rule.fix is not None else []
    faults = [f"no section {title!r}" for title in wanted if not found.sections.get(title, "").strip()]
    faults += [f"unknown section {title!r}" for title in found.sections if title not in SECTIONS]
    return faults if found.summary else ["no summary line", *faults]


def load_rules() -> tuple[type[AnyRule], ...]:
    """Every rule of every installed pack, by code.

    Raises:
        RulePackError: no pack is installed, one cannot be imported or holds no rule, a code or name
            is taken twice, or another project's `promptopt` is installed beside this one.
    """
    refuse_foreign_distribution()
    packs = sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: (entry.name, entry.value))
    if not packs:
        raise RulePackError(f"no rule pack is installed (entry points {ENTRY_POINT_GROUP}): reinstall {DISTRIBUTION}")
    rules: dict[str, type[AnyRule]] = {}
    for module in dict.fromkeys(entry.value for entry in packs):
        for rule in collect_rules(module):
            _register(rule, rules)
    return tuple(rules[code] for code in sorted(rules))


def refuse_foreign_distribution() -> None:
    """Raise `RulePackError` where another project that also installs `promptopt` is present."""
    try:
        foreign = metadata.distribution("promptopt")
    except metadata.PackageNotFoundError:
        return
    raise RulePackError(
        f"another project's distribution 'promptopt' {foreign.version} is installed and overwrites this one: "
        f"pip uninstall promptopt, then pip install --force-reinstall {DISTRIBUTION}"
    )


def collect_rules(pack: str) -> list[type[AnyRule]]:
    """Rule classes defined in the module or package `pack` and everything below it.

    Raises:
        RulePackError: the pack cannot be imported or defines no rule.
    """
    rules = [rule for module in _modules(pack) for rule in _defined_in(module)]
    if not rules:
        raise RulePackError(f"rule pack {pack!r} defines no rule")
    return rules


def _modules(pack: str) -> Iterator[ModuleType]:
    pending = [pack]
    while pending:
        name = pending.pop(0)
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise RulePackError(f"rule pack {pack!r} cannot be imported: {name}: {_one_line(error)}") from error
        yield module
        if hasattr(module, "__path__"):
            pending += sorted(found.name for found in pkgutil.iter_modules(module.__path__, f"{name}."))


def _defined_in(module: ModuleType) -> list[type[AnyRule]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__
        and hasattr(value, "code")
    ]


def _register(rule: type[AnyRule], rules: dict[str, type[AnyRule]]) -> None:
    for other in rules.values():
        if rule.code == other.code or rule.name == other.name:
            raise RulePackError(
                f"rules {_path(other)} and {_path(rule)} both claim {rule.code} {rule.name}: uninstall one of the packs"
            )
    rules[rule.code] = rule


def _path(rule: type[AnyRule]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


_EXACT: Final = 100
_CODE_PREFIX: Final = re.compile(r"[A-Z]{2,}\d*")


def find_rule(rules: Sequence[type[AnyRule]], word: str) -> type[AnyRule] | None:
    """The rule of that code or name."""
    return next((rule for rule in rules if word in (rule.code, rule.name)), None)


def select_rules(
    rules: Sequence[type[AnyRule]],
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    *,
    preview: bool = False,
) -> tuple[type[AnyRule], ...]:
    """The rules that `select` (default: all stable ones) and `extend_select` name, without `ignore`.

    A word is a code, a name, the beginning of codes (`PO1`), a family (`cache`) or `ALL`. The more
    specific word wins, `ignore` between equals. Preview rules are selected by code or name, by the
    other words only with `preview`.

    Raises:
        ConfigError: a word that names no rule.
    """
    words = [*([ALL] if select is None else select), *extend_select]
    for word in (*words, *ignore):
        check_selector(rules, word)
    chosen = []
    for rule in rules:
        wanted = max((_specificity(rule, word) for word in words), default=0)
        refused = max((_specificity(rule, word) for word in ignore), default=0)
        if wanted > refused and (preview or not rule.preview or wanted == _EXACT):
            chosen.append(rule)
    return tuple(chosen)


def matches(rule: type[AnyRule], word: str) -> bool:
    """Whether a code, name, beginning of codes, family or `ALL` names the rule."""
    return _specificity(rule, word) > 0


def _specificity(rule: type[AnyRule], word: str) -> int:
    """How closely a word names a rule; 0 where it does not."""
    if word in (rule.code, rule.name):
        return _EXACT
    if word == rule.family():
        return 4
    if word == ALL:
        return 1
    return len(word) if _CODE_PREFIX.fullmatch(word) and rule.code.startswith(word) else 0


def check_selector(rules: Sequence[type[AnyRule]], word: str) -> None:
    """Raise `ConfigError` with a suggestion where a word names no rule."""
    if any(matches(rule, word) for rule in rules):
        return
    raise ConfigError(f"unknown rule {word!r}{suggestion(word, selectors(rules))}")


def selectors(rules: Sequence[type[AnyRule]]) -> list[str]:
    """Codes, names, families and `ALL`."""
    words = [ALL]
    for rule in rules:
        words += [rule.code, rule.name, rule.family()]
    return list(dict.fromkeys(words))


def configure(
    rules: Sequence[type[AnyRule]], config: Config, known: Sequence[type[AnyRule]]
) -> list[tuple[AnyRule, Any]]:
    """Instances of `rules` at their configured level, each with its options.

    `known` are all installed rules: configuration may speak of rules that do not run.

    Raises:
        ConfigError: configuration that names an unknown rule or option, or a value of another type.
    """
    by_word = {word: rule for rule in known for word in (rule.code, rule.name)}
    for word in (*config.severity, *config.rules):
        if word not in by_word:
            raise ConfigError(f"{config.file}: unknown rule {word!r}{suggestion(word, by_word)}")
    levels = {by_word[word]: level for word, level in config.severity.items()}
    tables = {by_word[word]: read_options(by_word[word], table, config) for word, table in config.rules.items()}
    return [(rule(levels.get(rule)), tables.get(rule) or rule.Options()) for rule in rules]


def read_options(rule: type[AnyRule], table: Mapping[str, Any], config: Config) -> object:
    """The rule's `Options` from a table whose keys are in kebab-case.

    Raises:
        ConfigError: an unknown option or a value whose type is not that of the default.
    """
    known = {option.name.replace("_", "-"): option for option in fields(rule.Options)}
    values = {}
    for key, value in table.items():
        where = f"{config.file}: rules.{rule.name}"
        if key not in known:
            raise ConfigError(f"{where}: unknown option {key!r}{suggestion(key, known)}")
        default = getattr(rule.Options(), known[key].name)
        converted = tuple(value) if isinstance(value, list) else value
        converted = float(value) if isinstance(default, float) and type(value) is int else converted
        if type(converted) is not type(default):
            raise ConfigError(f"{where}.{key} must be {_TYPE_WORDS.get(type(default), type(default).__name__)}")
        values[known[key].name] = converted
    return rule.Options(**values)


_TYPE_WORDS: Final = {int: "a whole number", float: "a number", bool: "true or false", str: "a string", tuple: "a list"}
