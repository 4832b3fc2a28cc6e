"""`check --fix`, `--diff` and `--show-fixes`: what is written, what is left alone, what is said."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import promptopt.fix.files
import promptopt.writing
from promptopt.cli import main
from promptopt.finding import Applicability, Edit, Fix
from promptopt.fix import Failure, write_all
from promptopt.fix.edits import edited, go_together, rewritten
from promptopt.source import Location, SourceFile, Span, decode_source

BRACES = """from openai import OpenAI

client = OpenAI()
PROMPT = 'Answer as {"name": "...", "price": 1} about {question}.'


def ask(question: str):
    return client.responses.create(model="gpt-5", input=PROMPT.format(question=question))
"""
UNUSED = 'SYSTEM = "You are a clerk."  # promptopt: ignore[PO101]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two safe fixes, and the folder that the command runs in."""
    (tmp_path / "promptopt.toml").write_text('select = ["PO0", "PO101", "PO210"]\n')
    (tmp_path / "braces.py").write_bytes(BRACES.encode())
    (tmp_path / "unused.py").write_bytes(UNUSED.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fix_writes_what_is_safe(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was fixed is told on stderr, what is left on stdout; a second run changes nothing."""
    assert main(["check", "--fix"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("No findings in 2 files")
    assert told.err.splitlines() == [
        "braces.py:4 PO210 unescaped-braces: double the braces",
        "unused.py:1 PO003 unused-suppression: delete the comment",
        "Fixed 2 findings in 2 files.",
    ]
    assert (project / "unused.py").read_text() == 'SYSTEM = "You are a clerk."\n'
    assert '{{"name": "...", "price": 1}} about {question}' in (project / "braces.py").read_text()
    before = {file: file.stat().st_mtime_ns for file in project.iterdir()}
    assert main(["check", "--fix"]) == 0
    assert capsys.readouterr().err == "Fixed 0 findings in 0 files.\n"
    assert {file: file.stat().st_mtime_ns for file in project.iterdir()} == before


def test_diff_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The diff applies with `patch`; exit 1 where something would change."""
    assert main(["check", "--diff", "unused.py"]) == 1
    told = capsys.readouterr()
    assert told.out == (
        "--- unused.py\n+++ unused.py\n@@ -1 +1 @@\n"
        '-SYSTEM = "You are a clerk."  # promptopt: ignore[PO101]\n+SYSTEM = "You are a clerk."\n'
    )
    assert told.err.endswith("Would fix 1 finding in 1 file.\n")
    assert (project / "unused.py").read_text() == UNUSED
    assert main(["check", "--fix", "-q"]) == 0
    capsys.readouterr()
    assert main(["check", "--diff"]) == 0
    assert capsys.readouterr().out == ""


def test_show_fixes_fills_the_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fixes stand in the array on request only."""
    assert project.is_dir()
    main(["check", "--output-format", "json", "--show-fixes", "unused.py"])
    (entry,) = json.loads(capsys.readouterr().out)
    (fix,) = entry["fixes"]
    assert (fix["title"], fix["applicability"]) == ("delete the comment", "safe")
    assert fix["edits"][0]["content"] == ""
    assert fix["edits"][0]["location"] == {"row": 1, "column": 28}
    main(["check", "--output-format", "json", "unused.py"])
    assert json.loads(capsys.readouterr().out)[0]["fixes"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix", "--diff"], "--diff shows what --fix would do"),
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (["--fix", "--write-baseline", "b.json"], "fix first"),
    ],
)
def test_options_that_contradict(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """One line, and nothing is touched."""
    assert main(["check", *words]) == 2
    assert message in capsys.readouterr().err
    assert (project / "unused.py").read_text() == UNUSED


def test_only_what_is_shown_is_fixed(project: Path) -> None:
    """Findings below --min-severity, in the baseline or in other files stay."""
    assert main(["check", "--fix", "--min-severity", "error"]) == 1
    assert (project / "unused.py").read_text() == UNUSED
    assert main(["check", "--write-baseline", "known.json"]) == 0
    assert main(["check", "--fix", "--baseline", "known.json"]) == 0
    assert (project / "unused.py").read_text() == UNUSED
    assert main(["check", "--fix", "braces.py"]) == 0
    assert (project / "unused.py").read_text() == UNUSED
    assert main(["check", "--fix"]) == 0
    assert (project / "unused.py").read_text() != UNUSED


def test_stdin_is_fixed_to_stdout(
    project: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As editors use it: the new text on stdout, the report on stderr, no file touched."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UNUSED.replace("\n", "\r\n").encode())))
    assert main(["check", "--fix", "-", "--stdin-filename", "unused.py"]) == 0
    told = capsysbinary.readouterr()
    assert told.out == b'SYSTEM = "You are a clerk."\r\n'
    assert b"Fixed 1 finding in 1 file." in told.err
    assert b"No findings" in told.err
    assert (project / "unused.py").read_text() == UNUSED


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfX = 1  # promptopt: ignore[PO101]\r\n\tY\r", b"\xef\xbb\xbfX = 1\r\n\tY\r"),
        (b"# coding: latin-1\nX = '\xe9'  # promptopt: ignore[PO101]\n", b"# coding: latin-1\nX = '\xe9'\n"),
        (b"X = 1  # promptopt: ignore[PO101]\r\nY = '\x0c\xe2\x80\xa8'", b"X = 1\r\nY = '\x0c\xe2\x80\xa8'"),
        (b"X = 1  # promptopt: ignore[PO101]\nY = 2\r\nZ = 3", b"X = 1\nY = 2\r\nZ = 3"),
    ],
    ids=["bom-crlf-tab", "latin-1", "odd-line-ends", "mixed"],
)
def test_bytes_outside_the_edit_survive(project: Path, content: bytes, expected: bytes) -> None:
    """Encoding, byte-order mark, line ends, tabs and a last line without an end."""
    file = project / "unused.py"
    file.write_bytes(content.replace(b"\tY", b"Y = '\t'"))
    file.chmod(0o640)
    main(["check", "--fix", "unused.py"])
    assert file.read_bytes() == expected.replace(b"\tY", b"Y = '\t'")
    assert file.stat().st_mode & 0o777 == 0o640


def test_read_only_file_is_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so, exit 2; other files are fixed."""
    (project / "unused.py").chmod(0o444)
    assert main(["check", "--fix"]) == 2
    told = capsys.readouterr()
    assert "unused.py: not fixed: is read-only\n" in told.err
    assert "PO003" in told.out
    assert (project / "unused.py").read_text() == UNUSED
    assert (project / "braces.py").read_text() != BRACES


def test_file_changed_meanwhile_is_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody saved while promptopt was at work stays."""
    whole = promptopt.fix.files._groups

    def save(texts: Mapping[str, str], bound: list[frozenset[str]]) -> list[list[str]]:
        (project / "unused.py").write_text(UNUSED + "# saved\n")
        return whole(texts, bound)

    monkeypatch.setattr(promptopt.fix.files, "_groups", save)
    assert main(["check", "--fix"]) == 2
    assert "unused.py: not fixed: changed while promptopt was at work: run it again" in capsys.readouterr().err
    assert (project / "unused.py").read_text() == UNUSED + "# saved\n"


def test_files_of_one_fix_are_written_together(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of them cannot be written, the others get their old content back."""
    sources = {name: decode_source((project / name).read_bytes(), name) for name in ("braces.py", "unused.py")}
    texts = {name: source.text + "# new\n" for name, source in sources.items()}
    write = promptopt.writing.write_whole

    def refuse(file: Path, content: bytes) -> None:
        if file.name == "unused.py":
            raise OSError(28, "No space left on device")
        write(file, content)

    monkeypatch.setattr(promptopt.fix.files, "write_whole", refuse)
    assert write_all(project, sources, texts, [frozenset(texts)]) == [
        Failure("unused.py", "cannot be written: No space left on device"),
        Failure("braces.py", "changes together with unused.py"),
    ]
    assert (project / "braces.py").read_text() == BRACES
    assert [one.path for one in write_all(project, sources, texts, [])] == ["unused.py"]
    assert (project / "braces.py").read_text() == BRACES + "# new\n"


def edit(start: int, end: int, content: str) -> Edit:
    """An edit of one file."""
    return Edit(Location("a.py", Span(start, end)), content)


def fix(*edits: Edit) -> Fix:
    """A safe fix."""
    return Fix("fix", Applicability.SAFE, edits)


def test_edits_of_several_fixes() -> None:
    """Those that touch wait for the next round, equal ones are made once, line ends are the file's."""
    first = fix(edit(0, 1, "A"))
    assert go_together(fix(edit(2, 3, "C")), [first])
    assert not go_together(fix(edit(1, 2, "B")), [first])
    assert go_together(fix(edit(0, 1, "A"), edit(4, 4, "x")), [first])
    source = SourceFile("a.py", "abcd\r\n", newline="\r\n")
    assert rewritten([first, fix(edit(0, 1, "A"), edit(4, 4, "\ne"))], {"a.py": source}) == {"a.py": "Abcd\r\ne\r\n"}
    assert edited("abc", [edit(0, 0, "<"), edit(3, 3, ">")]) == "<abc>"
