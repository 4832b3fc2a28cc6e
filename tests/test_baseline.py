"""Baselines and changed lines, on the command line, in a real git checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from promptopt.baseline import read_baseline, write_baseline
from promptopt.cli import main
from promptopt.errors import UsageError

APP = """\
from datetime import datetime
from openai import OpenAI

from rules import RULES

client = OpenAI()


def answer(question):
    system = f"It is {datetime.now():%H:%M:%S}.\\n" + RULES
    return client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
    )
"""
RULES = 'RULES = "Answer from the handbook, in the language of the question. " * 200\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed application with one finding, whose constant text stands in another file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "pyproject.toml").write_text("[tool.promptopt]\nselect = ['cache']\n")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    """Run git with an identity and nobody's configuration."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)  # noqa: S607 (as users do)


def commit(folder: Path) -> None:
    """Commit everything."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, int]]:
    """File and row of each warning of a run."""
    main(["check", "--output-format", "json", "--min-severity", "warning", *words])
    entries = json.loads(capsys.readouterr().out)
    return [(entry["filename"], entry["location"]["row"]) for entry in entries]


def test_baseline_takes_known_findings_away(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Accepted findings are counted, not shown, and do not fail the run; new ones do."""
    assert main(["check"]) == 1
    assert main(["check", "--write-baseline", "known.json"]) == 0
    capsys.readouterr()
    assert main(["check", "--baseline", "known.json"]) == 0
    assert "1 finding in the baseline." in capsys.readouterr().out
    (project / "other.py").write_text(APP)
    assert rows(capsys, "--baseline", "known.json") == [("other.py", 10)]


def test_lines_inserted_above_never_revive(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fingerprint holds no line numbers."""
    main(["check", "--write-baseline", "known.json"])
    (project / "app.py").write_text("# a\n\n\nimport os\n\n" + APP.replace("client = ", "X = 1\n\nclient = "))
    capsys.readouterr()
    assert rows(capsys) == [("app.py", 17)]
    assert rows(capsys, "--baseline", "known.json") == []


def test_baseline_of_nothing(tmp_path: Path) -> None:
    """A clean project's baseline is valid and knows nothing."""
    write_baseline(tmp_path / "known.json", ())
    assert read_baseline(tmp_path / "known.json").fingerprints == frozenset()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file"),
        (b"{", "not a baseline: Expecting"),
        (b"\xff", "not a baseline: 'utf-8'"),
        (b"[]", "not a baseline of version 1"),
        (b'{"version": 2, "findings": []}', "not a baseline of version 1"),
        (b'{"version": 1, "findings": [1]}', "not a baseline of version 1"),
        (b'{"version": 1, "findings": [{"fingerprint": null}]}', "not a baseline of version 1"),
    ],
)
def test_unusable_baseline(content: bytes | None, reason: str, tmp_path: Path) -> None:
    """One line that names the file and the way out; never a run without the baseline."""
    file = tmp_path / "known.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as caught:
        read_baseline(file)
    assert "known.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unwritable_baseline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error, exit 2."""
    assert main(["check", "--write-baseline", "no/such/folder/known.json"]) == 2
    assert "the baseline cannot be written: No such file" in capsys.readouterr().err


def test_diff_base_reports_what_the_change_touches(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unchanged findings are counted only; a changed line of the place, or of its chain, brings them back."""
    git(project, "checkout", "-qb", "work")
    assert rows(capsys, "--diff-base", "main") == []
    (project / "app.py").write_text("import os\n" + APP)
    assert rows(capsys, "--diff-base", "main") == []
    main(["check", "--diff-base", "main"])
    assert "1 finding on lines unchanged since main." in capsys.readouterr().out
    (project / "app.py").write_text(APP.replace("It is", "Now it is"))
    assert rows(capsys, "--diff-base", "main") == [("app.py", 10)]
    commit(project)
    assert rows(capsys, "--diff-base", "main") == [("app.py", 10)]
    (project / "app.py").write_text(APP + "\n\nX = 1\n")
    assert rows(capsys, "--diff-base", "main") == []
    (project / "app.py").write_text(APP.replace("    return client.chat", "    return  client.chat"))
    assert rows(capsys, "--diff-base", "main") == [("app.py", 10)]


def test_changes_of_the_base_since_the_branch_left_do_not_count(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compared is the commit where both parted."""
    git(project, "checkout", "-qb", "work")
    git(project, "checkout", "-q", "main")
    (project / "app.py").write_text(APP.replace("It is", "Now it is"))
    commit(project)
    git(project, "checkout", "-q", "work")
    assert rows(capsys, "--diff-base", "main") == []


@pytest.mark.parametrize("name", ["new.py", "with space.py", 'quo"te.py', "ünï.py", "tab\t.py", "back\\slash.py"])
def test_file_names(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that git does not know yet, then committed and changed ones, whatever they are called."""
    (project / name).write_text(APP)
    assert rows(capsys, "--diff-base", "HEAD") == [(name, 10)]
    commit(project)
    assert rows(capsys, "--diff-base", "HEAD") == []
    (project / name).write_text(APP.replace("It is", "++ b/app.py\\n+++ It is"))
    assert rows(capsys, "--diff-base", "HEAD") == [(name, 10)]


def test_deleted_lines_touch_what_they_stood_in(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line taken out of a statement changes it; one taken out elsewhere does not."""
    (project / "app.py").write_text(APP.replace("\n\ndef", "\ndef"))
    assert rows(capsys, "--diff-base", "HEAD") == []


@pytest.mark.parametrize(
    ("base", "reason"), [("nothing", "nothing: no such commit"), ("--all", "no such commit"), ("orphan", "shares no")]
)
def test_unusable_base(base: str, reason: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit 2."""
    git(project, "checkout", "-q", "--orphan", "orphan")
    (project / "app.py").unlink()
    commit(project)
    git(project, "checkout", "-q", "main")
    assert main(["check", f"--diff-base={base}"]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def test_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Outside of git there is nothing to compare with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "app.py").write_text(APP)
    assert main(["check", "--diff-base", "main"]) == 2
    assert "not a git repository" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["check", "--diff-base", "main"]) == 2
    assert "--diff-base needs git" in capsys.readouterr().err
