"""Every fenced block of every rule's docstring, and the cases in the Markdown files beside this one.

A block of Python, or of Jinja for a template that nobody renders, may hold several files, each under a line
`# file: path`. A comment at the end of a line says what must be found there:

- `# finds: PO101` or `# finds: PO101[info], PO102`: these findings start on this line;
- `# finds: PO101 @-3`: three lines further up, for places inside a string of several lines;
- `# todo-finds: PO101`: a known gap; the test fails as soon as it is closed, so that the mark goes.

A block without a comment must stay clean. The comments are taken out before the text is checked. A
fenced block of `toml` ahead of the first block of code in a section is the configuration.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from promptopt import Applicability, Finding, Report, check, load_rules
from promptopt.fix import fix_all
from promptopt.fix.files import encoded
from promptopt.fix.proof import Reading
from promptopt.lint import check_with_prompts
from promptopt.rule import AnyRule, NoOptions, documentation, documentation_faults

HERE = Path(__file__).parent
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?P<words>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"[ \t]*# (?P<todo>todo-)?finds: (?P<codes>PO\d+.*?)(?: @(?P<offset>-\d+))?[ \t]*$", re.MULTILINE)
CODE = re.compile(r"(PO\d+)(?:\[(info|warning|error)\])?$")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FILE = re.compile(r"^# file: (\S+)\n", re.MULTILINE)
NAMES = {"python": "case.py", "jinja": "prompts/case.j2"}
CACHE_ONLY = 'select = ["PO0", "PO1"]\n'


@dataclass(frozen=True)
class Mark:
    """An expected finding; `severity` is None where it does not matter."""

    path: str
    row: int
    code: str
    severity: str | None = None


@dataclass(frozen=True)
class Case:
    """Files to check, and what must be found in them."""

    files: dict[str, str]
    marks: frozenset[Mark] = frozenset()
    gaps: frozenset[Mark] = frozenset()
    config: str = ""
    words: tuple[str, ...] = field(default=())


def read_case(body: str, config: str = "", words: tuple[str, ...] = (), language: str = "python") -> Case:
    """Take a block apart into files and marks."""
    pieces = FILE.split(body)
    texts = dict(zip(pieces[1::2], pieces[2::2], strict=True)) if len(pieces) > 1 else {NAMES[language]: body}
    assert len(pieces) == 1 or not pieces[0].strip(), "text ahead of the first `# file:` line"
    marks: dict[bool, set[Mark]] = {False: set(), True: set()}
    for path, text in texts.items():
        for is_gap, mark in read_marks(path, text):
            marks[is_gap].add(mark)
    files = {path: MARK.sub("", text) for path, text in texts.items()}
    return Case(files, frozenset(marks[False]), frozenset(marks[True]), config, words)


def read_marks(path: str, text: str) -> Iterator[tuple[bool, Mark]]:
    """The marks of one file; the first value tells known gaps."""
    for row, line in enumerate(text.split("\n"), 1):
        if found := MARK.search(line):
            for word in found["codes"].split(","):
                code = CODE.match(word.strip())
                assert code, f"{path}:{row}: cannot read {word!r}"
                yield bool(found["todo"]), Mark(path, row + int(found["offset"] or 0), code[1], code[2])
        else:
            assert "finds:" not in line, f"{path}:{row}: cannot read the mark"


def markdown_cases() -> Iterator[tuple[str, Case]]:
    """Cases of the Markdown files by `file/heading`, numbered where a heading has several."""
    for file in sorted(HERE.glob("*.md")):
        seen: dict[str, int] = {}
        heading, config = "", ""
        text = file.read_text(encoding="utf-8")
        headings = HEADING.finditer(_outside_fences(text))
        for event in sorted([*headings, *FENCE.finditer(text)], key=_start):
            if event.re is HEADING:
                heading, config = event[1], ""
            elif event["language"] == "toml":
                config = event["body"]
            elif event["language"] in NAMES:
                seen[heading] = seen.get(heading, 0) + 1
                number = f" {seen[heading]}" if seen[heading] > 1 else ""
                yield (
                    f"{file.stem}/{heading}{number}",
                    read_case(event["body"], config or CACHE_ONLY, (), event["language"]),
                )


def _outside_fences(text: str) -> str:
    return FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)


def _start(match: re.Match[str]) -> int:
    return match.start()


def docstring_cases() -> Iterator[tuple[str, type[AnyRule], Case]]:
    """Blocks of code of all rules' docstrings, numbered; a block of `toml` is the configuration of those behind it."""
    for rule in load_rules():
        config = ""
        for number, fence in enumerate(FENCE.finditer(inspect.cleandoc(rule.__doc__ or "")), 1):
            if fence["language"] == "toml":
                config = fence["body"]
            elif fence["language"] in NAMES:
                words = tuple(fence["words"].split())
                yield f"{rule.name}/{number}", rule, read_case(fence["body"], config, words, fence["language"])


def run(case: Case, folder: Path) -> Report:
    """Check the case's files in a project of their own."""
    (folder / "promptopt.toml").write_text(case.config, encoding="utf-8")
    for path, text in case.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return check([folder])


def placed(report: Report, findings: Iterable[Finding]) -> set[Mark]:
    """Where findings start."""
    return {Mark(one.location.path, row_of(report, one), one.code, one.severity.label) for one in findings}


def row_of(report: Report, finding: Finding) -> int:
    """Row of a finding's start."""
    return report.sources[finding.location.path].position(finding.location.span.start).row


def missing(expected: Iterable[Mark], found: set[Mark]) -> list[Mark]:
    """Expected marks that no finding matches."""
    return [mark for mark in expected if not any(matches(mark, one) for one in found)]


def matches(mark: Mark, found: Mark) -> bool:
    """Same place and code, and the severity where the mark names one."""
    return (mark.path, mark.row, mark.code) == (found.path, found.row, found.code) and (
        mark.severity in (None, found.severity)
    )


def listed(marks: Iterable[Mark]) -> str:
    """Marks, one a line."""
    ordered = sorted(marks, key=lambda one: (one.path, one.row, one.code))
    return "\n".join(f"  {one.path}:{one.row} {one.code} [{one.severity or 'any'}]" for one in ordered)


def judge(case: Case, report: Report, findings: Sequence[Finding]) -> None:
    """Fail with what was missed, what was false and which gaps are closed."""
    found = placed(report, findings)
    missed = missing(case.marks, found)
    false = [one for one in found if not any(matches(mark, one) for mark in (*case.marks, *case.gaps))]
    closed = [gap for gap in case.gaps if any(matches(gap, one) for one in found)]
    messages = "\n".join(f"  {one.location.path}:{row_of(report, one)} {one.code} {one.message}" for one in findings)
    assert not missed, f"not found:\n{listed(missed)}\nfound:\n{messages}"
    assert not false, f"false:\n{listed(false)}\nfound:\n{messages}"
    assert not closed, f"a known gap is closed, write `finds:`:\n{listed(closed)}"


CASES = list(markdown_cases())
BLOCKS = list(docstring_cases())
RULES = load_rules()


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_literate_case(case: Case, tmp_path: Path) -> None:
    """A case finds what it says, and nothing else."""
    report = run(case, tmp_path)
    judge(case, report, report.findings)


@pytest.mark.parametrize(("rule", "case"), [block[1:] for block in BLOCKS], ids=[block[0] for block in BLOCKS])
def test_docstring_block(rule: type[AnyRule], case: Case, tmp_path: Path) -> None:
    """An example finds what it says; of other rules' findings it says nothing."""
    if "bad" in case.words:
        assert any(mark.code == rule.code for mark in case.marks), "a bad example must find its rule"
    if "good" in case.words:
        assert not case.marks, "a good example must find nothing"
    report = run(case, tmp_path)
    codes = {rule.code, *(mark.code for mark in case.marks)}
    judge(case, report, [one for one in report.findings if one.code in codes])


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_documentation_is_complete(rule: type[AnyRule]) -> None:
    """Every section that a reader needs is there, and examples of both kinds where there are any."""
    assert documentation_faults(rule) == []
    sections = documentation(rule).sections
    if FENCE.search(sections["Example"]):
        assert MARK.search(sections["Example"]), "no bad example"
    if rule.family() == "cache":
        assert FENCE.search(sections["Use instead"]), "no good example"


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_options_are_documented(rule: type[AnyRule]) -> None:
    """Each option is told with its default in the docstring and has a help text."""
    if rule.Options is NoOptions:
        return
    text = documentation(rule).sections["Options"]
    for option in rule.Options.__dataclass_fields__.values():
        assert option.metadata["help"]
        assert f"`{option.name.replace('_', '-')}`" in text
        if isinstance(option.default, int):
            assert f"({option.default})" in text


FIXABLE = [(name, rule, case) for name, rule, case in BLOCKS if rule.fix is not None and case.marks]


@pytest.mark.parametrize(("rule", "case"), [block[1:] for block in FIXABLE], ids=[block[0] for block in FIXABLE])
def test_fix_converges(rule: type[AnyRule], case: Case, tmp_path: Path) -> None:
    """A declared fix comes, is proved, and leaves nothing to fix."""
    run(case, tmp_path)

    def read(overlay: Mapping[Path, bytes]) -> Reading:
        return Reading.of(*check_with_prompts([tmp_path], overlay=overlay))

    def wanted(report: Report) -> list[Finding]:
        return [one for one in report.findings if one.code == rule.code]

    outcome = fix_all(read, wanted, Applicability.UNSAFE, tmp_path)
    assert outcome.texts, f"no fix was made: {outcome.refused}"
    overlay = {tmp_path / path: encoded(outcome.sources[path], text) for path, text in outcome.texts.items()}
    assert wanted(read(overlay).report) == [], "findings are left"
    assert not fix_all(lambda more: read({**overlay, **more}), wanted, Applicability.UNSAFE, tmp_path).texts
