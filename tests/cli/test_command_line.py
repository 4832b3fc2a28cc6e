"""The command: exit statuses, one-line errors, closed pipes, what may be loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

import promptopt
from promptopt.cli import main

COMMAND = [sys.executable, "-m", "promptopt"]


def failing(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line on stderr of a command that exits 2."""
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("promptopt: ")
    return captured.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is that of the distribution, however it is asked for."""
    expected = f"promptopt {metadata.version('promptopt-toolkit')}\n"
    for words in (["--version"], ["--version", "check"]):
        assert main(words) == 0
        assert capsys.readouterr().out == expected
    assert promptopt.__version__ == metadata.version("promptopt-toolkit")


def test_version_loads_next_to_nothing() -> None:
    """Printing the version costs little more than starting the interpreter."""
    code = "import sys; from promptopt.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=path(), check=True)
    assert not {"click", "typing", "importlib.metadata", "promptopt.rule"} & set(done.stdout.split())


@pytest.mark.parametrize(("repeated", "loaded"), [(20, False), (900, True)])
def test_a_run_without_a_count_loads_no_ranks(tmp_path: Path, repeated: int, loaded: bool) -> None:  # noqa: FBT001 (a case)
    """A short system prompt is told from an oversized one by its bytes; only what is long is counted."""
    (tmp_path / "app.py").write_text(
        "from openai import OpenAI\n"
        f"RULES = 'Answer politely. ' * {repeated}\n"
        "def ask(question):\n"
        "    OpenAI().responses.create(model='gpt-5', instructions=RULES, input=question)\n"
    )
    code = (
        "import sys; from promptopt.cli import main; main(['check', '--isolated', '.']); print(*sys.modules)\n"
        "from promptopt.tokens import encodings; print(encodings._byte_pair.cache_info().misses)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=path(), cwd=tmp_path, check=True
    )
    *report, modules, ranks = done.stdout.splitlines()
    assert any("PO201" in line for line in report) is loaded
    assert bool({"tiktoken", "splintr"} & set(modules.split())) is loaded
    assert int(ranks) == loaded


def path() -> dict[str, str]:
    """An environment in which the packages under test can be imported without installing them."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_import_of_the_package_is_lazy() -> None:
    """Every public name is there, and none is loaded before it is used."""
    assert [name for name in promptopt.__all__ if not hasattr(promptopt, name)] == []
    assert set(promptopt.__all__) <= set(dir(promptopt))
    code = "import sys, promptopt; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path(), check=True)
    assert [name for name in done.stdout.split() if name.startswith("promptopt.")] == []
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        promptopt.missing  # noqa: B018 (reading it is the test)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chek"], "No such command 'chek'"),
        (["check", "--selekt", "PO1"], "No such option"),
        (["check", "--output-format", "yaml"], "'yaml' is not one of 'text', 'concise', 'json'"),
        (["check", "no/such/path"], "no/such/path: no such file or folder"),
        (["check", "-", "other.py"], "- (stdin) stands alone"),
        (["check", "--isolated", "--config", "x.toml"], "leave out --config"),
        (["check", "--config", "missing.toml"], "missing.toml: No such file"),
        (["check", "--select", "PO999"], "unknown rule 'PO999'"),
        (["check", "--ignore", "volatile-prefx"], "did you mean 'volatile-prefix'"),
        (["rule", "volatile-prefx"], "did you mean 'volatile-prefix'"),
        (["rule", "zzz"], "`promptopt rule` lists them"),
        (["rule", "PO101", "--all"], "leave out the name"),
        (["show", "no/such/path"], "no/such/path: no such file or folder"),
        (["show", "a\x1b[31mb"], "a\\x1b[31mb: no such file or folder"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Sequence[str],
    message: str,
) -> None:
    """Usage and configuration errors exit 2 and say what was wrong and what to do."""
    monkeypatch.chdir(tmp_path)
    assert message in failing(capsys, *words)


def test_malformed_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TOML that cannot be read and names that do not exist are one line, wherever they stand."""
    monkeypatch.chdir(tmp_path)
    for text, message in [
        ("select = [", "not valid TOML"),
        ('selct = ["PO1"]', "did you mean 'select'"),
        ('select = ["PO999"]', "unknown rule 'PO999'"),
        ('severity = {volatile-prefx = "info"}', "did you mean 'volatile-prefix'"),
        ("rules = {volatile-prefix = {min-tokn = 1}}", "rules.volatile-prefix: unknown option 'min-tokn'"),
    ]:
        (tmp_path / "promptopt.toml").write_text(text)
        assert message in failing(capsys, "check")


def test_without_arguments_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A bare command shows what there is and fails, `--help` succeeds."""
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err
    for words in (["--help"], ["check", "-h"], ["rule", "-h"], ["show", "-h"]):
        assert main(words) == 0
        assert "Usage: promptopt" in capsys.readouterr().out


def test_rule_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule is found by code or name, in any case; `--all` prints all; bare, a line for each."""
    pages = []
    for words in (["PO101"], ["po101"], ["volatile-prefix"]):
        assert main(["rule", *words]) == 0
        pages.append(capsys.readouterr().out)
    assert len(set(pages)) == 1
    assert pages[0].startswith("# PO101 volatile-prefix\n")
    assert "## Silent on" in pages[0]
    assert main(["rule", "--all"]) == 0
    assert "# PO001 unreadable-file\n" in capsys.readouterr().out
    assert main(["rule"]) == 0
    assert any(line.startswith("PO004  blanket-suppression") for line in capsys.readouterr().out.splitlines())


def test_broken_pipe_is_silent(tmp_path: Path) -> None:
    """A reader that leaves early causes no message."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "rule", "--all"]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=path(), check=False
    )
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_one_line(tmp_path: Path) -> None:
    """Output that cannot be written is an error, told once."""
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "rule", "--all"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=path(), check=False
        )
    assert (done.stderr, done.returncode) == ("promptopt: the output cannot be written: No space left on device\n", 2)


def test_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C ends the run with one line and status 130."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("promptopt.cli.rule.load_rules", interrupted)
    assert main(["rule"]) == 130
    assert capsys.readouterr().err.strip() == "promptopt: interrupted"


def test_internal_errors_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A defect of ours exits 2 without a traceback, unless one is asked for."""

    def broken() -> None:
        raise ValueError("two\nlines")

    monkeypatch.setattr("promptopt.cli.rule.load_rules", broken)
    assert failing(capsys, "rule") == "promptopt: internal error: ValueError: two lines (-v -v prints where)\n"
    assert main(["rule", "-vv"]) == 2
    assert "Traceback" in capsys.readouterr().err
