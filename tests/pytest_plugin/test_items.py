"""Prompt files and budgets as test items: --promptopt, promptopt_files, --promptopt-update, --promptopt-report."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from promptopt.lock import read_lock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_plugin.conftest import Run

pytest_plugins = ["pytester"]

APP = '''\
import openai

client = openai.OpenAI()
RULES = """Answer from the handbook only, and quote the paragraph that you rely on."""


def answer(question):
    return client.responses.create(model="gpt-5", instructions=RULES, input=question)
'''


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """One prompt and one test; no budget yet."""
    pytester.makepyfile(app=APP, test_it="def test_it():\n    pass\n")
    budget(pytester, "")
    return pytester


def budget(folder: pytest.Pytester, *entries: str) -> None:
    """Configure the project."""
    (folder.path / "promptopt.toml").write_text("\n".join(("[budgets]", *entries)))


def test_without_the_option_nothing_is_added(project: pytest.Pytester, run: Run) -> None:
    """And nothing is read."""
    budget(project, "wrong = true")
    run().assert_outcomes(passed=1)


def test_budgets_become_items(project: pytest.Pytester, run: Run) -> None:
    """One that holds passes, one that does not fails with the sentence of `promptopt check`; `-k` chooses."""
    budget(project, '"app.py::answer" = 500')
    run("--promptopt").assert_outcomes(passed=3)
    budget(project, '"app.py::answer" = {tokens = 5, stable-prefix = 50}')
    result = run("--promptopt")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "app.py::answer has at least 15 tokens, 10 over its budget of 5; it has a stable prefix of 15 tokens; *",
            "FAILED promptopt::app.py::answer*",
        ]
    )
    run("--promptopt", "-k", "test_it").assert_outcomes(passed=1, deselected=2)


def test_a_file_that_cannot_be_read_fails(project: pytest.Pytester, run: Run) -> None:
    """Its prompts would pass unseen."""
    (project.path / "app.py").write_text(APP + "def (\n")
    result = run("--promptopt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["app.py could not be read, so that its prompts are missing: *"])


def test_update_writes_the_lock_file(project: pytest.Pytester, run: Run) -> None:
    """Growth is measured from there."""
    budget(project, '"app.py" = {growth = 10}')
    run("--promptopt-update").assert_outcomes(passed=4)
    assert list(read_lock(project.path / "promptopt.lock")) == ["app.py::answer"]
    (project.path / "app.py").write_text(APP.replace("Answer from", "Always, and without exception, answer from"))
    result = run("--promptopt")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["app.py::answer grew by * tokens since promptopt.lock, more than 10% of 15"])


def test_workers_find_the_same_items(project: pytest.Pytester, run: Run) -> None:
    """Under pytest-xdist the controller writes, workers run."""
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    budget(project, '"app.py" = {tokens = 500, growth = 0}')
    run("--promptopt-update", "-n", "2", plugins=("xdist",)).assert_outcomes(passed=4)
    assert list(read_lock(project.path / "promptopt.lock")) == ["app.py::answer"]


def test_a_project_without_configuration(pytester: pytest.Pytester, run: Run) -> None:
    """Its findings are tests; it has no budgets."""
    pytester.makepyfile(app=VOLATILE, test_it="def test_it():\n    pass\n")
    result = run("--promptopt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["app.py:8:21 PO101 volatile-prefix  *"])
    run("--promptopt-update").assert_outcomes(passed=2, failed=1)
    assert list(read_lock(pytester.path / "promptopt.lock")) == ["app.py::answer"]


@pytest.mark.parametrize("option", ["--promptopt", "--promptopt-update"])
def test_faults_of_the_configuration_end_the_run(project: pytest.Pytester, run: Run, option: str) -> None:
    """With one line, as usage errors do; a corrupt lock file stays."""
    budget(project, '"app.py" = {token = 5}')
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    result = run(option, "-n", "2", plugins=("xdist",))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *unknown key 'token': did you mean 'tokens'?*"])
    budget(project, '"app.py" = 500')
    (project.path / "promptopt.lock").write_text("<<<<<<<")
    result = run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *promptopt.lock: not a lock file*"])
    assert (project.path / "promptopt.lock").read_text() == "<<<<<<<"


VOLATILE = """\
import openai
from datetime import datetime

RULES = "Answer from the handbook only, and quote the paragraph that you rely on." * 100


def answer(question):
    system = f"Now: {datetime.now()}\\n{RULES}"
    return openai.OpenAI().responses.create(model="gpt-5", instructions=system, input=question, max_output_tokens=300)
"""


def test_findings_become_items(project: pytest.Pytester, run: Run) -> None:
    """One for each file with prompts; it fails with the text of `promptopt check`, and budgets are not told twice."""
    budget(project, '"app.py" = 5')
    (project.path / "volatile.py").write_text(VOLATILE)
    result = run("--promptopt")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "volatile.py:8:21 PO101 volatile-prefix  [[]warning[]]",
            "*^^^^^^^^^^*",
            "Found 1 warning in 1 of 1 file*",
            "FAILED promptopt::volatile.py::lint*",
            "FAILED promptopt::app.py::answer*",
        ]
    )
    result.stdout.no_fnmatch_line("*PO202*")
    (project.path / "promptopt.toml").write_text('ignore = ["PO101"]\n[budgets]\n"app.py" = 500\n')
    run("--promptopt").assert_outcomes(passed=4)


def test_files_of_the_configuration_are_collected(project: pytest.Pytester, run: Run) -> None:
    """As pytest collects files: in the folders and by the names that a run is about; nothing comes twice."""
    budget(project, '"prompts/answer.j2" = 3', '"app.py" = 500')
    project.makeini("[pytest]\npromptopt_files = prompts/*.j2 app.py\n")
    project.mkdir("prompts")
    (project.path / "prompts" / "answer.j2").write_text("Answer from the handbook only.\n{{ question }}\n")
    (project.path / "app.py").write_text(
        APP.replace("RULES = ", "from jinja2 import Environment, FileSystemLoader\n\nRULES = ").replace(
            "input=question", "input=Environment(loader=FileSystemLoader('prompts')).get_template('answer.j2').render()"
        )
    )
    result = run()
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "prompts/answer.j2 has at least 6 tokens, 3 over its budget of 3",
            "FAILED prompts/answer.j2::budget*",
            "FAILED prompts/answer.j2::lint*",
        ]
    )
    run("prompts").assert_outcomes(failed=2)
    run("test_it.py").assert_outcomes(passed=1)
    run("--promptopt").assert_outcomes(passed=3, failed=2)


def git(folder: Path, *words: str) -> None:
    """A git command with a committer of its own."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *words]
    subprocess.run(command, check=True, capture_output=True)


GROWN = APP.replace(
    "rely on.",
    "rely on.\nRefund policy: refunds are paid within two weeks, to the account that the order was paid from.\n"
    "No refund is paid for parcels that were opened.",
)


def test_what_has_grown_is_shown(project: pytest.Pytester, run: Run) -> None:
    """Against the commit that the sizes were accepted in: a table of the parts, the largest new part, the text."""
    budget(project, '"app.py" = {growth = 10}')
    git(project.path, "init", "-q")
    run("--promptopt-update").assert_outcomes(passed=4)
    (project.path / "app.py").write_text(GROWN)
    result = run("--promptopt")
    result.stdout.fnmatch_lines(
        ["  (what it has gained is not known: promptopt.lock has changes that are not committed)"]
    )
    (project.path / "app.py").write_text(APP)
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "-m", "Accept")
    (project.path / "app.py").write_text(GROWN)
    git(project.path, "commit", "-qam", "Grow")
    result = run("--promptopt")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "app.py::answer grew by * tokens since promptopt.lock, more than 10% of 15",
            "  system  15 -> 4*  +*",
            '  largest new part: "Refund policy: refunds are paid within t" (+* tokens), app.py:5-6',
            "    --- accepted",
            "    +++ now",
            "    +Refund policy: refunds are paid within two weeks, *",
        ]
    )


def test_missing_and_stale_entries_are_told(project: pytest.Pytester, run: Run) -> None:
    """And break nothing."""
    budget(project, '"app.py" = {growth = 10}')
    run("--promptopt-update")
    (project.path / "app.py").write_text(APP.replace("answer", "reply"))
    result = run("--promptopt")
    result.assert_outcomes(passed=4, warnings=2)
    result.stdout.fnmatch_lines_random(
        [
            "*PromptoptWarning: app.py::reply is not in promptopt.lock: --promptopt-update writes it",
            "*PromptoptWarning: promptopt.lock: 'app.py::answer' is no prompt any more: --promptopt-update *",
        ]
    )
    run("--promptopt-update").assert_outcomes(passed=4, warnings=0)


CHECKS = """\
from pytest_promptopt import assert_stable_prefix, assert_token_budget


def test_checks(render_prompt):
    assert_stable_prefix(lambda q: [{"role": "system", "content": "Be brief. " * 10}, {"role": "user", "content": q}],
                         ["a", "b"], min_tokens=5)
    assert_token_budget("Be brief.", 10)
    assert_token_budget("Be brief. " * 10, 10)
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_reports(project: pytest.Pytester, run: Run, workers: tuple[str, ...]) -> None:
    """Every prompt that was checked: on the terminal, as JSON, as properties in JUnit's file; also from workers."""
    if workers:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    budget(project, '"app.py" = {tokens = 500, growth = 10}')
    project.makepyfile(test_checks=CHECKS)
    plugins = ("xdist",) if workers else ()
    words = ("--promptopt-update", "--promptopt-report", "report.json", "--junitxml", "junit.xml", *workers)
    result = run(*words, plugins=plugins)
    result.assert_outcomes(passed=4, failed=1)
    rows = json.loads((project.path / "report.json").read_text())
    assert [(row["prompt"], row["budget"], row["change"], row["failed"]) for row in rows] == [
        ("app.py::answer", 500, 0, False),
        ("the prompt", None, None, False),
        ("the prompt", 10, None, False),
        ("the prompt", 10, None, True),
    ]
    assert rows[0]["stable_prefix"] == rows[0]["tokens"] == 15
    result.stdout.fnmatch_lines(
        [
            "*- prompts -*",
            "prompt * tokens  budget  stable prefix  change * test",
            "app.py::answer * 15     500      15 (100%)      +0 * promptopt::app.py::answer",
            "the prompt * 10 * -       -  FAILED  test_checks.py::test_checks",
        ]
    )
    properties = {one.get("name"): one.get("value") for one in ET.parse(project.path / "junit.xml").iter("property")}  # noqa: S314
    assert properties["promptopt.app.py::answer.tokens"] == "15"
    assert properties["promptopt.app.py::answer.budget"] == "500"


def test_an_empty_report(project: pytest.Pytester, run: Run) -> None:
    """A run that checks no prompt says so."""
    result = run("--promptopt-report", "report.json")
    result.stdout.fnmatch_lines(["no prompt was checked"])
    assert json.loads((project.path / "report.json").read_text()) == []


RENDERED = """\
import pytest
from pytest_promptopt import assert_token_budget


def test_rendered(render_prompt):
    assert_token_budget(render_prompt("prompts/answer.j2", question="Where?"), 20, model="gpt-4o")


@pytest.mark.token_budget(20, model="gpt-4o")
def test_marked(render_prompt):
    render_prompt("prompts/answer.j2", question="Where?")
"""
ANSWER = "system:\nAnswer from the handbook only.\n\nuser:\n{{ question }}\n"
POLICY = "\nRefund policy\nRefunds are paid within two weeks, {{ question }}\nand never in cash.\n\nuser:"


def test_what_a_rendered_prompt_has_gained(project: pytest.Pytester, run: Run) -> None:
    """Rendered again with the files as they were accepted, by the assertion and by the marker."""
    project.mkdir("prompts")
    answer = project.path / "prompts" / "answer.j2"
    answer.write_text(ANSWER)
    project.makepyfile(test_rendered=RENDERED)
    git(project.path, "init", "-q")
    run("--promptopt-update").assert_outcomes(passed=6)
    answer.write_text(ANSWER.replace("\nuser:", POLICY))
    run().stdout.no_fnmatch_line("*since promptopt.lock*")
    answer.write_text(ANSWER)
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "-m", "Accept")
    run().assert_outcomes(passed=3)
    answer.write_text(ANSWER.replace("\nuser:", POLICY))
    result = run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*PromptBudgetError: prompts/answer.j2 has 37 tokens, 17 over its budget of 20",
            "E*0: system  *  (+* since promptopt.lock)",
            "E*1: user    *",
            'E*largest new part: "Refund policy" (+18 tokens), prompts/answer.j2:4-6',
            "prompts/answer.j2 has 37 tokens, 17 over its budget of 20",
            "*0: system  *  (+* since promptopt.lock)",
        ]
    )


def test_links_in_history_lead_nowhere(project: pytest.Pytester, run: Run) -> None:
    """A checkout may have links to anywhere, and to itself."""
    budget(project, '"app.py" = {growth = 10}')
    git(project.path, "init", "-q")
    run("--promptopt-update").assert_outcomes(passed=4)
    (project.path / "self").symlink_to(project.path)
    (project.path / "passwords").symlink_to("/etc/passwd")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "-m", "Accept")
    (project.path / "app.py").write_text(GROWN)
    result = run("--promptopt")
    result.stdout.fnmatch_lines(["  system  15 -> 45  +30"])
