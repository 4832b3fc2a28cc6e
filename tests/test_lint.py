"""The pipeline after linking: rules, noise, suppression, order. Projects are built by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptopt.config import Config
from promptopt.errors import ConfigError, InternalError
from promptopt.finding import Finding, Related, Severity
from promptopt.lint import Project, Report, prepare, run_rules
from promptopt.prompt import Call, Prompt
from promptopt.rule import AnyRule, Fault, Rule, RuleContext
from promptopt.source import Location, SourceFile, Span
from promptopt_rules.run.blanket_suppression import BlanketSuppression
from promptopt_rules.run.syntax_error import SyntaxFault
from promptopt_rules.run.unreadable_file import UnreadableFile
from promptopt_rules.run.unused_suppression import UnusedSuppression


def rule(code: str, name: str, **fixed: Any) -> type[AnyRule]:
    """A rule that reports each prompt at its location; `fixed` are fields of its findings."""

    class Sample(Rule[Prompt]):
        """Reports."""

        def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
            del context
            yield replace(self.finding(f"{name} of {subject.name}", subject.location, prompt=subject.name), **fixed)

    Sample.code, Sample.name, Sample.severity, Sample.since, Sample.subject = code, name, Severity.WARNING, "1", Prompt
    return Sample


PREFIX = rule("PO101", "volatile-prefix")
ABOUT_COMMENTS = (UnusedSuppression, BlanketSuppression)


def place(path: str, text: str, needle: str) -> Location:
    """Where `needle` stands."""
    start = text.index(needle)
    return Location(path, Span(start, start + len(needle)))


def prompt(location: Location, call: Location | None = None, name: str = "p") -> Prompt:
    """A prompt of that name."""
    return Prompt(name, Call("openai", "chat", "openai", call or location, "f"), location)


def project(files: dict[str, str], *prompts: Prompt, reported: tuple[str, ...] | None = None) -> Project:
    """A linked project of these files; all are reported on unless said otherwise."""
    sources = {path: SourceFile(path, text) for path, text in files.items()}
    return Project(Path("/project"), reported or tuple(files), sources, (), prompts)


def run(linked: Project, *rules: type[AnyRule], **settings: Any) -> Report:
    """Run these rules, all selected."""
    return run_rules(linked, prepare(Config(Path("/project"), **settings), rules))


def one_file(text: str, *rules: type[AnyRule], **settings: Any) -> list[str]:
    """Codes found in a file that has a prompt at `HERE`."""
    linked = project({"a.py": text}, prompt(place("a.py", text, "HERE")))
    return [finding.code for finding in run(linked, *rules, *ABOUT_COMMENTS, **settings).findings]


def test_only_reported_files_are_reported() -> None:
    """Other files are read to link, not to report."""
    files = {"a.py": "HERE", "b.py": "HERE"}
    linked = project(files, *(prompt(place(p, t, "HERE"), name=p) for p, t in files.items()), reported=("b.py",))
    report = run(linked, PREFIX)
    assert [f.location.path for f in report.findings] == ["b.py"]
    assert [p.name for p in report.prompts] == ["b.py"]


def test_order_is_by_path_offset_and_code() -> None:
    """However rules and prompts are ordered."""
    files = {"b.py": "HERE THERE", "a.py": "HERE"}
    places = [place("b.py", "HERE THERE", "THERE"), place("b.py", "HERE", "HERE"), place("a.py", "HERE", "HERE")]
    linked = project(files, *(prompt(p, name=str(i)) for i, p in enumerate(places)))
    found = run(linked, rule("PO102", "x"), PREFIX).findings
    assert [(f.location.path, f.location.span.start, f.code) for f in found] == [
        ("a.py", 0, "PO101"),
        ("a.py", 0, "PO102"),
        ("b.py", 0, "PO101"),
        ("b.py", 0, "PO102"),
        ("b.py", 5, "PO101"),
        ("b.py", 5, "PO102"),
    ]
    assert len({f.fingerprint for f in found}) == len(found)


def test_one_finding_for_a_cause_of_a_prompt() -> None:
    """The rule that comes first in the precedence speaks, others about the same cause are silent."""
    linked = project({"a.py": "HERE"}, prompt(place("a.py", "HERE", "HERE")))
    names = ["volatile-prefix", "unstable-order", "context-before-instructions", "constant-after-loop-variable"]
    rules = [rule(f"PO{i}", name, group="g") for i, name in enumerate([*names, "volatile-cache-breakpoint"], 101)]
    while rules:
        assert [f.name for f in run(linked, *rules).findings] == [rules[-1].name]
        rules.pop()


def test_causes_are_kept_apart_by_key_and_prompt() -> None:
    """Findings without a key, with another key or about another prompt all stay."""
    text = "HERE THERE"
    linked = project(
        {"a.py": text}, prompt(place("a.py", text, "HERE")), prompt(place("a.py", text, "THERE"), name="q")
    )
    rules = [rule("PO101", "a", group="g"), rule("PO102", "b", group="h"), rule("PO103", "c"), rule("PO104", "d")]
    assert len(run(linked, *rules).findings) == 8


def test_one_finding_for_a_rule_and_place() -> None:
    """Of several prompts that share a template the most severe finding stands."""
    shared = place("a.py", "HERE", "HERE")

    class Graded(Rule[Prompt]):
        """Reports at different levels."""

        code, name, severity, since, subject = "PO101", "graded", Severity.WARNING, "1", Prompt

        def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
            del context
            level = Severity.INFO if subject.name == "a" else None
            yield self.finding("m", shared, severity=level, prompt=subject.name)

    linked = project({"a.py": "HERE"}, *(prompt(shared, name=name) for name in "abc"))
    assert [(f.prompt, f.severity) for f in run(linked, Graded).findings] == [("b", Severity.WARNING)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("HERE\n", ["PO101"]),
        ("HERE  # promptopt: ignore[PO101]\n", []),
        ("HERE  # promptopt: ignore[volatile-prefix]\n", []),
        ("HERE  # promptopt: ignore[PO101, volatile-prefix]\n", []),
        ("HERE  # promptopt: ignore[PO103]\n", ["PO101"]),
        ("HERE  # promptopt: ignore[PO102]\n", ["PO101", "PO003"]),
        ("HERE  # promptopt: ignore[PO101, PO102]\n", ["PO003"]),
        ("HERE  # promptopt: ignore[PO101, PO999]\n", ["PO003"]),
        ("HERE  # promptopt: ignore\n", ["PO004"]),
        ("HERE\n\nx = 1  # promptopt: ignore\n", ["PO101", "PO003", "PO004"]),
        ("HERE\n\nx = 1  # promptopt: ignore[PO101]\n", ["PO101", "PO003"]),
        ("HERE\n\nx = 1  # promptopt: ignore[PO101, PO003]\n", ["PO101"]),
        ("# promptopt: ignore-file[PO101]\n\nHERE\n", []),
        ("# promptopt: ignore-file\n\nHERE\n", ["PO004"]),
        ("# promptopt: ignore-file[PO004, PO101]\n\nHERE  # promptopt: ignore\n", []),
        ("'# promptopt: ignore[PO101]'; HERE\n", ["PO101"]),
    ],
)
def test_suppression(text: str, codes: list[str]) -> None:
    """Codes and names silence; what silences nothing is told, except for rules that are not installed
    among those that run (PO103 here is unknown)."""
    quiet = rule("PO102", "unstable-order")
    quiet.subject = Fault
    known_but_idle = rule("PO103", "unstable-tools")
    known_but_idle.preview = True
    assert one_file(text, PREFIX, quiet, known_but_idle) == codes


def test_ignore_at_the_call_covers_the_template() -> None:
    """A finding is silenced where it stands, at the prompt's call, and along its chain."""
    files = {"template.py": "HERE\n", "call.py": "call()  # promptopt: ignore[PO101]\n"}
    here, call = place("template.py", "HERE", "HERE"), place("call.py", files["call.py"], "call()")
    assert run(project(files, prompt(here, call)), PREFIX, *ABOUT_COMMENTS).findings == ()
    chained = rule("PO101", "volatile-prefix", related=(Related("from here", call),))
    assert run(project(files, prompt(here)), chained, *ABOUT_COMMENTS).findings == ()
    assert [f.code for f in run(project(files, prompt(here)), PREFIX, *ABOUT_COMMENTS).findings] == ["PO003", "PO101"]


def test_a_call_without_the_ignore_still_reports_the_template() -> None:
    """Two calls share a template; one ignores the finding, the other does not."""
    files = {"t.py": "HERE\n", "c.py": "one()  # promptopt: ignore[PO101]\ntwo()\n"}
    here = place("t.py", "HERE", "HERE")
    prompts = [prompt(here, place("c.py", files["c.py"], f"{name}()"), name=name) for name in ("one", "two")]
    assert [f.prompt for f in run(project(files, *prompts), PREFIX, *ABOUT_COMMENTS).findings] == ["two"]


def test_ignore_file_of_a_file_on_the_way_does_not_count() -> None:
    """A whole-file ignore covers its own findings and calls, not every prompt that passes through."""
    files = {"t.py": "HERE\n", "clock.py": "# promptopt: ignore-file[PO101]\nnow()\n"}
    chained = rule("PO101", "volatile-prefix", related=(Related("from", place("clock.py", files["clock.py"], "now")),))
    found = run(project(files, prompt(place("t.py", "HERE", "HERE"))), chained).findings
    assert [f.code for f in found] == ["PO101"]


def test_per_file_ignores() -> None:
    """Patterns as in .gitignore, relative to the configuration; words of every kind."""
    text = "HERE\n"
    linked = project({"tests/deep/a.py": text}, prompt(place("tests/deep/a.py", text, "HERE")))
    for pattern, word in [("tests/**", "PO101"), ("tests/", "PO1"), ("a.py", "volatile-prefix"), ("*", "ALL")]:
        assert run(linked, PREFIX, per_file_ignores=((pattern, (word,)),)).findings == ()
    assert len(run(linked, PREFIX, per_file_ignores=(("src/**", ("PO101",)),)).findings) == 1
    above = Config(Path("/project/tests"), Path("/project/promptopt.toml"), per_file_ignores=(("tests/**", ("PO1",)),))
    assert run_rules(replace(linked, root=Path("/project/tests")), prepare(above, [PREFIX])).findings == ()
    with pytest.raises(ConfigError, match="unknown rule 'PO9'"):
        run(linked, PREFIX, per_file_ignores=(("a.py", ("PO9",)),))


def test_faults_are_findings() -> None:
    """Files that cannot be read or parsed are reported where they stand."""
    faults = (
        Fault("unreadable", Location("a.py", Span(0, 0)), "not utf-8: byte 0xff at offset 3"),
        Fault("syntax", Location("b.py", Span(2, 3)), "invalid syntax"),
    )
    linked = Project(Path("/project"), ("a.py", "b.py"), {}, faults)
    found = run(linked, UnreadableFile, SyntaxFault).findings
    assert [(f.code, f.message) for f in found] == [
        ("PO001", "cannot be read and was not checked: not utf-8: byte 0xff at offset 3"),
        ("PO002", "cannot be parsed and was not checked: invalid syntax"),
    ]


def test_a_rule_that_raises_is_an_internal_error() -> None:
    """The error names rule and prompt in one line."""

    class Broken(Rule[Prompt]):
        """Raises."""

        code, name, severity, since, subject = "PO101", "broken", Severity.WARNING, "1", Prompt

        def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
            del context
            raise KeyError(f"two\nlines {subject.name}")

    linked = project({"a.py": "HERE"}, prompt(place("a.py", "HERE", "HERE"), name="a.py::f"))
    with pytest.raises(InternalError, match=r"^rule PO101 broken failed on prompt a\.py::f: KeyError: .+$"):
        run(linked, Broken)


def test_unused_comments_carry_their_fix() -> None:
    """Deleting the comment is a safe fix where none of its words is in use."""
    text = "x = 1  # promptopt: ignore[PO101]\nHERE\n"
    linked = project({"a.py": text}, prompt(place("a.py", text, "HERE")))
    finding = next(f for f in run(linked, PREFIX, *ABOUT_COMMENTS).findings if f.code == "PO003")
    ((edit,),) = (fix.edits for fix in finding.fixes)
    span = edit.location.span
    assert text[: span.start] + edit.content + text[span.end :] == "x = 1\nHERE\n"
