"""`promptopt check` and `promptopt show`: options, exit statuses and where output goes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from promptopt.cli import main
from promptopt.config import Config
from promptopt.lint import Project
from promptopt.prompt import Block, Call, Cause, Interpolation, Message, Prompt, Text, Volatility
from promptopt.source import Location, SourceFile, Span

CODE = "system = f'{now()}' + RULES\nask(system)  # promptopt: ignore[PO104]\n"


def linked(path: str, volatility: Volatility) -> Prompt:
    """A system prompt that begins with a value of that volatility."""
    place = Location(path, Span(9, 17))
    cause = Cause("time-of-day", "the time of day", volatility, "now()", (place,))
    parts = (Interpolation("now()", volatility, (cause,), place), Text("Answer briefly. " * 400))
    call = Call("openai", "chat", "openai", Location(path, Span(28, 39)), "ask")
    return Prompt(f"{path}::<module>", call, call.location, None, (Message("system", (Block(parts),)),))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose link step gives a warning in a.py and a hint in b.py."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(CODE)
    sources = {name: SourceFile(name, CODE) for name in ("a.py", "b.py")}
    prompts = (linked("a.py", Volatility.CALL), linked("b.py", Volatility.DAY))

    def read_project(paths: list[Path], config: Config, overlay: dict[Path, bytes]) -> Project:
        del paths, overlay
        return Project(config.root, ("a.py", "b.py"), sources, (), prompts, tuple(p.call for p in prompts), 3)

    monkeypatch.setattr("promptopt.lint.read_project", read_project)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 1),
        (["--exit-zero"], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "info"], 1),
        (["--select", "PO104"], 0),
        (["--select", "PO104", "--extend-select", "PO101"], 1),
        (["--ignore", "PO101,PO003"], 0),
        (["--ignore", "PO101", "--ignore", "unused-suppression"], 0),
        (["--ignore", "cache", "--ignore", "run"], 0),
        (["--min-severity", "error"], 1),
    ],
)
def test_exit_status(project: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int) -> None:
    """1 where something at or above --fail-on is left, whether or not it is shown."""
    assert project.is_dir()
    assert main(["check", *words]) == status
    assert capsys.readouterr().err == ""


def test_min_severity_has_a_default_per_format(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People see warnings and one line that counts the rest; machines see everything."""
    assert project.is_dir()
    main(["check", "--select", "PO101"])
    text = capsys.readouterr().out
    assert "a.py:1:10 PO101" in text
    assert "b.py" not in text
    assert text.splitlines()[-1].endswith("1 hint hidden (--min-severity info).")
    main(["check", "--select", "PO101", "--output-format", "json"])
    assert [entry["severity"] for entry in json.loads(capsys.readouterr().out)] == ["warning", "info"]
    main(["check", "--select", "PO101", "--output-format", "concise"])
    assert len(capsys.readouterr().out.splitlines()) == 1
    main(["check", "--select", "PO101", "--output-format", "json", "--min-severity", "error"])
    assert json.loads(capsys.readouterr().out) == []


def test_select_on_the_command_line_replaces_the_configured_selection(project: Path) -> None:
    """A configured ignore does not outlive an explicit --select; without one it stands."""
    (project / "promptopt.toml").write_text('ignore = ["PO101", "PO003"]\n')
    assert main(["check"]) == 0
    assert main(["check", "--select", "PO101"]) == 1
    assert main(["check", "--isolated"]) == 1


def test_configured_severity(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The main level moves, the milder variant stays."""
    (project / "promptopt.toml").write_text('select = ["PO101"]\nseverity = {volatile-prefix = "error"}\n')
    assert main(["check", "--output-format", "json", "--fail-on", "error"]) == 1
    assert [entry["severity"] for entry in json.loads(capsys.readouterr().out)] == ["error", "info"]


def test_output_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report goes to the file, nothing to stdout; a folder that is missing is an error."""
    assert main(["check", "--output-format", "json", "--output-file", "report.json"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads((project / "report.json").read_text())
    assert main(["check", "--output-file", "no/such/report.txt"]) == 2
    assert "no/such/report.txt: cannot be written: No such file" in capsys.readouterr().err


def test_statistics(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts by rule take the place of the findings."""
    assert project.is_dir()
    assert main(["check", "--statistics", "--min-severity", "info"]) == 1
    assert capsys.readouterr().out == "     2  PO003 unused-suppression\n     2  PO101 volatile-prefix\n"
    main(["check", "--statistics", "--output-format", "json", "--select", "PO101"])
    assert json.loads(capsys.readouterr().out) == [{"code": "PO101", "name": "volatile-prefix", "count": 2}]


def test_quiet_and_verbose(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-q leaves out the closing line, -v tells what was read and where evaluation was cut off."""
    assert project.is_dir()
    main(["check", "-q"])
    assert "Found" not in capsys.readouterr().out
    main(["check", "-v"])
    captured = capsys.readouterr()
    assert "Found 3 warnings in 2 of 2 files" in captured.out
    assert "3 evaluations were cut off" in captured.err


@pytest.mark.parametrize(
    ("choice", "environment", "colored"),
    [
        ("auto", {}, False),
        ("always", {}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    choice: str,
    environment: dict[str, str],
    colored: bool,  # noqa: FBT001 (an expected value)
) -> None:
    """--color decides, then NO_COLOR, then FORCE_COLOR, then whether there is a terminal."""
    assert project.is_dir()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for command in (["check"], ["show"], ["rule", "PO101"]):
        main([*command, "--color", choice])
        assert ("\x1b[" in capsys.readouterr().out) is colored


def test_show_files_and_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both print and exit 0 without running rules."""
    assert main(["check", "--show-files"]) == 0
    assert capsys.readouterr().out == "a.py\nb.py\n"
    (project / "promptopt.toml").write_text(
        'select = ["PO1"]\nseverity = {PO101 = "info"}\nbudgets = {a = {tokens = 5}}\n'
    )
    assert main(["check", "--show-settings"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert {
        'select = ["PO1"]',
        "severity = {PO101 = info}",
        "budgets = {a = {tokens = 5}}",
        f"root = {project}",
    } <= set(printed)


def test_unprintable_characters_are_escaped(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that cannot print a character gets an escape and ASCII drawings, never a crash."""
    written = project / "out.txt"
    with written.open("w", encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert main(["check"]) == 1
        assert main(["show"]) == 0
    assert "prefix  |0 tokens | ....." in written.read_text("ascii")


def test_show(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prompts by name, one of them, and JSON."""
    assert project.is_dir()
    assert main(["show"]) == 0
    drawn = capsys.readouterr().out
    assert drawn.startswith("a.py::<module>  openai chat")
    assert "breaks at now()" in drawn
    assert main(["show", "--prompt", "b.py::<module>", "--output-format", "json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["b.py::<module>"]
    assert main(["show", "--prompt", "b.py::modul"]) == 2
    assert "no prompt 'b.py::modul': did you mean 'b.py::<module>'?" in capsys.readouterr().err


VOLATILE = """\
from datetime import datetime
from openai import OpenAI

client = OpenAI()
RULES = "Answer from the handbook only, and quote the paragraph that you rely on. " * 80


def ask(question):
    system = {"role": "system", "content": f"{datetime.now()} {RULES}"}
    return client.chat.completions.create(model="gpt-5", messages=[system, {"role": "user", "content": question}])
"""


@pytest.mark.parametrize("words", [["-", "--stdin-filename", "app/new.py"], ["--stdin-filename", "app/new.py"], ["-"]])
def test_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """The text on stdin is checked under the name that it is given, as part of its project."""
    monkeypatch.chdir(tmp_path)
    for content, code in ((VOLATILE.encode(), "PO101"), (b"import openai\n'\xff'\n", "PO001"), (b"def f(:", "PO002")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(["check", *words, "--output-format", "concise"]) == 1
        line = capsys.readouterr().out
        assert line.startswith("app/new.py:" if "app/new.py" in words else "stdin.py:")
        assert code in line


def test_paths_are_shown_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal in a subfolder can open what it prints; prompt names stay relative to the project."""
    (tmp_path / "app").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "app/ask.py").write_text(VOLATILE)
    monkeypatch.chdir(tmp_path / "app")
    assert main(["check", "--select", "cache", "--output-format", "json"]) == 1
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["filename"], entry["prompt"]) == ("ask.py", "app/ask.py::ask")
    assert main(["check", "--show-files"]) == 0
    assert capsys.readouterr().out == "ask.py\n"
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--output-format", "concise", "app"]) == 1
    assert capsys.readouterr().out.startswith("app/ask.py:9:")


def test_files_of_other_kinds_are_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hook may hand over any changed file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("# not Python\n")
    assert main(["check", "notes.md"]) == 0
    assert capsys.readouterr().out == "No findings in 0 files (0 prompts, 0 calls).\n"
