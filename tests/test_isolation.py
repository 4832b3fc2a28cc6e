"""Code under analysis is data: nothing of it is imported or run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_modules_that_shadow_the_standard_library(tmp_path: Path) -> None:
    """Run in a folder whose modules would leave a mark if they were imported."""
    mark = tmp_path / "mark"
    for name in ("typing", "datetime", "json", "openai", "app"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    command = [sys.executable, "-m", "promptopt", "check", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
