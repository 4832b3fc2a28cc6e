"""Figures in findings and drawings: counted as the model counts, and only when they are printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptopt.cli import main
from promptopt.prompt import Call, Parameter
from promptopt.source import Location, Span
from promptopt.tokens import Figure, Sentence, reaches

PROGRAM = """\
from datetime import datetime
from openai import OpenAI

client = OpenAI()
RULES = "Die Straßenverkehrsordnung gilt für alle. " * {times}

def ask(question: str):
    system = f"{{datetime.now()}} {{RULES}}"
    return client.chat.completions.create(
        model={model!r},
        messages=[{{"role": "system", "content": system}}, {{"role": "user", "content": question}}],
    )
"""
LOADED = "import sys; print('loaded', {'tiktoken', 'splintr'} & sys.modules.keys() != set(), file=sys.stderr)"


def write(folder: Path, times: int, model: str | None = "gpt-5") -> None:
    """A program with a clock ahead of that many sentences of 9 tokens."""
    (folder / "app.py").write_text(PROGRAM.format(times=times, model=model), encoding="utf-8")


def loads_ranks(folder: Path, *arguments: str) -> bool:
    """Whether a run loads a tokenizer."""
    code = f"from promptopt.cli import main; main({[*arguments, str(folder)]!r}); {LOADED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr == "loaded True\n"


@pytest.mark.parametrize(
    ("times", "model", "arguments", "loaded"),
    [
        (1, "gpt-5", ("check",), False),
        (8, "gpt-5", ("check",), False),
        (8, "gpt-5", ("check", "--min-severity", "info"), True),
        (90, "gpt-4", ("check",), False),
        (1000, "gpt-5", ("check",), True),
        (1, "gpt-5", ("show",), True),
    ],
)
def test_ranks_are_loaded_to_print_counts(
    times: int,
    model: str,
    arguments: tuple[str, ...],
    loaded: bool,  # noqa: FBT001 (a case)
    tmp_path: Path,
) -> None:
    """Hidden findings and none need no count."""
    write(tmp_path, times, model)
    assert loads_ranks(tmp_path, *arguments) is loaded


def messages(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """What `check` says."""
    main(["check", "--output-format", "json", "--select", "PO101", *arguments, "."])
    return [one["message"] for one in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("model", "arguments", "figures"),
    [
        ("gpt-5", (), "1,352 of the prompt's 1,352"),
        ("claude-opus-5", (), "about 1,352 of the prompt's 1,352"),
        ("house-model", (), "about 1,352 of the prompt's 1,352"),
        ("house-model", ("--model", "gpt-5"), "about 1,352 of the prompt's 1,352"),
        (None, ("--model", "gpt-5"), "1,352 of the prompt's 1,352"),
        (None, (), "about 1,352 of the prompt's 1,352"),
    ],
)
def test_figures_are_those_of_the_model(
    model: str | None,
    arguments: tuple[str, ...],
    figures: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exact where its tokenizer is public, the assumed model's where the code names none."""
    write(tmp_path, 150, model)
    monkeypatch.chdir(tmp_path)
    [message] = messages(capsys, *arguments)
    assert f"stands ahead of {figures} constant tokens" in message


def test_the_configured_encoding_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the model."""
    write(tmp_path, 150, "house-model")
    (tmp_path / "promptopt.toml").write_text('encoding = "cl100k_base"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    [message] = messages(capsys)
    assert "stands ahead of 1,802 of" in message


def test_an_unknown_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the nearest known one."""
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--model", "gtp-5"]) == 2
    assert "did you mean 'gpt-5'" in capsys.readouterr().err


CALL = Call("openai", "chat", "openai", Location("app.py", Span(0, 1)), "ask", Parameter("gpt-5"))


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [(" a" * 100, 100, True), (" a" * 99, 100, False), ("a", 100, False), (" word" * 400, 100, True), ("", 0, True)],
)
def test_reaching_a_limit(text: str, limit: int, expected: bool) -> None:  # noqa: FBT001 (a case)
    """Counted where the estimate is near it."""
    assert reaches([text], limit, CALL) is expected


def test_a_sentence_becomes_text_when_asked() -> None:
    """Figures among its words."""
    sentence = Sentence.of("It has ", Figure((" a" * 1200,), CALL), " tokens.")
    assert str(sentence) == "It has 1,200 tokens."
