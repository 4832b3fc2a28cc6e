"""The rule API: selection, options, documentation, packs that are missing or broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from promptopt.config import Config
from promptopt.errors import ConfigError, RulePackError
from promptopt.finding import Applicability, Finding, Severity
from promptopt.prompt import Prompt
from promptopt.rule import (
    Rule,
    RuleContext,
    collect_rules,
    configure,
    documentation,
    documentation_faults,
    load_rules,
    select_rules,
)
from promptopt.source import Location, Span

PLACE = Location("a.py", Span(0, 1))


class Sample(Rule[Prompt]):
    """One line that
    sums it up.

    ## What it finds
    Things.

    ```python
    ## not a heading
    ```

    ## Fix safety
    None.
    """

    code = "PO801"
    name = "sample"
    severity = Severity.WARNING
    since = "1"
    fix = Applicability.SAFE
    subject = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """Options of every type."""

        min_tokens: int = field(default=256, metadata={"help": "tokens"})
        share: float = 0.5
        words: tuple[str, ...] = ("a",)
        strict: bool = False

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """Find nothing."""
        del subject, context
        yield from ()


class Other(Sample):
    """Another one."""

    code = "PO802"
    name = "other"


class Early(Sample):
    """In preview."""

    code = "PO803"
    name = "early"
    preview = True


RULES = (Sample, Other, Early)


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "preview", "codes"),
    [
        (None, (), (), False, "PO801 PO802"),
        (None, (), (), True, "PO801 PO802 PO803"),
        (["ALL"], (), ("PO802",), False, "PO801"),
        (["PO80"], (), ("other",), False, "PO801"),
        (["PO802"], (), ("PO8",), False, "PO802"),
        (["PO802"], ("sample",), (), False, "PO801 PO802"),
        (["PO8"], (), ("PO80",), False, ""),
        (["early"], (), (), False, "PO803"),
        (None, ("PO803",), (), False, "PO801 PO802 PO803"),
        ([Sample.family()], (), (), False, "PO801 PO802"),
        ([], (), (), False, ""),
    ],
)
def test_selection(select: list[str] | None, extend: Any, ignore: Any, preview: bool, codes: str) -> None:  # noqa: FBT001
    """The more specific word wins, `ignore` between equals; preview rules by name only."""
    chosen = select_rules(RULES, select, extend, ignore, preview=preview)
    assert [rule.code for rule in chosen] == codes.split()


def test_unknown_selector_suggests() -> None:
    """A misspelt rule is an error that names the one that was meant."""
    with pytest.raises(ConfigError, match="unknown rule 'sampel': did you mean 'sample'"):
        select_rules(RULES, ["sampel"])
    with pytest.raises(ConfigError, match="unknown rule 'P'"):
        select_rules(RULES, None, (), ["P"])


def test_configured_level_replaces_the_main_one_only() -> None:
    """Milder variants stay where they are."""
    config = Config(Path(), severity={"sample": Severity.ERROR})
    ((rule, _),) = configure([Sample], config, RULES)
    assert rule.finding("m", PLACE).severity is Severity.ERROR
    assert rule.finding("m", PLACE, severity=Severity.WARNING).severity is Severity.ERROR
    assert rule.finding("m", PLACE, severity=Severity.INFO).severity is Severity.INFO


def test_options_are_read_in_kebab_case() -> None:
    """Configured values replace defaults; lists become tuples, whole numbers are floats where asked."""
    table = {"min-tokens": 8, "share": 1, "words": ["x", "y"], "strict": True}
    ((_, options),) = configure([Sample], Config(Path(), rules={"PO801": table}), RULES)
    assert options == Sample.Options(8, 1.0, ("x", "y"), strict=True)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"sample": {"min-token": 8}}, "rules.sample: unknown option 'min-token': did you mean 'min-tokens'"),
        ({"sample": {"min-tokens": "8"}}, "rules.sample.min-tokens must be a whole number"),
        ({"sample": {"min-tokens": True}}, "rules.sample.min-tokens must be a whole number"),
        ({"sample": {"strict": 1}}, "rules.sample.strict must be true or false"),
        ({"sampel": {}}, "unknown rule 'sampel': did you mean 'sample'"),
    ],
)
def test_wrong_options(rules: dict[str, Any], message: str) -> None:
    """An option that does not exist or has another type is a configuration error."""
    with pytest.raises(ConfigError) as caught:
        configure([Sample], Config(Path(), rules=rules), RULES)
    assert message in str(caught.value)


def test_documentation() -> None:
    """Sections are split at headings outside of code; what is missing is listed."""
    found = documentation(Sample)
    assert found.summary == "One line that\nsums it up."
    assert list(found.sections) == ["What it finds", "Fix safety"]
    assert "## not a heading" in found.sections["What it finds"]
    assert "no section 'Options'" in documentation_faults(Sample)
    assert "no section 'Fix safety'" not in documentation_faults(Sample)


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.code)
def test_every_rule_is_documented(rule: type[Rule[Any]]) -> None:
    """Every installed rule has a summary and the mandatory sections."""
    assert documentation_faults(rule) == []


def test_rules_of_a_package_are_collected_from_all_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack is imported recursively; re-exported and unfinished classes do not count."""
    pack(tmp_path, "pack_one/__init__.py", "from pack_one.deep.rule import Found")
    pack(tmp_path, "pack_one/deep/__init__.py", "")
    pack(tmp_path, "pack_one/deep/rule.py", RULE + "\nclass Unfinished(Rule): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    (rule,) = collect_rules("pack_one")
    assert (rule.code, rule.family()) == ("AB1", "deep")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pack_missing", None, "rule pack 'pack_missing' cannot be imported: pack_missing: ModuleNotFoundError"),
        ("pack_broken", "1 / 0", "rule pack 'pack_broken' cannot be imported: pack_broken: ZeroDivisionError"),
        ("pack_empty", "", "rule pack 'pack_empty' defines no rule"),
    ],
)
def test_unusable_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, message: str
) -> None:
    """A pack that fails is an error that names it, never a clean run."""
    if text is not None:
        pack(tmp_path, f"{name}/__init__.py", text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [metadata.EntryPoint(name, name, group)])
    with pytest.raises(RulePackError) as caught:
        load_rules()
    assert str(caught.value).startswith(message)


def test_no_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing installed is an error."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])  # noqa: ARG005
    with pytest.raises(RulePackError, match="no rule pack is installed"):
        load_rules()


def test_duplicate_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rules of one code are an error that names both."""
    pack(tmp_path, "pack_a/__init__.py", RULE)
    pack(tmp_path, "pack_b/__init__.py", RULE)
    monkeypatch.syspath_prepend(tmp_path)
    names = ("pack_a", "pack_b")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [metadata.EntryPoint(n, n, group) for n in names])
    with pytest.raises(RulePackError, match=r"pack_a\.Found and pack_b\.Found both claim AB1"):
        load_rules()


def test_foreign_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another project that installs the same import name is detected."""
    pack(tmp_path, "promptopt-9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: promptopt\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RulePackError, match=r"another project's distribution 'promptopt' 9\.9"):
        load_rules()


RULE = """
from promptopt.finding import Severity
from promptopt.rule import Rule
class Found(Rule):
    code, name, severity, since, subject = "AB1", "found", Severity.INFO, "1", str
"""


def pack(folder: Path, path: str, text: str) -> None:
    """Write one file of a pack, and forget an earlier import of it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    for name in [name for name in sys.modules if name.split(".")[0] == path.split("/", maxsplit=1)[0]]:
        del sys.modules[name]
