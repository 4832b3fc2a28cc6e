"""The rooms of the house: every module stands in one, and the door opens without carrying in furniture."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("jinja2", "libcst", "numpy", "rich", "tiktoken")


def contract(identifier: str) -> dict[str, Any]:
    """The import contract of that id, as pyproject.toml declares it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return next(entry for entry in declared if entry["id"] == identifier)


def rooms() -> list[str]:
    """The packages and modules that the layers contract names."""
    return [room.strip(" ()") for layer in contract("layers")["layers"] for room in layer.split(":")]


def modules() -> list[str]:
    """Dotted names of all modules that the wheel ships."""
    found = []
    for folder in (ROOT / "promptopt", ROOT / "rules/promptopt_rules", ROOT / "pytest_plugin/pytest_promptopt"):
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(found)


def test_every_module_stands_in_one_layer() -> None:
    """A new module joins a layer of the contract; only the package's own `__init__` stands above all."""
    homeless = {
        module: homes
        for module in modules()
        if len(homes := [room for room in rooms() if f"{module}.".startswith(f"{room}.")]) != 1
    }
    assert homeless == {"promptopt": []}


def test_every_layer_exists() -> None:
    """A room that the contract names is on the floor plan."""
    assert [room for room in rooms() if room not in modules()] == []


def test_syntax_trees_are_forbidden_outside_readers() -> None:
    """The contract about syntax trees names every room but the readers and the one that rewrites."""
    assert set(contract("trees")["source_modules"]) == set(rooms()) - {"promptopt.readers", "promptopt.fix"}


@pytest.mark.parametrize("entry", ["import promptopt.cli", "import promptopt"])
def test_import_loads_nothing_heavy(entry: str) -> None:
    """Starting the command or importing the package loads no library that the work may not need."""
    loaded = subprocess.run(
        [sys.executable, "-c", f"{entry}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "promptopt" in loaded
    assert [name for name in HEAVY if name in loaded] == []
