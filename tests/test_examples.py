"""The main job, end to end: what `promptopt check examples` finds is what the example's README promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ASSISTANT = Path("examples/support_assistant")
PROMPTOPT = Path(sys.executable).with_name("promptopt")


def promptopt(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed command, run in the checkout."""
    return subprocess.run([PROMPTOPT, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def findings() -> list[dict[str, Any]]:
    """What `promptopt check` says about the examples."""
    done = promptopt("check", "examples", "--output-format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    return list(json.loads(done.stdout))


def place(finding: dict[str, Any]) -> tuple[str, str, str | None]:
    """Rule and the line that it points at, with the prompt's function."""
    text = (ROOT / finding["filename"]).read_text("utf-8").splitlines()[finding["location"]["row"] - 1]
    prompt = finding["prompt"] and finding["prompt"].removeprefix(f"{ASSISTANT.as_posix()}/")
    return finding["code"], text.strip(), prompt


def test_every_fault_is_found_and_nothing_else(findings: list[dict[str, Any]]) -> None:
    """Six faults through variables, helpers, files, a wrapper and a chain; the look-alikes are silent."""
    assert sorted(map(place, findings)) == []


def test_readme_of_the_example_lists_what_is_found(findings: list[dict[str, Any]]) -> None:
    """Each row of its table is a finding, and each finding has a row."""
    table = (ROOT / ASSISTANT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `\w+\.py`, `([\w.]+)` \|.*\| (PO\d+) ", table, re.MULTILINE)
    assert sorted(rows) == sorted((finding["prompt"].partition("::")[2], finding["code"]) for finding in findings)


def test_show_draws_every_prompt_of_the_example() -> None:
    """`promptopt show` names the function that each prompt comes from."""
    done = promptopt("show", "examples")
    assert done.returncode == 0
    shown = set(re.findall(r"support_assistant/(\w+\.py::[\w.]+)", done.stdout))
    assert shown >= {
        "chat.py::Conversation.reply",
        "chat.py::Conversation.reply_with_stable_prefix",
        "retrieval.py::advise",
        "retrieval.py::advise_in_fixed_order",
        "triage.py::sort_mail",
        "triage.py::sort_mail_with_working_breakpoint",
        "handover.py::summarize",
        "handover.py::summarize_with_stable_prefix",
    }
