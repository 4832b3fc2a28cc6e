"""The GitHub action: valid, and its step does what it says. Uploading cannot be tried here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CHECK = next(
    step
    for step in yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    if step.get("id") == "check"
)


def valid(schema: str, file: Path) -> str:
    """Complaints of a schema that the package check-jsonschema carries; empty for none."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_action_is_valid() -> None:
    """As GitHub reads it."""
    assert valid("github-actions", ROOT / "action.yml") == ""


def test_documented_jobs_are_valid(tmp_path: Path) -> None:
    """The recipes of the documentation can be pasted."""
    page = (ROOT / "docs" / "continuous-integration.md").read_text("utf-8")
    workflow, pipeline = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[-2:]
    (tmp_path / "workflow.yml").write_text("on: push\n" + workflow)
    (tmp_path / "pipeline.yml").write_text(pipeline)
    assert valid("github-workflows", tmp_path / "workflow.yml") == ""
    assert valid("gitlab-ci", tmp_path / "pipeline.yml") == ""


@pytest.mark.parametrize(
    ("paths", "args", "code_scanning", "status"),
    [
        ("examples", "", "false", 1),
        ("examples/support_assistant rules", "--ignore cache --ignore size", "true", 0),
        ("examples", "--select PO101", "true", 1),
        ("no/such/folder", "", "false", 2),
    ],
)
def test_check_step(paths: str, args: str, code_scanning: str, status: int, tmp_path: Path) -> None:
    """Findings become annotations or a SARIF file; only a run that failed ends the step."""
    environment = {
        **os.environ,
        "SCRIPTS": str(Path(sys.executable).parent),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATHS": paths,
        "ARGS": args,
        "CODE_SCANNING": code_scanning,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert (tmp_path / "output").read_text() == f"status={status}\n"
    assert done.returncode == (status == 2)
    assert done.stdout.startswith("::warning ") == (code_scanning == "false" and status == 1)
    sarif = tmp_path / "promptopt.sarif"
    assert sarif.exists() == (code_scanning == "true")
    if sarif.exists():
        assert bool(json.loads(sarif.read_text())["runs"][0]["results"]) == (status == 1)
