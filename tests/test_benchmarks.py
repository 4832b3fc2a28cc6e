"""The benchmark runs and means what its page says. Nothing here judges a time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_benchmark_prints_the_documented_figures() -> None:
    """One JSON line whose fields are those of docs/benchmarks.md, in its order, about exactly that tree."""
    command = [sys.executable, "benchmarks/lint.py", "examples"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs" / "benchmarks.md").read_text("utf-8"), re.MULTILINE)
    assert list(figures) == [field for row in rows for field in re.findall(r"`(\w+)`", row)]
    assert figures["files"] == len(list((ROOT / "examples").rglob("*.py")))
    assert 0 < figures["files_needed"] <= figures["files"]
    assert 0 < figures["floor_cpu_seconds"] < figures["cpu_seconds"]
    assert figures["prompts"] > 0


def test_benchmark_refuses_what_is_no_folder() -> None:
    """A wrong path is one line and exit status 2."""
    command = [sys.executable, "benchmarks/lint.py", "README.md"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "README.md is not a folder" in done.stderr
