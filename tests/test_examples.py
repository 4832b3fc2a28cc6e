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


def line(finding: dict[str, Any]) -> str:
    """The source line that the finding points at."""
    path: str = finding["filename"]
    row: int = finding["location"]["row"]
    return (ROOT / path).read_text("utf-8").splitlines()[row - 1].strip()


def files(finding: dict[str, Any]) -> set[str]:
    """Names of the files that the finding leads through, its prompt's among them."""
    paths = [place["filename"] for place in (finding, *finding["related"])]
    return {Path(path).name for path in (*paths, (finding["prompt"] or "").partition("::")[0])}


def test_every_fault_is_found_and_nothing_else(findings: list[dict[str, Any]]) -> None:
    """Six faults through variables, helpers, files, a wrapper and a chain; the look-alikes are silent."""
    assert [(finding["code"], line(finding)) for finding in findings] == [
        ("PO101", '("system", "The customer is {customer_name}.\\n\\n" + HANDBOOK + SUMMARY_TASK),'),
        ("PO109", "completion = self._client.chat.completions.create("),
        ("PO101", 'return f"Current time: {clock()}\\n\\n{HANDBOOK}"'),
        ("PO102", 'topics = ", ".join(departments())'),
        ("PO103", "tools=[TOOLS[name] for name in enabled],"),
        ("PO104", 'instructions = f"{HANDBOOK}\\n{TASK}\\nIt is {clock()}."'),
    ]


def test_readme_of_the_example_tells_what_is_found(findings: list[dict[str, Any]]) -> None:
    """Each row of its table is a finding that leads through the row's file, and each finding has a row."""
    table = (ROOT / ASSISTANT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+\.py)`, .*\| (PO\d+) ", table, re.MULTILINE)
    assert sorted(code for _, code in rows) == sorted(finding["code"] for finding in findings)
    for file, code in rows:
        assert any(file in files(finding) for finding in findings if finding["code"] == code)


def test_chain_leads_from_the_clock_to_the_call(findings: list[dict[str, Any]]) -> None:
    """The time is followed from another file's helper through the wrapper, and the prompt bears the caller's name."""
    clock = next(
        finding for finding in findings if finding["prompt"] == f"{ASSISTANT.as_posix()}/chat.py::Conversation.reply"
    )
    assert clock["severity"] == "warning"
    assert {"prompts.py", "llm.py"} <= files(clock)
    assert "datetime.now()" in clock["message"]


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
