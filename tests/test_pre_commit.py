"""The hooks that the repository offers, run by pre-commit itself on a real git checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
PROMPT = """\
from openai import OpenAI

from texts import header

client = OpenAI()
RULES = "Answer from the handbook only, and quote the paragraph that you rely on. " * 80


def ask(question):
    system = f"{header()} {RULES}"
    return client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "system", "content": system}, {"role": "user", "content": question}]
    )
"""
STEADY = "def header():\n    return 'The handbook.'\n"
CLOCK = "from datetime import datetime\n\n\ndef header():\n    return str(datetime.now())\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed application without findings whose pre-commit configuration has the hook."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(BIN) + os.pathsep + os.environ["PATH"])
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "checkout"
    folder.mkdir()
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    local = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (folder / ".pre-commit-config.yaml").write_text(json.dumps(local))  # JSON is YAML
    (folder / "ask.py").write_text(PROMPT)
    (folder / "texts.py").write_text(STEADY)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x")
    return folder


def git(folder: Path, *words: str) -> None:
    """Run git."""
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)  # noqa: S607 (as users do)


def hooks(folder: Path) -> tuple[int, str]:
    """What pre-commit says to the files that are staged."""
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout


def test_a_commit_without_findings_passes(checkout: Path) -> None:
    """A changed file that does no harm."""
    (checkout / "texts.py").write_text(STEADY + "\n\nX = 1\n")
    git(checkout, "add", "-A")
    status, output = hooks(checkout)
    assert status == 0
    assert "Passed" in output


def test_a_changed_helper_reports_the_prompt_that_it_breaks(checkout: Path) -> None:
    """The prompt's own file is not part of the commit."""
    (checkout / "texts.py").write_text(CLOCK)
    git(checkout, "add", "texts.py")
    status, output = hooks(checkout)
    assert status == 1
    assert "ask.py:10:16 PO101 volatile-prefix" in output


def test_faults_elsewhere_do_not_stop_a_commit(checkout: Path) -> None:
    """Only what the commit touches is reported."""
    (checkout / "texts.py").write_text(CLOCK)
    git(checkout, "add", "-A")
    git(checkout, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qnm", "x")
    (checkout / "more.py").write_text("x = 1\n")
    git(checkout, "add", "-A")
    assert hooks(checkout)[0] == 0


def test_what_is_staged_is_checked(checkout: Path) -> None:
    """Not what lies in the folder beside it."""
    (checkout / "texts.py").write_text(CLOCK)
    git(checkout, "add", "texts.py")
    (checkout / "texts.py").write_text(STEADY)
    assert hooks(checkout)[0] == 1
    assert (checkout / "texts.py").read_text() == STEADY
    git(checkout, "add", "texts.py")
    (checkout / "texts.py").write_text(CLOCK)
    assert hooks(checkout)[0] == 0
    assert (checkout / "texts.py").read_text() == CLOCK


@pytest.mark.parametrize("name", ["with space.py", "ünï.py", "quo'te.py"])
def test_file_names(name: str, checkout: Path) -> None:
    """Names reach the command as they are."""
    (checkout / name).write_text(PROMPT.replace("from texts import header", "from time import time as header"))
    git(checkout, "add", "-A")
    status, output = hooks(checkout)
    assert status == 1
    assert f"{name}:10:16 PO101" in output


def test_excluded_files_stay_out(checkout: Path) -> None:
    """Although the hook names them."""
    (checkout / "vendored.py").write_text(PROMPT.replace("from texts import header", "from time import time as header"))
    (checkout / "promptopt.toml").write_text("exclude = ['vendored.py']\n")
    git(checkout, "add", "-A")
    assert hooks(checkout)[0] == 0
