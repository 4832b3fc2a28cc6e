"""`promptopt budget` on a copy of the example application, as a user would run it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from promptopt.cli import main

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "support_assistant"
RETRIEVAL = "app/retrieval.py::advise_in_fixed_order"
LOCKED = '["{}"]\ntokens = {}\nstable-prefix = 10\nencoding = "{}"\n'


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example as the application of a project without configuration."""
    shutil.copytree(EXAMPLE, tmp_path / "app")
    (tmp_path / "promptopt.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, *budgets: str) -> None:
    """Write these budgets."""
    (folder / "promptopt.toml").write_text("\n".join(("[budgets]", *budgets, "")), "utf-8")


def table(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, list[str]]:
    """The cells of each row by prompt."""
    assert main(["budget", *words]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "prompt"
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[1 : lines.index("")]]
    return {name: cells for name, *cells in rows}


def report(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    """The entries of `--json` by name, and the lines on standard error."""
    assert main(["budget", "--json", *words]) == status
    captured = capsys.readouterr()
    return {"notes": captured.err.splitlines(), **{entry["name"]: entry for entry in json.loads(captured.out)}}


def test_every_prompt_is_listed_on_demand(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes are those that `show` prints."""
    rows = table(capsys, "--all")
    assert len(rows) == 8
    assert rows[RETRIEVAL] == ["1,151+", "-", "1,146 (100%)", "new"]
    assert not (shop / "promptopt.lock").exists()
    main(["show", "--output-format", "json"])
    shown = {prompt["name"]: prompt for prompt in json.loads(capsys.readouterr().out)}
    for name, prompt in report(capsys, "--all").items():
        if name != "notes":
            assert {key: prompt[key] for key in ("tokens", "stable_prefix", "encoding", "estimate")} == {
                key: shown[name][key] for key in ("tokens", "stable_prefix", "encoding", "estimate")
            }


def test_limits_that_do_not_hold_exit_1(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told in its row; only what has a budget is listed."""
    configure(shop, f'"{RETRIEVAL}" = 1151', '"app/triage.py::sort_mail" = {tokens = 1000, stable-prefix = 1200}')
    assert table(capsys, status=1) == {
        RETRIEVAL: ["1,151+", "1,151", "1,146 (100%)", "new"],
        "app/triage.py::sort_mail": [
            "about 1,067+", "1,000", "1,066 (100%)", "new", "over budget, stable prefix below 1,200",
        ],
    }  # fmt: skip
    configure(shop, f'"{RETRIEVAL}" = 1150')
    assert table(capsys, status=1)[RETRIEVAL][-1] == "over budget"


def test_check_reports_what_is_over_budget(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As an error, at the prompt, with all limits in one message."""
    configure(shop, '"app/handover.py::summarize" = {tokens = 1000, stable-prefix = 900}')
    assert main(["check", "--select", "PO202", "--output-format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)
    assert (finding["code"], finding["severity"], finding["filename"]) == ("PO202", "error", "app/handover.py")
    assert finding["message"] == (
        "app/handover.py::summarize has at least 1,090 tokens, 90 over its budget of 1,000; "
        "it has a stable prefix of 4 tokens; its budget asks for 900."
    )
    assert main(["check", "app/triage.py", "--select", "PO202"]) == 0


def test_an_exact_name_wins_over_patterns_and_later_ones_over_earlier(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Limit by limit."""
    configure(
        shop,
        f'"{RETRIEVAL}" = 2000',
        '"app/" = {tokens = 10, growth = 5}',
        '"*/retrieval.py::advise*" = {tokens = 3000, stable-prefix = 7}',
    )
    found = report(capsys, status=1)
    assert found[RETRIEVAL]["budget"] == {"tokens": 2000, "stable-prefix": 7, "growth": 5, "samples": None}
    assert found["app/retrieval.py::advise"]["budget"]["tokens"] == 3000
    assert found["app/triage.py::sort_mail"]["budget"] == {
        "tokens": 10,
        "stable-prefix": None,
        "growth": 5,
        "samples": None,
    }


def test_growth_is_counted_from_the_lock_file(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Allowed up to the percentage, then a failure until it is accepted."""
    configure(shop, f'"{RETRIEVAL}" = {{growth = 10}}')
    assert table(capsys)[RETRIEVAL][-2:] == ["new", "not in promptopt.lock"]
    assert main(["budget", "--update"]) == 0
    capsys.readouterr()
    assert table(capsys)[RETRIEVAL][-1] == "="

    prompts = shop / "app" / "prompts.py"
    prompts.write_text(
        prompts.read_text("utf-8").replace("Orders\n", "Orders\n" + "- Be kind to them.\n" * 19), "utf-8"
    )
    assert table(capsys)[RETRIEVAL][-1] == "+114 (+10%)"
    prompts.write_text(prompts.read_text("utf-8").replace("Orders\n", "Orders\n- Be kind to them.\n"), "utf-8")
    assert table(capsys, status=1)[RETRIEVAL][-2:] == ["+120 (+10%)", "grew more than 10%"]
    assert main(["check", "--select", "PO202", "--output-format", "concise"]) == 1
    assert "grew by 120 tokens since promptopt.lock, more than 10% of 1,151" in capsys.readouterr().out

    assert main(["budget", "--update"]) == 0
    capsys.readouterr()
    assert table(capsys)[RETRIEVAL][-1] == "="


def test_the_lock_file_keeps_what_was_not_looked_at(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of other folders, of tests, of files that cannot be read; what is gone goes."""
    lock = shop / "promptopt.lock"
    kept = ["app/broken.py::ask", "other/kept.py::ask", "tests/test_it.py::test_prompt"]
    lock.write_text("".join(LOCKED.format(name, 5, "o200k_base") for name in [*kept, "app/gone.py::ask"]))
    for path in ("other/kept.py", "tests/test_it.py"):
        (shop / path).parent.mkdir()
        (shop / path).write_text("")
    (shop / "app" / "broken.py").write_text("import openai\nopenai.chat(\n")
    found = report(capsys, "app", "--update", status=1)
    assert found["notes"] == [
        "app/broken.py: could not be read: its prompts are missing",
        f"{lock}: {8 + len(kept)} entries",
    ]
    text = lock.read_text("utf-8")
    names = [line for line in text.splitlines() if line.startswith("[")]
    assert names == sorted(names)
    assert set(kept) <= {name.strip('[]"') for name in names}
    assert len(names) == 8 + len(kept)
    assert "app/gone.py" not in text


def test_a_lock_file_that_cannot_be_written_is_told(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a folder here."""
    (shop / "promptopt.lock").mkdir()
    assert main(["budget", "--update"]) == 2
    assert "promptopt.lock: the lock file cannot be read: Is a directory" in capsys.readouterr().err


SAMPLES = {
    "samples.json": '{"question": "Which tent stands a storm?", "qestion": 1, "history": ["Hello", {"content": "Hi"}]}',
    "samples.toml": 'question = "Which tent stands a storm?"\nqestion = 1\nhistory = ["Hello", {content = "Hi"}]\n',
    "samples.yaml": "question: Which tent stands a storm?\nqestion: 1\nhistory: [Hello, {content: Hi}]\n",
}


@pytest.mark.parametrize("file", SAMPLES)
def test_samples_stand_in_for_values(shop: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    """The size is then of the whole request, and not only "at least"; the stable prefix ends where it did."""
    (shop / file).write_text(SAMPLES[file], "utf-8")
    name = "app/chat.py::Conversation.reply_with_stable_prefix"
    configure(shop, f'"{name}" = {{tokens = 5000, samples = "{file}"}}')
    found = report(capsys)
    assert found["notes"] == [f"{file}: no prompt has a value for the sample 'qestion': did you mean 'question'?"]
    assert (found[name]["tokens"], found[name]["without_sample"]) == (1055, ["clock()"])
    assert found[name]["stable_prefix"] == {"proved": 1042, "possible": 1042}


def test_a_text_file_has_a_budget_of_its_own(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What prompts take from it counts, under its path."""
    (shop / "prompts").mkdir()
    (shop / "prompts" / "rules.md").write_text("Answer from the handbook only. " * 20, "utf-8")
    (shop / "app" / "ask.py").write_text(
        "from pathlib import Path\n\nimport openai\n\nclient = openai.OpenAI()\n"
        'RULES = Path("prompts/rules.md").read_text()\n\n\n'
        "def ask(question):\n"
        '    return client.responses.create(model="gpt-5", instructions="Be kind. " + RULES, input=question)\n',
        "utf-8",
    )
    configure(shop, '"prompts/*.md" = 100')
    assert table(capsys, status=1) == {"prompts/rules.md": ["121", "100", "121 (100%)", "new", "over budget"]}
    assert main(["check", "--select", "PO202", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.startswith("prompts/rules.md:1:1: PO202 ")
