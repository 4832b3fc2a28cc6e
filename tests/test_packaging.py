"""What the wheel puts into a user's environment, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

import promptopt

ROOT = Path(__file__).parent.parent
PACKAGES = (
    (ROOT, "promptopt"),
    (ROOT / "rules", "promptopt_rules"),
    (ROOT / "pytest_plugin", "pytest_promptopt"),
)
BUILD = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """The root of a wheel built from the checkout: no isolation, no network."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return zipfile.Path(folder / built.stdout.split()[-1])


def shipped(wheel: zipfile.Path) -> set[str]:
    """Names of all files in the wheel."""
    return set(wheel.root.namelist())


def test_wheel_claims_three_import_names(wheel: zipfile.Path) -> None:
    """`rules`, `tests` and the like are names of other people's packages."""
    names = {name.split("/")[0] for name in shipped(wheel)}
    assert {name for name in names if not name.endswith(".dist-info")} == {
        "promptopt",
        "promptopt_rules",
        "pytest_promptopt",
    }


@pytest.mark.parametrize("suffix", [".py", ".toml", ".typed", ".zlib"])
def test_wheel_has_every_source_file(wheel: zipfile.Path, suffix: str) -> None:
    """Code, tables of facts and type markers all arrive."""
    expected = {
        str(file.relative_to(folder).as_posix())
        for folder, package in PACKAGES
        for file in (folder / package).rglob(f"*{suffix}")
    }
    assert expected
    assert expected == {name for name in shipped(wheel) if name.endswith(suffix)}


def test_wheel_has_nothing_compiled_or_hidden(wheel: zipfile.Path) -> None:
    """Neither byte code nor caches nor editor files."""
    assert [name for name in shipped(wheel) if "__pycache__" in name or "/." in name or name.endswith(".pyc")] == []


def test_wheel_registers_commands_rule_pack_and_plugin(wheel: zipfile.Path) -> None:
    """Two commands, because another project's `promptopt` may hold the first name; our pack as any other's."""
    declared = ConfigParser()
    declared.read_string(
        next(p for p in wheel.iterdir() if p.name.endswith(".dist-info"))
        .joinpath("entry_points.txt")
        .read_text("utf-8")
    )
    assert {section: dict(declared[section]) for section in declared.sections()} == {
        "console_scripts": {"promptopt": "promptopt.cli:main", "promptopt-toolkit": "promptopt.cli:main"},
        "promptopt.rules": {"promptopt_rules": "promptopt_rules"},
        "pytest11": {"promptopt": "pytest_promptopt.plugin"},
    }


def test_wheel_has_the_version_of_the_package(wheel: zipfile.Path) -> None:
    """The number stands in one place."""
    assert f"promptopt_toolkit-{promptopt.__version__}.dist-info/METADATA" in shipped(wheel)


@pytest.mark.parametrize("folder", ["rules", "pytest_plugin", "tests"])
def test_source_folders_are_not_packages(folder: str) -> None:
    """An `__init__.py` here would claim a common import name in every editable install."""
    assert not (ROOT / folder / "__init__.py").exists()
