"""Budgets, samples and the lock file, as the commands show them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptopt.cli import main
from promptopt.errors import ConfigError
from promptopt.lock import LockEntry, read_lock, write_lock
from promptopt.samples import read_samples
from promptopt.tokens import count_tokens

RULES = "Answer from the handbook only, and quote the paragraph that you rely on. " * 40
APP = f'''\
from pathlib import Path
from openai import OpenAI

client = OpenAI()
RULES = """{RULES}"""


def answer(question):
    system = RULES + Path("prompts/tone.md").read_text()
    return client.chat.completions.create(
        model="gpt-4o", messages=[{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
    )


def title(text):
    messages = [{{"role": "user", "content": "Give this text a title: " + text}}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)
'''
TONE = "Be polite.\n"
SIZE = count_tokens(RULES) + count_tokens(TONE)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two prompts, one of them with a text file in it, and a budget for the larger one that holds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/tone.md").write_text(TONE)
    (tmp_path / "app.py").write_text(APP)
    budget(tmp_path, f'"app.py::answer" = {{tokens = {SIZE}, stable-prefix = {SIZE}, growth = 5}}')
    return tmp_path


def budget(folder: Path, *entries: str) -> None:
    """Set the project's budgets."""
    (folder / "promptopt.toml").write_text("[budgets]\n" + "\n".join(entries))


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The command's entries by name."""
    capsys.readouterr()
    main(["budget", "--output-format", "json", *words])
    return {entry.pop("name"): entry for entry in json.loads(capsys.readouterr().out)}


def test_a_budget_that_holds(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted as the model counts; values without a sample are told, not guessed."""
    assert main(["budget"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["prompt", "tokens", "budget", "stable", "prefix", "since", "lock"]
    assert lines[1].split() == [
        "app.py::answer",
        f"{SIZE}+",
        f"{SIZE}",
        f"{SIZE}",
        "(100%)",
        "new",
        *("not", "in", "promptopt.lock"),
    ]
    assert lines[-1] == "1 prompt with a budget, 0 broken; 1 without one (--all)."
    (entry,) = listed(capsys).values()
    assert entry == {
        "tokens": SIZE,
        "without_sample": ["question"],
        "stable_prefix": {"proved": SIZE, "possible": SIZE},
        "encoding": "o200k_base",
        "estimate": False,
        "budget": {"tokens": SIZE, "stable-prefix": SIZE, "growth": 5.0, "samples": None},
        "growth": None,
        "breaches": [],
        "doubts": ["not in promptopt.lock"],
    }


def test_a_longer_prompt_breaks_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits 1, and `check` reports an error at the prompt."""
    (project / "prompts/tone.md").write_text(TONE * 10)
    assert main(["budget"]) == 1
    assert capsys.readouterr().out.splitlines()[1].endswith("over budget, not in promptopt.lock")
    assert main(["check", "--select", "PO202", "--output-format", "concise"]) == 1
    more = count_tokens(TONE * 10) - count_tokens(TONE)
    assert capsys.readouterr().out == (
        f"app.py:10:12: PO202 over-budget [error] app.py::answer has at least {SIZE + more} tokens, {more} over its "
        f"budget of {SIZE}.\n"
    )


def test_a_clock_at_the_top_breaks_the_stable_prefix(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tokens ahead of the first value that changes are the stable prefix."""
    changed = APP.replace("system = RULES", 'system = f"{datetime.now()} " + RULES')
    (project / "app.py").write_text("from datetime import datetime\n" + changed)
    entry = listed(capsys)["app.py::answer"]
    assert entry["stable_prefix"] == {"proved": 0, "possible": 0}
    assert entry["breaches"][-1] == f"has a stable prefix of 0 tokens; its budget asks for {SIZE}"


def test_growth_is_measured_from_the_lock_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within the percentage nothing is said; beyond it the prompt is named; an update accepts it."""
    budget(project, '"app.py::answer" = {growth = 5}')
    assert main(["budget", "--update"]) == 0
    (project / "prompts/tone.md").write_text(TONE * 3)
    assert main(["budget"]) == 0
    (project / "prompts/tone.md").write_text(TONE * 30)
    assert main(["budget"]) == 1
    assert "grew more than 5%" in capsys.readouterr().out
    assert main(["check", "--select", "PO202"]) == 1
    assert main(["budget", "--update"]) == 0
    assert listed(capsys)["app.py::answer"]["growth"] == 0


def test_lock_file_is_sorted_and_kept_for_prompts_elsewhere(project: Path) -> None:
    """An update of one folder leaves the entries of others; prompts that are gone leave with their file."""
    (project / "sub").mkdir()
    (project / "sub/other.py").write_text(APP)
    main(["budget", "--update"])
    names = ["app.py::answer", "app.py::title", "sub/other.py::answer", "sub/other.py::title"]
    assert list(read_lock(project / "promptopt.lock")) == names
    (project / "app.py").write_text(APP.replace("def title", "def headline"))
    main(["budget", "--update", "sub"])
    assert list(read_lock(project / "promptopt.lock")) == names
    main(["budget", "--update"])
    assert "app.py::headline" in read_lock(project / "promptopt.lock")
    assert "app.py::title" not in read_lock(project / "promptopt.lock")
    (project / "app.py").unlink()
    main(["budget", "--update", "sub"])
    assert list(read_lock(project / "promptopt.lock")) == names[2:]


def test_patterns_and_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern holds for prompts by file, and for text files that are sent; the last one wins, a name before all."""
    budget(project, '"*.py" = 1', '"app.py" = 5000', '"prompts/" = 2', '"*::titl?" = 3')
    entries = listed(capsys)
    assert {name: entry["budget"]["tokens"] for name, entry in entries.items()} == {
        "app.py::answer": 5000,
        "app.py::title": 3,
        "prompts/tone.md": 2,
    }
    assert entries["prompts/tone.md"]["tokens"] == count_tokens(TONE)
    assert main(["check", "--select", "PO202", "--output-format", "concise"]) == 1
    assert "prompts/tone.md:1:1: PO202" in capsys.readouterr().out


def test_a_budget_that_matches_nothing_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, so that a typo does not look like a prompt that holds."""
    budget(project, '"app.py::anser" = 5', '"app.py::answer" = 5000')
    assert main(["budget"]) == 0
    assert capsys.readouterr().err == (
        "budgets: 'app.py::anser' matches no prompt and no file that a prompt is made of: "
        "did you mean 'app.py::answer'?\n"
    )


@pytest.mark.parametrize("name", ["samples.json", "samples.yaml"])
def test_samples_fill_values_in(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value with a sample counts with its tokens."""
    if name.endswith(".yaml"):
        pytest.importorskip("yaml", reason="needs PyYAML")
    question = "Where is my parcel?"
    (project / name).write_text(json.dumps({"question": question, "text": 12}))
    budget(project, f'"app.py" = {{tokens = 5000, samples = "{name}"}}')
    entries = listed(capsys)
    assert entries["app.py::answer"]["tokens"] == SIZE + count_tokens(question)
    assert entries["app.py::answer"]["without_sample"] == []
    assert entries["app.py::title"]["tokens"] == count_tokens("Give this text a title: ") + 1


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("no.json", None, "sample values cannot be read: "),
        ("a.json", b"{", "sample values cannot be read: Expecting"),
        ("a.json", b"[1]", "sample values must be a table"),
        ("a.json", b"\xff", "sample values cannot be read: "),
        ("a.json", b"[" * 100_000, "sample values cannot be read: "),
        ("a.csv", b"a", "sample values are read from .json, .toml, .yaml, .yml files"),
        ("a.toml", b"a", "sample values cannot be read: "),
        ("a.yaml", b"a: &x [1]\nb: *x\n", "aliases .* are not followed"),
        ("a.yaml", b"a: [", "not YAML"),
        ("a.yaml", b"!!python/object/apply:os.getcwd []", "not YAML"),
    ],
)
def test_unusable_samples(name: str, content: bytes | None, reason: str, tmp_path: Path) -> None:
    """One line that names the file; a document is data and nothing in it is run."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=reason) as caught:
        read_samples(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_yaml_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "a.yml").write_text("a: 1\n")
    with pytest.raises(ConfigError, match="PyYAML"):
        read_samples(tmp_path / "a.yml")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[", "not a lock file"),
        (b"\xff", "not a lock file"),
        (b"tokens = 5", "'tokens' must be a table"),
        (b'["a.py::f"]\ntokens = "5"\nstable-prefix = 1\nencoding = "x"', "'a.py::f' must be a table"),
        (b'["a.py::f"]\ntokens = 5', "'a.py::f' must be a table"),
        (b"<<<<<<< HEAD\n", "not a lock file"),
    ],
)
def test_a_corrupt_lock_file_is_an_error_and_stays(
    content: bytes, reason: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with one line; an update does not write over it either."""
    (project / "promptopt.lock").write_bytes(content)
    for words in (["budget"], ["budget", "--update"], ["check"]):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert reason in error
        assert error.count("\n") == 1
    assert (project / "promptopt.lock").read_bytes() == content


def test_lock_file_takes_any_name(tmp_path: Path) -> None:
    """Names are quoted as TOML wants them."""
    entries = {'a "b\\c".py::f': LockEntry(1, 0, "o200k_base"), "ü\n\t.py::g#2": LockEntry(2, 1, "x/y.json")}
    write_lock(tmp_path / "promptopt.lock", entries)
    assert read_lock(tmp_path / "promptopt.lock") == entries
    write_lock(tmp_path / "promptopt.lock", {"\udcff.py::f": LockEntry(1, 0, "x")})
    assert list(read_lock(tmp_path / "promptopt.lock")) == ["\\udcff.py::f"]


def test_other_encodings_are_not_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts of two encodings say nothing about growth."""
    write_lock(project / "promptopt.lock", {"app.py::answer": LockEntry(1, 0, "cl100k_base")})
    assert main(["budget"]) == 0
    assert "was cl100k_base" in capsys.readouterr().out


def test_no_budgets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without budgets the closing line says how to see the prompts."""
    (project / "promptopt.toml").unlink()
    assert main(["budget"]) == 0
    assert capsys.readouterr().out == "0 prompts with a budget, 0 broken; 2 without one (--all).\n"
    assert list(listed(capsys, "--all")) == ["app.py::answer", "app.py::title"]


def test_a_limit_that_bytes_prove_loads_no_ranks(project: Path) -> None:
    """`check` with a budget costs what it costs without one, until something has to be counted."""
    code = (
        "import sys; from promptopt.cli import main; main(['check', '--select', 'PO202']); "
        "print('tiktoken' in sys.modules or 'splintr' in sys.modules, file=sys.stderr)"
    )
    for limit, loaded in ((5 * SIZE * len(RULES), "False"), (SIZE, "True")):
        budget(project, f'"app.py" = {limit}')
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[-1] == loaded


def test_a_prefix_that_may_be_long_enough_breaks_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is unknown is told, not judged."""
    (project / "app.py").write_text(APP.replace("system = RULES", "system = unknown() + RULES"))
    budget(project, f'"app.py::answer" = {{stable-prefix = {SIZE}}}')
    assert main(["budget"]) == 0
    assert f"stable prefix of {SIZE} not proved" in capsys.readouterr().out
    entry = listed(capsys)["app.py::answer"]
    assert (entry["stable_prefix"], entry["breaches"]) == ({"proved": 0, "possible": SIZE}, [])
    budget(project, f'"app.py::answer" = {{stable-prefix = {SIZE + 1}}}')
    assert main(["budget"]) == 1


def test_entries_that_are_no_prompt_any_more_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until an update takes them out."""
    main(["budget", "--update"])
    (project / "app.py").write_text(APP.replace("def title", "def headline"))
    capsys.readouterr()
    assert main(["budget"]) == 0
    assert "promptopt.lock: 'app.py::title' is no prompt any more: --update takes it out" in capsys.readouterr().err


def test_stdin_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Budgets are about the prompts of files."""
    assert main(["budget", "-", "--stdin-filename", "app.py"]) == 2
    assert "budget" in capsys.readouterr().err
