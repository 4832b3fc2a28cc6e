"""The pytest plugin: token budgets as assertions, budgets of the configuration as test items."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from promptopt.errors import TokenError
from promptopt.lock import read_lock
from promptopt.tokens import count_tokens
from pytest_promptopt import PromptBudgetError, assert_token_budget

if TYPE_CHECKING:
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


SYSTEM = {"role": "system", "content": "Answer from the handbook only. " * 10}
USER = {"role": "user", "content": "Where is my parcel?"}


@pytest.mark.parametrize(
    "prompt",
    [
        "Answer from the handbook only. " * 10,
        SYSTEM,
        [SYSTEM, USER],
        (SYSTEM, USER),
        {"messages": [SYSTEM, USER]},
        {"system": SYSTEM["content"], "messages": [USER]},
        {"messages": [SYSTEM], "tools": [{"name": "search", "description": "Searches.", "input_schema": {}}]},
    ],
)
def test_the_budget_itself_is_allowed(prompt: Any) -> None:
    """One token less is not, for every shape; the figure is that of `count_tokens`."""
    messages = prompt["messages"] if isinstance(prompt, dict) and "messages" in prompt else prompt
    size = count_tokens([messages] if isinstance(messages, dict) else messages, "gpt-4o")
    if isinstance(prompt, dict) and "messages" in prompt:
        size += count_tokens([SYSTEM]) - count_tokens([]) if "system" in prompt else 0
    if isinstance(prompt, dict) and "tools" in prompt:
        with pytest.raises(PromptBudgetError, match=r"\n  tools +\d+"):
            assert_token_budget(prompt, size, "gpt-4o")
        return
    assert_token_budget(prompt, size, "gpt-4o")
    with pytest.raises(PromptBudgetError, match=f"the prompt has {size} tokens, 1 over its budget of {size - 1}"):
        assert_token_budget(prompt, size - 1, "gpt-4o")


def test_the_largest_part_comes_first() -> None:
    """With its place and role."""
    with pytest.raises(PromptBudgetError) as caught:
        assert_token_budget([USER, SYSTEM], 10)
    lines = str(caught.value).splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["1:", "system"], ["0:", "user"]]


def test_objects_of_sdks_count_as_mappings_do() -> None:
    """By their role, or their type where they are LangChain's."""
    size = count_tokens([USER])
    for message in (
        SimpleNamespace(role="user", content=USER["content"]),
        SimpleNamespace(type="user", content=[{"type": "text", "text": USER["content"]}]),
    ):
        assert_token_budget([message], size)
        with pytest.raises(PromptBudgetError):
            assert_token_budget(message, size - 1)


def test_an_estimate_is_told() -> None:
    """The model's tokenizer is not public."""
    with pytest.raises(PromptBudgetError, match="has about 2 tokens"):
        assert_token_budget("hello world", 1, "claude-opus-5")
    with pytest.raises(PromptBudgetError, match=r"has about \d+ tokens"):
        assert_token_budget([USER], 1)
    with pytest.raises(PromptBudgetError, match="has 2 tokens"):
        assert_token_budget("hello world", 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("x", 0), ValueError, "max_tokens is 0: give a number of tokens, at least 1"),
        (("x", -5), ValueError, "max_tokens is -5"),
        (("x", True), ValueError, "max_tokens is True"),
        (("x", 5, "gpt-4o-minni"), TokenError, "did you mean 'gpt-4o-mini'"),
        (("x", 5, None, "o200"), TokenError, "unknown encoding 'o200'"),
        ((None, 5), TokenError, "message 0 is NoneType: give text, or messages with role and content"),
        (([SYSTEM, 7], 500), TokenError, "message 1 is int"),
        ((b"bytes", 5), TokenError, "message 0 is bytes"),
    ],
)
def test_misuse_is_told(arguments: Any, error: type[Exception], message: str) -> None:
    """On one line."""
    with pytest.raises(error, match=message) as caught:
        assert_token_budget(*arguments)
    assert "\n" not in str(caught.value)


def test_a_failure_shows_the_assertion_and_no_inside(project: pytest.Pytester, run: Run) -> None:
    """The test's own line, and the summary."""
    project.makepyfile(
        test_it="from pytest_promptopt import assert_token_budget\n\n\n"
        "def test_it():\n    assert_token_budget('word ' * 20, 5)\n"
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert_token_budget('word ' * 20, 5)",
            "E*PromptBudgetError: the prompt has 21 tokens, 16 over its budget of 5",
            "E*text  21",
        ]
    )
    result.stdout.no_fnmatch_line("*sizes = *")


def test_without_the_option_nothing_is_added(project: pytest.Pytester, run: Run) -> None:
    """And nothing is read."""
    budget(project, "wrong = true")
    run().assert_outcomes(passed=1)


def test_budgets_become_items(project: pytest.Pytester, run: Run) -> None:
    """One that holds passes, one that does not fails with the sentence of `promptopt check`; `-k` chooses."""
    budget(project, '"app.py::answer" = 500')
    run("--promptopt").assert_outcomes(passed=2)
    budget(project, '"app.py::answer" = {tokens = 5, stable-prefix = 50}')
    result = run("--promptopt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "app.py::answer has at least 15 tokens, 10 over its budget of 5; it has a stable prefix of 15 tokens; *",
            "FAILED promptopt::app.py::answer*",
        ]
    )
    run("--promptopt", "-k", "test_it").assert_outcomes(passed=1, deselected=1)


def test_a_file_that_cannot_be_read_fails(project: pytest.Pytester, run: Run) -> None:
    """Its prompts would pass unseen."""
    (project.path / "app.py").write_text(APP + "def (\n")
    result = run("--promptopt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["app.py could not be read, so that its prompts are missing: *"])


def test_update_writes_the_lock_file(project: pytest.Pytester, run: Run) -> None:
    """Growth is measured from there."""
    budget(project, '"app.py" = {growth = 10}')
    run("--promptopt-update").assert_outcomes(passed=2)
    assert list(read_lock(project.path / "promptopt.lock")) == ["app.py::answer"]
    (project.path / "app.py").write_text(APP.replace("Answer from", "Always, and without exception, answer from"))
    result = run("--promptopt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["app.py::answer grew by * tokens since promptopt.lock, more than 10% of 15"])


def test_workers_find_the_same_items(project: pytest.Pytester, run: Run) -> None:
    """Under pytest-xdist the controller writes, workers run."""
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    budget(project, '"app.py" = {tokens = 500, growth = 0}')
    run("--promptopt-update", "-n", "2", plugins=("xdist",)).assert_outcomes(passed=2)
    assert list(read_lock(project.path / "promptopt.lock")) == ["app.py::answer"]


@pytest.mark.parametrize("option", ["--promptopt", "--promptopt-update"])
def test_faults_of_the_configuration_end_the_run(project: pytest.Pytester, run: Run, option: str) -> None:
    """With one line, as usage errors do; a corrupt lock file stays."""
    budget(project, '"app.py" = {token = 5}')
    result = run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *unknown key 'token': did you mean 'tokens'?*"])
    budget(project, '"app.py" = 500')
    (project.path / "promptopt.lock").write_text("<<<<<<<")
    result = run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *promptopt.lock: not a lock file*"])
    assert (project.path / "promptopt.lock").read_text() == "<<<<<<<"
