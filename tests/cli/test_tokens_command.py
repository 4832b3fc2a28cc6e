"""`promptopt tokens`: files, stdin, chat requests, what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from promptopt.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files to count."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("hello world")
    (tmp_path / "b.txt").write_text("hello world\n" * 1000)
    (tmp_path / "latin.txt").write_bytes(b"Gr\xfc\xdfe")
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": "hello world"}]))
    (tmp_path / "bad.json").write_text(json.dumps({"messages": [{"content": "x"}]}))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Output of a run that succeeds."""
    assert main(["tokens", *words]) == 0
    return capsys.readouterr().out


def test_files_and_their_total(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, as they stand."""
    assert printed(capsys, "a.txt") == "2  a.txt\ncounted with o200k_base\n"
    assert printed(capsys, "a.txt", "b.txt") == "    2  a.txt\n3,000  b.txt\n3,002  total\ncounted with o200k_base\n"


def test_estimates_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """In either form of output."""
    assert "estimate: the model's own tokenizer is not known" in printed(capsys, "a.txt", "--model", "claude-opus-5")
    assert "estimate: how the provider frames" in printed(capsys, "chat.json", "--messages", "--model", "gpt-5")
    report = json.loads(printed(capsys, "a.txt", "--model", "claude-opus-5", "--output-format", "json"))
    assert report == {
        "encoding": "o200k_base",
        "estimate": True,
        "total": 2,
        "files": [{"filename": "a.txt", "tokens": 2}],
    }


def test_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-`, and nothing at all, is standard input."""
    for words in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hello world")))
        assert printed(capsys, *words).startswith("2  -\n")


def test_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """Framing is added: three for the message, one for the role, three for the reply."""
    assert printed(capsys, "chat.json", "--messages", "--model", "gpt-4o") == "9  chat.json\ncounted with o200k_base\n"


def test_the_configured_model_is_used(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Unless the command line names one."""
    (folder / "promptopt.toml").write_text('model = "gpt-4"\n')
    assert "cl100k_base" in printed(capsys, "a.txt")
    assert "o200k_base" in printed(capsys, "a.txt", "--model", "gpt-5")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.txt"], "missing.txt: cannot be read: No such file"),
        (["."], "name the files in it"),
        (["latin.txt"], "latin.txt: not UTF-8 at byte 2"),
        (["a.txt", "--messages"], "a.txt: not JSON"),
        (["bad.json", "--messages"], "bad.json: message 0 has no role"),
        (["a.txt", "--model", "gpt-4o-minni"], "did you mean 'gpt-4o-mini'"),
        (["a.txt", "--encoding", "o200"], "unknown encoding 'o200'"),
    ],
)
def test_what_cannot_be_counted_is_told(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    """On one line, with exit status 2."""
    assert main(["tokens", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""
