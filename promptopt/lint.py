"""The pipeline: discover, read, link, run the rules, suppress.

`check` reads the whole project and reports what stands in the given paths; `check_text` looks at one
text alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from promptopt.budgets import Budgets, Measured
from promptopt.config import Config, SinkFunction, SourceFunction, absolute, load_config
from promptopt.errors import ConfigError, InternalError
from promptopt.finding import Finding, Severity, fingerprinted
from promptopt.project import LinkOptions, link
from promptopt.project.collect import collect, garbage_collection_paused
from promptopt.project.prompt_files import is_prompt_folder, is_template
from promptopt.project.text_files import TextFiles
from promptopt.prompt import BracedText, Call, ChatTemplate, Keeping, Parameter, Prompt, PromptTemplate, Retrieval
from promptopt.readers.facts import Module, Scope
from promptopt.readers.jinja.environment import TemplateSyntax
from promptopt.readers.python import PythonSyntaxError, read_module
from promptopt.rule import AnyRule, Fault, RuleContext, check_selector, configure, load_rules, matches, select_rules
from promptopt.sdks import build_catalogue, load_catalogue
from promptopt.sdks.schema import CallShape, Sdk
from promptopt.source import Location, SourceFile, Span, is_test_code
from promptopt.sources import load_sources
from promptopt.suppression import Suppression, SuppressionUse, read_suppressions, removal_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PRECEDENCE: Final = (
    "volatile-cache-breakpoint",
    "constant-after-loop-variable",
    "context-before-instructions",
    "unstable-order",
    "volatile-prefix",
)
"""Of findings with one cause the rule that comes first here is the one to report."""

_PYTHON: Final = ("", ".py", ".pyi", ".pyw")
"""Suffixes of files that are Python when they are named; scripts may have none."""

_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found.

    `findings` are sorted by path, offset and code. `files` are those reported on, `prompts` and `calls`
    what they hold. `bounds_hit` counts evaluations that were cut off. `sources` are all files that
    were read, by path relative to `root`. `set_aside` counts findings that were taken away as known, by the
    words for why. `other_templates` counts templates that were passed by because another engine than Jinja reads them.
    """

    findings: tuple[Finding, ...]
    root: Path
    files: tuple[str, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    calls: tuple[Call, ...] = ()
    bounds_hit: int = 0
    sources: Mapping[str, SourceFile] = field(default_factory=dict, repr=False)
    set_aside: Mapping[str, int] = field(default_factory=dict)
    other_templates: int = 0

    def keeping(self, findings: Sequence[Finding], why: str) -> Report:
        """The report with these of its findings only; the others are set aside because of `why`."""
        aside = len(self.findings) - len(findings)
        counts = {**self.set_aside, why: aside} if aside else self.set_aside
        return replace(self, findings=tuple(findings), set_aside=counts)


@dataclass(frozen=True, slots=True)
class Project:
    """What reading and linking a project gave, before rules look at it.

    `files` are to be reported on. `named` are those of them that were given one by one: what they do to prompts of
    other files is reported, too.
    """

    root: Path
    files: tuple[str, ...]
    sources: Mapping[str, SourceFile]
    faults: tuple[Fault, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    calls: tuple[Call, ...] = ()
    bounds_hit: int = 0
    templates: tuple[PromptTemplate | ChatTemplate | BracedText, ...] = ()
    retrievals: tuple[Retrieval, ...] = ()
    keeping: tuple[Keeping, ...] = ()
    other_templates: int = 0
    strangers: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def reports(self, prompt: Prompt) -> bool:
        """Whether the prompt or its call stands in a file that is to be reported on."""
        return prompt.location.path in self.files or prompt.call.location.path in self.files


@dataclass(frozen=True, slots=True)
class FileIgnores:
    """`per-file-ignores` of the configuration; `prefix` leads from its folder to the project's root."""

    patterns: tuple[tuple[GitIgnoreSpec, tuple[str, ...]], ...] = ()
    prefix: str = ""

    @classmethod
    def of(cls, config: Config, known: Sequence[type[AnyRule]]) -> FileIgnores:
        """Raises `ConfigError` for a word that names no rule."""
        if not config.per_file_ignores:
            return cls()
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 (loaded only where it is needed)

        for _, words in config.per_file_ignores:
            for word in words:
                check_selector(known, word)
        patterns = tuple((GitIgnoreSpec.from_lines([glob]), words) for glob, words in config.per_file_ignores)
        relative = config.root.relative_to(config.patterns_root)
        return cls(patterns, "" if relative == Path() else relative.as_posix() + "/")

    def cover(self, rule: type[AnyRule], path: str) -> bool:
        """Whether the rule is not wanted in that file."""
        return any(
            any(matches(rule, word) for word in words) and glob.match_file(self.prefix + path)
            for glob, words in self.patterns
        )


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a run, ready to go: `configured` with their options, `known` all installed ones; `budgets` where
    there are some and a rule asks for them."""

    configured: tuple[tuple[AnyRule, Any], ...]
    known: tuple[type[AnyRule], ...]
    file_ignores: FileIgnores
    budgets: Budgets | None = None


def prepare(config: Config, known: Sequence[type[AnyRule]]) -> RuleSet:
    """The rules that `config` selects from `known`.

    Raises:
        ConfigError: configuration that names an unknown rule or option; samples or a lock file that cannot be read.
    """
    rules = select_rules(known, config.select, config.extend_select, config.ignore, preview=config.preview)
    budgeted = bool(config.budgets) and any(rule.subject is Measured for rule in rules)
    configured = tuple(configure(rules, config, known))
    return RuleSet(configured, tuple(known), FileIgnores.of(config, known), Budgets(config) if budgeted else None)


def run_rules(project: Project, rules: RuleSet) -> Report:
    """Run the rules over a linked project.

    Raises:
        InternalError: a rule raised an exception.
    """
    reported = frozenset((*project.files, *(fault.location.path for fault in project.faults)))
    calls = {prompt.name: prompt.call.location for prompt in project.prompts}
    found: list[Finding] = []
    budgeted = rules.budgets.measure(project.prompts) if rules.budgets else ()
    for subject in (
        *project.faults,
        *project.prompts,
        *project.calls,
        *project.templates,
        *project.retrievals,
        *project.keeping,
        *budgeted,
    ):
        found += _run(rules, subject, project.sources)
    comments = _Suppressions(project.sources, reported)
    asked = []
    for finding in found:
        call = calls.get(finding.prompt or "")
        if finding.location.path in reported or _caused_in(project.named, finding, call):
            asked.append(finding)
        else:
            comments.silence(finding, call)  # a comment in a reported file may be there for it
    found = _per_place([f for f in _per_cause(asked) if not comments.silence(f, calls.get(f.prompt or ""))])
    for use in comments.uses(rules):
        found += [finding for finding in _run(rules, use, project.sources) if not comments.excuse(finding)]
    ordered = sorted(found, key=lambda f: (f.location, f.code, f.prompt or ""))
    return replace(_unjudged(project), findings=tuple(fingerprinted(ordered)))


def _caused_in(named: frozenset[str], finding: Finding, call: Location | None) -> bool:
    """Whether the finding's chain goes through a named file other than by the call that sends the prompt."""
    return any(related.location.path in named and related.location != call for related in finding.related)


def _unjudged(project: Project) -> Report:
    """What a project holds, without findings."""
    reported = frozenset(project.files)
    return Report(
        (),
        project.root,
        project.files,
        tuple(prompt for prompt in project.prompts if project.reports(prompt)),
        tuple(call for call in project.calls if call.location.path in reported),
        project.bounds_hit,
        project.sources,
        other_templates=project.other_templates,
    )


def _run(rules: RuleSet, subject: object, sources: Mapping[str, SourceFile]) -> list[Finding]:
    """Findings about one subject, without those that `per-file-ignores` leave out."""
    found: list[Finding] = []
    for rule, options in rules.configured:
        if isinstance(subject, rule.subject):
            try:
                reported = list(rule.check(subject, RuleContext(options, sources)))
            except Exception as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise InternalError(
                    f"rule {rule.code} {rule.name} failed on {_designation(subject)}: {reason} "
                    f"(a defect of the rule: --ignore {rule.code} goes on without it)"
                ) from error
            found += [
                _as_told(finding, subject)
                for finding in reported
                if not rules.file_ignores.cover(type(rule), finding.location.path)
            ]
    return found


def _as_told(finding: Finding, subject: object) -> Finding:
    """The finding, as information where test code sends the request or supplies what it is about: nobody waits
    for a test's prompt."""
    if not isinstance(subject, (Prompt, Call, Retrieval, Keeping)) or finding.severity is Severity.INFO:
        return finding
    places = [finding.location, *(related.location for related in finding.related)]
    tested = any(is_test_code(place.path) for place in places)
    return replace(finding, severity=Severity.INFO) if tested else finding


def _designation(subject: object) -> str:
    if isinstance(subject, Prompt):
        return f"prompt {subject.name}"
    location = getattr(subject, "location", None)
    return location.path if isinstance(location, Location) else type(subject).__name__


def _per_cause(findings: Iterable[Finding]) -> list[Finding]:
    """At most one finding per prompt and cause: by precedence of rules, then the most severe."""
    kept: dict[object, Finding] = {}
    for index, finding in enumerate(findings):
        key = (finding.prompt, finding.group) if finding.group else index
        other = kept.get(key)
        if other is None or _rank(finding) < _rank(other):
            kept[key] = finding
    return list(kept.values())


def _rank(finding: Finding) -> tuple[int, int, str, Location]:
    order = PRECEDENCE.index(finding.name) if finding.name in PRECEDENCE else len(PRECEDENCE)
    return order, -finding.severity, finding.code, finding.location


def _per_place(findings: Iterable[Finding]) -> list[Finding]:
    """At most one finding per rule and place: the most severe, then the first prompt by name."""
    kept: dict[tuple[str, Location], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.location)
        other = kept.get(key)
        if other is None or _weight(finding) < _weight(other):
            kept[key] = finding
    return list(kept.values())


def _weight(finding: Finding) -> tuple[int, str]:
    return -finding.severity, finding.prompt or ""


class _Suppressions:
    """Ignore comments of the files that were read, and which of them silenced something."""

    def __init__(self, sources: Mapping[str, SourceFile], reported: frozenset[str]) -> None:
        self._sources = sources
        self._reported = reported
        self._comments: dict[str, tuple[Suppression, ...]] = {}
        self._used: set[tuple[Suppression, str]] = set()

    def of_file(self, path: str) -> tuple[Suppression, ...]:
        """Comments of one file, read once."""
        if path not in self._comments:
            source = self._sources.get(path)
            self._comments[path] = read_suppressions(source) if source else ()
        return self._comments[path]

    def silence(self, finding: Finding, call: Location | None) -> bool:
        """Whether a comment silences the finding: where it is, at its call, or along its chain."""
        places = [finding.location, *([call] if call else [])]
        chain = [*places, *(related.location for related in finding.related)]
        hits = [
            comment
            for path in dict.fromkeys(place.path for place in chain)
            for comment in self.of_file(path)
            if comment.silences(finding.code, finding.name)
            and any(comment.reaches(place) for place in (places if comment.whole_file else chain))
        ]
        for comment in hits:
            self._used |= {(comment, word) for word in (finding.code, finding.name, "")}
        return bool(hits)

    def excuse(self, finding: Finding) -> bool:
        """Whether a comment silences a finding about comments: only one that names its rule."""
        return any(
            comment.words and comment.silences(finding.code, finding.name) and comment.reaches(finding.location)
            for comment in self.of_file(finding.location.path)
        )

    def uses(self, rules: RuleSet) -> Iterator[SuppressionUse]:
        """What each comment of the reported files did. Words of rules that did not run, or that are
        about comments themselves, are taken as used."""
        ran = [rule for rule, _ in rules.configured if rule.subject is not SuppressionUse]
        judged = {word for rule in ran for word in (rule.code, rule.name)}
        names = {word for rule in rules.known for word in (rule.code, rule.name)}
        for path in sorted(self._reported & self._sources.keys()):
            for comment in self.of_file(path):
                unused = tuple(w for w in comment.words if w in judged and (comment, w) not in self._used)
                unknown = tuple(w for w in comment.words if w not in names)
                idle = not comment.words and (comment, "") not in self._used
                yield SuppressionUse(comment, unused, unknown, idle, removal_of(comment, self._sources[path]))


def check(
    paths: Sequence[Path | str], config: Config | None = None, *, overlay: Mapping[Path, bytes] | None = None
) -> Report:
    """Read the project that `paths` belong to and report what stands in them, and what the files among them do to
    prompts of other files.

    Args:
        paths: files and folders.
        config: default: that of the paths' project (`load_config`).
        overlay: contents that take the place of files, such as an editor's unsaved text.

    Raises:
        ConfigError: the configuration is malformed or names an unknown rule.
        RulePackError: no usable rule pack is installed.
        InternalError: a rule failed.
    """
    return check_with_prompts(paths, config, overlay=overlay)[0]


def check_with_prompts(
    paths: Sequence[Path | str], config: Config | None = None, *, overlay: Mapping[Path, bytes] | None = None
) -> tuple[Report, tuple[Prompt, ...]]:
    """As `check`; with the report come all prompts of the project, also those of files that are not reported on."""
    places = [Path(path) for path in paths]
    config = load_config(places) if config is None else config
    rules = prepare(config, load_rules())
    with garbage_collection_paused():
        project = read_project(places, config, overlay or {})
        return run_rules(project, rules), project.prompts


def inspect(paths: Sequence[Path | str], config: Config, *, overlay: Mapping[Path, bytes] | None = None) -> Report:
    """As `check`, but run no rule: what prompts and calls the paths hold."""
    return _unjudged(read_project([Path(path) for path in paths], config, overlay or {}))


def check_text(text: str, path: str = "prompt.py", config: Config | None = None) -> Report:
    """Report on one text as if it were the only file of a project; `path` is its name there.

    Raises:
        ConfigError, RulePackError, InternalError: see `check`.
    """
    config = Config(Path.cwd()) if config is None else config
    rules = prepare(config, load_rules())
    source = SourceFile(path, text.removeprefix("\ufeff"), bom=text.startswith("\ufeff"))
    project = Project(config.root, (path,), {path: source})
    if is_template(path):
        options = LinkOptions(read_text={path: source.text}.get, templates=(path,))
        return run_rules(_linked(project, {}, config, options), rules)
    modules: dict[str, Module] = {}
    try:
        modules[path] = read_module(source)
    except PythonSyntaxError as error:
        project = replace(project, faults=(_fault("syntax", path, error.message, error.offset),))
    return run_rules(_linked(project, modules, config, LinkOptions()), rules)


def read_project(paths: Sequence[Path], config: Config, overlay: Mapping[Path, bytes]) -> Project:
    """Read and link the project; what stands in `paths` is to be reported.

    Files of other kinds than Python and templates are passed by. Faults outside of `paths` are left out.
    """
    catalogue = load_catalogue()
    texts = {_relative(path, config.root): content for path, content in overlay.items()}
    readable = [path for path in paths if path.suffix in _PYTHON or is_template(path.name) or path.is_dir()]
    collected = collect(config.root, readable, config, catalogue=catalogue, overlay=texts)
    given = [_relative(path, config.root) for path in paths]
    faults = [
        _fault(fault.kind, fault.path, fault.message, fault.offset)
        for fault in collected.faults
        if fault.path in collected.files or _is_below(fault.path, given)
    ]
    named = frozenset(name for path, name in zip(paths, given, strict=True) if not path.is_dir())
    project = Project(config.root, collected.files, collected.sources, tuple(faults), named=named)
    reader = TextFiles(config.root, collected.sources, texts)
    options = LinkOptions(
        collected.files,
        read_text=reader.text,
        templates=collected.templates,
        all_prompts=is_prompt_folder(config.root.name),
    )
    linked = _linked(project, collected.modules, config, options)
    unreadable = (_fault("unreadable", path, reason, None) for path, reason in sorted(reader.faults.items()))
    texts_read = {*reader.read, *reader.faults} - linked.strangers
    of_templates = (*linked.faults[len(faults) :], *unreadable)
    return replace(
        linked,
        files=(*linked.files, *(path for path in sorted(texts_read) if _is_below(path, given))),
        faults=(*faults, *(fault for fault in of_templates if _is_below(fault.location.path, given))),
    )


def _linked(project: Project, modules: Mapping[str, Module], config: Config, options: LinkOptions) -> Project:
    sources = load_sources().with_project_sources(declared_sources(config.sources, modules))
    sdks = load_catalogue()
    if config.sinks:
        sdks = build_catalogue([*sdks.sdks, declared_sinks(config.sinks, modules)])
    found = link(modules, project.sources, sdks, sources, replace(options, syntax=_syntax(config)))
    faults = (_fault("syntax", path, *fault) for path, fault in found.faults.items())
    linked = replace(
        project,
        prompts=found.prompts,
        calls=found.calls,
        templates=found.templates,
        bounds_hit=found.bounds_hit,
        faults=(*project.faults, *faults),
        other_templates=found.other_templates,
        strangers=found.strangers,
        retrievals=found.retrievals,
        keeping=found.keeping,
    )
    if not config.model and not config.encoding:
        return linked
    prompts = tuple(replace(prompt, call=_assuming(prompt.call, config)) for prompt in found.prompts)
    return replace(linked, prompts=prompts, calls=tuple(_assuming(call, config) for call in found.calls))


def _syntax(config: Config) -> TemplateSyntax:
    """How templates are cut unless code says otherwise."""
    try:
        return TemplateSyntax(**config.templates)
    except ValueError as error:
        raise ConfigError(f"{config.file}: templates: {error}") from error


def _assuming(call: Call, config: Config) -> Call:
    """The call with the configured model where its own is not known, and with the configured encoding."""
    known = call.model is not None and isinstance(call.model.value, str)
    model = call.model if known or not config.model else Parameter(config.model)
    return replace(call, model=model, encoding=config.encoding)


def declared_sources(entries: Iterable[SourceFunction], modules: Mapping[str, Module]) -> list[SourceFunction]:
    """The entries with functions of the project under their full dotted names (`src.app.clock.stamp`)."""
    declared: dict[SourceFunction, None] = {}
    for entry in entries:
        declared[entry] = None
        declared.update({replace(entry, function=dotted): None for dotted, _ in _definitions(entry.function, modules)})
    return list(declared)


def declared_sinks(entries: Iterable[SinkFunction], modules: Mapping[str, Module]) -> Sdk:
    """A project's own functions that send prompts, as the facts of an SDK.

    Functions that the project defines go by their full dotted names; others by the name as it is
    declared, a bare one being a method of an object of unknown type.
    """
    calls: dict[str, CallShape] = {}
    for entry in entries:
        for dotted, scope in _definitions(entry.function, modules):
            calls.setdefault(dotted, _sink_shape(entry, dotted, scope))
        if "." in entry.function:
            calls.setdefault(entry.function, _sink_shape(entry, entry.function))
        elif not any(entry.function in shape.unmistakable for shape in calls.values()):
            calls[entry.function] = replace(_sink_shape(entry, entry.function), unmistakable=(entry.function,))
    return Sdk("project", (), "", "configuration", "", calls=tuple(calls.values()))


def _sink_shape(sink: SinkFunction, dotted: str, scope: Scope | None = None) -> CallShape:
    symbols = (dotted.replace(".", ":", 1),) if "." in dotted else ()
    system = () if sink.system is None else _argument(sink.system, scope)
    return CallShape(sink.function, functions=symbols, system=system, messages=_argument(sink.prompt, scope))


def _argument(argument: str | int, scope: Scope | None) -> tuple[str | int, ...]:
    """An argument by name and by position, as far as the function's definition tells."""
    names = [one.name for one in scope.params if one.kind == "positional"] if scope else []
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    if isinstance(argument, int):
        return (argument, names[argument]) if argument < len(names) else (argument,)
    return (argument, names.index(argument)) if argument in names else (argument,)


def _definitions(function: str, modules: Mapping[str, Module]) -> Iterator[tuple[str, Scope]]:
    """Functions of the project that a dotted or bare name may mean, with their full dotted names."""
    for path in sorted(modules):
        prefix = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for scope in modules[path].scopes:
            dotted = f"{prefix}.{scope.name}"
            if scope.kind == "function" and f".{dotted}".endswith(f".{function}") and _DOTTED.fullmatch(dotted):
                yield dotted, scope


def _fault(kind: Literal["unreadable", "syntax"], path: str, reason: str, offset: int | None) -> Fault:
    return Fault(kind, Location(path, Span(offset or 0, offset or 0)), reason)


def _relative(path: Path, root: Path) -> str:
    return os.path.relpath(absolute(path), root).replace(os.sep, "/")


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(_below(path, folder) for folder in folders)


def _below(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")
