"""The example that uses all of the plugin, run with the real SDKs; skipped where they are not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tested_assistant"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The example's own tests."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_promptopt.plugin", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example."""
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "example"


def test_all_promises_hold(example: Path) -> None:
    """And the lock file is that of today's prompts."""
    lock = (example / "promptopt.lock").read_text("utf-8")
    done = run(example, "--promptopt-update", "--promptopt-report=report.json")
    assert done.returncode == 0, done.stdout
    assert (example / "promptopt.lock").read_text("utf-8") == lock
    rows = json.loads((example / "report.json").read_text())
    assert {row["prompt"] for row in rows} >= {"prompts/rules.j2", "assistant.py::Conversation.reply", "request 0"}
    assert not any(row["failed"] for row in rows)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("sorted(RULES)", "RULES", "the same words in another order"),
        (
            '{"role": "system", "content": instructions()},\n        {',
            '{"role": "system", "content": now + instructions()},\n        {',
            "at what looks like a time",
        ),
        (
            "max_completion_tokens=300, stream=True\n        )\n        for",
            "stream=True\n        )\n        for",
            "2 of 2 LLM requests: no limit on the answer's tokens",
        ),
        (
            "self.turns = list(self.trimmer.trim(self.turns).messages)",
            "pass",
            "the conversation still grows after 40 turns",
        ),
        (
            "max_tokens=200,\n        system",
            "max_tokens=900,\n        system",
            "more than 200 tokens allowed for the answer",
        ),
    ],
)
def test_promises_that_are_broken_fail(example: Path, old: str, new: str, told: str) -> None:
    """Each with its own words."""
    source = (example / "assistant.py").read_text("utf-8")
    assert old in source
    (example / "assistant.py").write_text(source.replace(old, new, 1), "utf-8")
    done = run(example)
    assert done.returncode == 1
    assert told in done.stdout
