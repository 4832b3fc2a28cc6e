"""From files to findings: what a run reads, reports and survives."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from promptopt import Config, Report, check, check_text, load_config

ASK = '''\
from datetime import datetime
from openai import OpenAI

client = OpenAI()
RULES = """{rules}"""


def ask(question):
    system = f"It is {{datetime.now()}}. {{RULES}}"
    return client.chat.completions.create(
        model="gpt-5", messages=[{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
    )
'''.format(rules="Answer from the handbook only, and quote the paragraph that you rely on. " * 80)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a folder; text goes out as UTF-8 with its line ends as they are."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def found(report: Report) -> list[str]:
    """`path:row code` of each finding."""
    lines = []
    for finding in report.findings:
        source = report.sources.get(finding.location.path)
        row = source.position(finding.location.span.start).row if source else 1
        lines.append(f"{finding.location.path}:{row} {finding.code}")
    return lines


def test_a_folder_is_checked(tmp_path: Path) -> None:
    """The clock ahead of the rules is found; counts tell what was looked at."""
    report = check([write(tmp_path, {"app/ask.py": ASK, "app/other.py": "x = 1\n"})])
    assert found(report) == ["app/ask.py:9 PO101"]
    assert report.files == ("app/ask.py", "app/other.py")
    assert [prompt.name for prompt in report.prompts] == ["app/ask.py::ask"]
    assert len(report.calls) == 1


def test_the_project_is_read_and_the_paths_are_reported(tmp_path: Path) -> None:
    """Text that another file supplies counts, findings elsewhere do not show."""
    files: dict[str, str | bytes] = {
        "pyproject.toml": "",
        "app/texts.py": "from datetime import datetime\n\n\ndef header():\n    return f'It is {datetime.now()}. '\n",
        "app/ask.py": ASK.replace('f"It is {datetime.now()}. {RULES}"', "header() + RULES").replace(
            "from datetime import datetime", "from app.texts import header"
        ),
        "app/bad.py": ASK,
    }
    write(tmp_path, files)
    whole = check([tmp_path])
    assert {line.split(":")[0] for line in found(whole)} == {"app/texts.py", "app/bad.py"}
    assert found(check([tmp_path / "app" / "bad.py"])) == ["app/bad.py:9 PO101"]
    assert found(check([tmp_path / "app" / "ask.py"])) == []
    assert found(check([tmp_path / "app" / "texts.py"])) == ["app/texts.py:5 PO101"]


def test_paths_may_repeat_and_overlap(tmp_path: Path) -> None:
    """A file that is named twice is reported once."""
    write(tmp_path, {"ask.py": ASK})
    report = check([tmp_path, tmp_path / "ask.py", tmp_path / "." / "ask.py", tmp_path])
    assert found(report) == ["ask.py:9 PO101"]
    assert report.files == ("ask.py",)


def test_isolated_reads_only_what_the_paths_have_in_common(tmp_path: Path) -> None:
    """The project around the paths plays no part."""
    write(tmp_path, {"pyproject.toml": "[tool.promptopt]\nignore = ['PO101']\n", "one/ask.py": ASK, "two/ask.py": ASK})
    report = check([tmp_path / "one"], load_config([tmp_path / "one"], isolated=True))
    assert found(report) == ["ask.py:9 PO101"]
    assert report.root == tmp_path / "one"


def test_an_overlay_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """An editor's unsaved text is checked instead of the file, which need not exist."""
    write(tmp_path, {"ask.py": "x = 1\n"})
    for name in ("ask.py", "new.py"):
        file = tmp_path / name
        assert found(check([file], overlay={file: ASK.encode()})) == [f"{name}:9 PO101"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, newline: str, bom: str) -> None:
    """Places are right whatever ends the lines, and comments still silence."""
    text = bom + ASK.replace("\n", newline)
    assert found(check([write(tmp_path / "a", {"ask.py": text})])) == ["ask.py:9 PO101"]
    silenced = text.replace('{RULES}"', '{RULES}"  # promptopt: ignore[PO101]')
    assert found(check([write(tmp_path / "b", {"ask.py": silenced})])) == []
    assert found(check_text(silenced)) == []
    assert found(check_text(text)) == ["prompt.py:9 PO101"]


@pytest.mark.parametrize(
    ("content", "code", "reason"),
    [
        (b"from openai import OpenAI\nx = '\xff'\n", "PO001", "not utf-8: byte 0xff"),
        (b"import openai\n\0", "PO001", "NUL"),
        (b"# -*- coding: nonsense -*-\nimport openai\n", "PO001", "unknown encoding: nonsense"),
        (b"import openai\ndef f(:\n", "PO002", ""),
        (b"import openai\nx = " + b"(" * 10_000 + b")" * 10_000, "PO002", ""),
        (b"import openai\nx = " + b"-" * 100_000 + b"1", "PO002", ""),
        (b"import openai\n  x = 1\n", "PO002", ""),
        (b"import openai\nx = '''\n", "PO002", ""),
    ],
)
def test_files_that_cannot_be_read_are_findings(tmp_path: Path, content: bytes, code: str, reason: str) -> None:
    """Each fault is one finding, and all other files are still checked."""
    report = check([write(tmp_path, {"ask.py": ASK, "bad.py": content})])
    assert [finding.code for finding in report.findings] == ["PO101", code]
    assert reason in report.findings[1].message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"\f\nimport openai\n",
        b"import openai\nx = [" + b"1, " * 200_000 + b"]\n",
        b"import openai\nx = " + b"1 + " * 900 + b"1\n",
        b"import openai\ny = f'{x!r:>{width}}'\n",
        "import openai\n變數 = '\U0001f600'\n".encode(),
    ],
)
def test_odd_files_are_no_findings(tmp_path: Path, content: bytes) -> None:
    """Empty, huge, deep or exotic files are just files."""
    assert found(check([write(tmp_path, {"odd.py": content})])) == []


def test_odd_names(tmp_path: Path) -> None:
    """Blanks, letters of any script and line ends in names are part of the name."""
    names = ["with space/ask me.py", "ünï/日本.py", "line\nend/a\tb.py", "[x]/#y.py", "-z.py"]
    report = check([write(tmp_path, dict.fromkeys(names, ASK))])
    assert {finding.location.path for finding in report.findings} == set(names)


@pytest.mark.skipif(sys.platform == "win32", reason="file names are Unicode there")
def test_names_that_are_not_text(tmp_path: Path) -> None:
    """A file name that is no valid UTF-8 is reported under its escaped form."""
    os.makedirs(os.fsencode(tmp_path) + b"/\xff")  # noqa: PTH103 (pathlib has no bytes)
    (tmp_path / os.fsdecode(b"\xff") / "ask.py").write_text(ASK)
    assert [finding.location.path for finding in check([tmp_path]).findings] == ["\udcff/ask.py"]


def test_folders_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be listed is a finding where it belongs to the paths; the rest is checked."""
    listing = os.scandir

    def refusing(folder: Path) -> object:
        if Path(folder).name == "locked":
            raise PermissionError(13, "Permission denied")
        return listing(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    write(tmp_path, {"pyproject.toml": "", "app/ask.py": ASK, "locked/other.py": ASK})
    assert found(check([tmp_path])) == ["app/ask.py:9 PO101", "locked:1 PO001"]
    assert found(check([tmp_path / "app"])) == ["app/ask.py:9 PO101"]


def test_links(tmp_path: Path) -> None:
    """Loops of links end, links that lead nowhere are no crash."""
    write(tmp_path, {"app/ask.py": ASK})
    (tmp_path / "app/loop").symlink_to(tmp_path)
    (tmp_path / "self.py").symlink_to(tmp_path / "self.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "missing.py")
    assert "app/ask.py:9 PO101" in found(check([tmp_path]))


def test_nothing_to_check(tmp_path: Path) -> None:
    """An empty folder is an empty report."""
    report = check([tmp_path])
    assert (report.findings, report.files, report.prompts) == ((), (), ())


def test_a_path_outside_of_the_project(tmp_path: Path) -> None:
    """A configuration of one project and a path of another: the path is still checked."""
    write(tmp_path, {"project/pyproject.toml": "", "elsewhere/ask.py": ASK})
    config = load_config([tmp_path / "project"])
    report = check([tmp_path / "elsewhere/ask.py"], config)
    assert found(report) == ["../elsewhere/ask.py:9 PO101"]


def test_excluded_files(tmp_path: Path) -> None:
    """`exclude` leaves a file out unless it is named; `force-exclude` leaves it out even then."""
    write(tmp_path, {"promptopt.toml": "exclude = ['vendored/']\n", "vendored/ask.py": ASK})
    config = load_config([tmp_path])
    assert found(check([tmp_path], config)) == []
    assert found(check([tmp_path / "vendored/ask.py"], config)) == ["vendored/ask.py:9 PO101"]
    assert found(check([tmp_path / "vendored/ask.py"], replace(config, force_exclude=True))) == []


@pytest.mark.parametrize("folder", ["", "src/"])
def test_project_sources(tmp_path: Path, folder: str) -> None:
    """A function that the project declares as changing is a cause like any other."""
    text = ASK.replace("datetime.now()", "stamp()")
    text = text.replace("from datetime import datetime", "from app.clock import stamp")
    clock = "def stamp():\n    return read_hardware()\n"
    write(tmp_path, {f"{folder}app/ask.py": text, f"{folder}app/clock.py": clock})
    assert found(check([tmp_path], Config(tmp_path))) == []
    (tmp_path / "promptopt.toml").write_text("sources = [{function = 'app.clock.stamp', volatility = 'call'}]\n")
    assert found(check([tmp_path])) == [f"{folder}app/ask.py:9 PO101"]


@pytest.mark.parametrize("call", ["send(prompt=system)", "send(system)"])
def test_project_sinks(tmp_path: Path, call: str) -> None:
    """A function that the project declares as sending prompts is a request like any other."""
    text = ASK[: ASK.index("    return client")].replace("from openai import OpenAI", "from app.llm import send")
    text = text.replace("client = OpenAI()", "") + f"    return {call}\n"
    write(tmp_path, {"app/ask.py": text, "app/llm.py": "def send(prompt):\n    return post('/v1', prompt)\n"})
    assert found(check([tmp_path], Config(tmp_path))) == []
    (tmp_path / "promptopt.toml").write_text("sinks = [{function = 'app.llm.send', prompt = 'prompt'}]\n")
    assert found(check([tmp_path])) == ["app/ask.py:9 PO101"]


def test_unused_comments_are_found_in_files(tmp_path: Path) -> None:
    """The comment rules see the files of the run."""
    text = "import openai\n\nx = 1  # promptopt: ignore[PO101]\ny = 2  # promptopt: ignore\n"
    assert found(check([write(tmp_path, {"a.py": text})])) == ["a.py:3 PO003", "a.py:4 PO003", "a.py:4 PO004"]


def test_check_text_of_a_syntax_error() -> None:
    """A text that cannot be parsed is a finding."""
    assert found(check_text("def f(:\n", "x.py")) == ["x.py:1 PO002"]
