"""`promptopt trim`: forms of input and output, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from promptopt.cli import main

OSLO = {"title": "Oslo", "text": "Oslo is the capital of Norway. Its opera house opened in 2008. Trams run there."}
BERGEN = {"title": "Bergen", "page_content": "Bergen is a city. It rains often.", "metadata": {"source": "a"}}
ASKED = ("--query", "When did the opera house in Oslo open?", "--budget")
ANSWER = "Oslo\nIts opera house opened in 2008.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same passages in all forms."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "oslo.txt").write_text(OSLO["text"])
    (tmp_path / "all.jsonl").write_text(f"{json.dumps(OSLO)}\n\n{json.dumps(BERGEN)}\n")
    (tmp_path / "all.json").write_text(json.dumps([OSLO, BERGEN]))
    (tmp_path / "answer.json").write_text(json.dumps({"passages": [OSLO, BERGEN]}))
    (tmp_path / "one.json").write_text(json.dumps(OSLO))
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(OSLO)}\n" + '{"title": "Bergen"}\n')
    (tmp_path / "broken.json").write_text("[")
    (tmp_path / "latin.txt").write_bytes(b"Gr\xfc\xdfe")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Output of a run that succeeds."""
    assert main(["trim", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("file", ["all.jsonl", "all.json", "answer.json", "one.json"])
def test_prints_what_is_kept(capsys: pytest.CaptureFixture[str], file: str) -> None:
    """The same passages in every form of file give the same text."""
    assert printed(capsys, file, *ASKED, "15") == ANSWER


def test_text_files_are_passages(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Several files are trimmed together, in their order."""
    (folder / "b.txt").write_text("The opera house of Bergen never opened.")
    text = printed(capsys, "b.txt", "oslo.txt", *ASKED, "500")
    assert text == f"The opera house of Bergen never opened.\n\n{OSLO['text']}\n"
    assert printed(capsys, "oslo.txt", *ASKED, "10") == "Its opera house opened in 2008.\n"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (json.dumps([OSLO, BERGEN]), ANSWER),
        (f"{json.dumps(OSLO)}\n{json.dumps(BERGEN)}\n", ANSWER),
        (OSLO["text"], "Its opera house opened in 2008.\n"),
        (f"[link] {OSLO['text']}", "Its opera house opened in 2008.\n"),
    ],
)
def test_stdin_is_recognized(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, given: str, text: str
) -> None:
    """JSON, JSON Lines and text are told apart by what is there."""
    for words in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert printed(capsys, *words, *ASKED, "15" if "title" in given else "12") == text


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    """Every part with its score, fate and place; long ones are cut to the terminal."""
    lines = printed(capsys, "all.jsonl", *ASKED, "15", "--explain").splitlines()
    assert lines[0] == "12 of 15 tokens (o200k_base), 1 of 5 parts kept"
    assert lines[2] == "all.jsonl:1  Oslo"
    assert [line[:3] for line in lines[3:6]] == ["  -", "  +", "  -"]
    assert lines[4].endswith("relevant     Its opera house opened in 2008.")
    assert lines[7] == "all.jsonl:3  Bergen"
    assert max(map(len, lines)) <= 80


def test_explain_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Control characters of a passage are shown, not sent."""
    (folder / "escape.txt").write_text("red \x1b[31m alert")
    assert r"red \x1b[31m alert" in printed(capsys, "escape.txt", *ASKED, "15", "--explain")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, the passages in their own form, and every part with its place."""
    report = json.loads(printed(capsys, "all.json", *ASKED, "15", "--json"))
    assert report["text"] == ANSWER.rstrip("\n")
    assert (report["tokens"], report["budget"], report["encoding"], report["estimate"]) == (12, 15, "o200k_base", False)
    assert report["passages"] == [{"title": "Oslo", "text": "Its opera house opened in 2008."}]
    (kept,) = report["kept"]
    assert (kept["place"], kept["start"], kept["end"]) == ("all.json[0]", 30, 62)
    assert (kept["reason"], kept["text"]) == ("relevant", " Its opera house opened in 2008.")
    assert len(report["dropped"]) == 4


def test_options_reach_the_trimmer(capsys: pytest.CaptureFixture[str]) -> None:
    """Unit, order and model change what is printed."""
    whole = printed(capsys, "all.json", *ASKED, "30", "--unit", "passage")
    assert whole == f"Oslo\n{OSLO['text']}\n"
    turned = printed(capsys, "all.json", "--query", "Where does it rain?", "--budget", "90", "--order", "relevance")
    assert turned.startswith("Bergen\n")
    assert printed(capsys, "all.json", *ASKED, "15", "--explain", "--model", "claude-opus-5").startswith("~12 of 15")


def test_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout, the reason on stderr, no failure."""
    assert main(["trim", "all.json", *ASKED, "2"]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "promptopt: nothing fits into 2 tokens: --explain shows the parts\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["all.json", "--budget", "5"], "Missing option '--query'."),
        (["all.json", "--query", "x"], "Missing option '--budget'."),
        (["all.json", "--query", "x", "--budget", "0"], "0 is not in the range x>=1"),
        (["nowhere.txt", *ASKED, "5"], "nowhere.txt: cannot be read: No such file or directory"),
        (["latin.txt", *ASKED, "5"], "latin.txt: not UTF-8 at byte 2: convert it first"),
        (["broken.json", *ASKED, "5"], "broken.json: not JSON: Expecting value: line 1 column 2 (char 1)"),
        (["bad.jsonl", *ASKED, "5"], "bad.jsonl:2: passage 1 is a mapping with the keys title: give a string"),
        (["oslo.txt", *ASKED, "5", "--input-format", "json"], "oslo.txt: not JSON"),
        (["all.json", *ASKED, "5", "--ranker", "dense"], "ranker dense needs a model"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], words: list[str], error: str) -> None:
    """What was wrong and where, and exit status 2."""
    assert main(["trim", *words]) == 2
    output = capsys.readouterr()
    assert error in output.err
    assert output.err.count("\n") == 1
    assert output.out == ""
