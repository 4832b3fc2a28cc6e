"""assert_token_budget: prompts of every shape against a number of tokens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from promptopt.errors import TokenError
from promptopt.tokens import count_tokens
from pytest_promptopt import PromptBudgetError, assert_token_budget

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Run

pytest_plugins = ["pytester"]

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


def test_a_failure_shows_the_assertion_and_no_inside(pytester: pytest.Pytester, run: Run) -> None:
    """The test's own line, and the summary."""
    pytester.makepyfile(
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
