"""Which files belong to a project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptopt.config import Config
from promptopt.project.walk import Fault, walk


def tree(root: Path, *files: str, **contents: str) -> Path:
    """Make empty files, and files with contents (`__` stands for `/`, a leading `_` for `.`)."""
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    for name, text in contents.items():
        path = root / name.replace("__", "/").replace("gitignore", ".gitignore")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(root: Path, folder: str = "", **options: tuple[str, ...]) -> list[str]:
    """Files of the project at `root` under a configuration."""
    return walk(root, Config(root=root, **options), folder=folder)  # type: ignore[arg-type]


def test_python_files_in_order(tmp_path: Path) -> None:
    """Paths are relative, with `/`, sorted; other files are left alone."""
    tree(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a.txt", "a.pyc", "é.py")
    assert names(tmp_path) == ["a/b/c.py", "a/z.py", "b.py", "é.py"]


@pytest.mark.parametrize(
    "folder", [".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist", "a/site-packages"]
)
def test_folders_that_hold_no_source_are_left_out(tmp_path: Path, folder: str) -> None:
    """Build output, caches and installed packages are nobody's source."""
    tree(tmp_path, "main.py", f"{folder}/x.py")
    assert names(tmp_path) == ["main.py"]


def test_virtual_environments_are_known_by_their_marker(tmp_path: Path) -> None:
    """Whatever it is called, a folder with `pyvenv.cfg` is an environment."""
    tree(tmp_path, "main.py", "myenv/pyvenv.cfg", "myenv/lib/x.py")
    assert names(tmp_path) == ["main.py"]


def test_gitignore_files_count_where_they_stand(tmp_path: Path) -> None:
    """Nested files add to those above, negation included."""
    tree(
        tmp_path,
        *("a.py", "gen/x.py", "sub/gen.py", "sub/keep_gen.py", "sub/out/y.py", "other/out/y.py"),
        gitignore="/gen/\n*gen.py\n",
        sub__gitignore="# comment\n!keep_gen.py\nout/\n",
    )
    assert names(tmp_path) == ["a.py", "other/out/y.py", "sub/keep_gen.py"]


def test_gitignore_of_the_repository_above_counts(tmp_path: Path) -> None:
    """A project inside a repository is subject to the repository's files."""
    tree(tmp_path, "pkg/a.py", "pkg/x/b.py", "pkg/c.py", ".git/info/exclude", gitignore="pkg/x/\n", pkg__gitignore="")
    (tmp_path / ".git/info/exclude").write_text("c.py\n")
    assert names(tmp_path / "pkg") == ["a.py"]


def test_include_and_exclude(tmp_path: Path) -> None:
    """Patterns of the configuration choose among the rest."""
    tree(tmp_path, "src/a.py", "src/vendored/b.py", "tests/c.py", "setup.py")
    assert names(tmp_path, exclude=("src/vendored/",)) == ["setup.py", "src/a.py", "tests/c.py"]
    assert names(tmp_path, include=("src/**/*.py",)) == ["src/a.py", "src/vendored/b.py"]
    assert names(tmp_path, include=("src/**/*.py",), exclude=("vendored",)) == ["src/a.py"]


def test_one_folder_of_the_project(tmp_path: Path) -> None:
    """A folder that the user named is read although an ignore file leaves it out."""
    tree(tmp_path, "a.py", "out/b.py", "out/skip.py", gitignore="out/\n", out__gitignore="skip.py\n")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path, "out") == ["out/b.py"]


def test_links_are_harmless(tmp_path: Path) -> None:
    """Links to folders are not followed, so loops end; dangling links are no files."""
    tree(tmp_path, "a/b.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "c.py").symlink_to(tmp_path / "a" / "b.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    assert names(tmp_path) == ["a/b.py", "c.py"]


def test_folders_that_cannot_be_listed_are_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk goes on, and says what it could not read."""
    tree(tmp_path, "a.py", "secret/b.py", "z/c.py")
    listing = os.scandir

    def refuse(folder: Path) -> object:
        if folder.name == "secret":
            raise PermissionError(13, "Permission denied")
        return listing(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    faults: list[Fault] = []
    assert walk(tmp_path, Config(root=tmp_path), faults) == ["a.py", "z/c.py"]
    assert faults == [Fault("secret", "Permission denied", None, "unreadable")]


def test_a_line_of_an_ignore_file_that_is_no_pattern_matches_nothing(tmp_path: Path) -> None:
    """It is passed over, the others count."""
    tree(tmp_path, "kept.py", "left.py", gitignore="*_old\\/*\n[z-a].py\nleft.py\n")
    assert names(tmp_path) == ["kept.py"]
