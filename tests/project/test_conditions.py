"""Tests that are decided from what is known, and those that are not."""

from __future__ import annotations

from typing import Any

import pytest

SETUP = """import os
word = "abc"
empty = ""
number = 3
nothing = None
off = False
keys = {"a": 1}
names = ["x", "y"]
given = os.environ.get("GIVEN")
"""


@pytest.mark.parametrize(
    "test",
    [
        "word",
        "not empty",
        "number == 3",
        "number != 4",
        "nothing is None",
        "word is not None",
        "word == 'abc'",
        "'a' in keys",
        "'b' not in keys",
        "'x' in names",
        "'z' not in names",
        "'b' in word",
        "word and number",
        "empty or word",
        "not (off and given)",
        "word or given",
        "isinstance(word, str)",
        "isinstance(keys, dict)",
        "not isinstance(names, str)",
    ],
)
def test_tests_of_known_values_are_decided(sources: Any, test: str) -> None:
    """Only the branch that is taken is left; the negated test leaves the other."""
    found = sources(f"{SETUP}x = 'yes' if {test} else 'no'\ny = 'yes' if not ({test}) else 'no'\n")
    assert (found.python("x"), found.python("y")) == ("yes", "no")


@pytest.mark.parametrize(
    "test", ["given", "given == 'a'", "given is None", "given in names", "word and given", "empty or given"]
)
def test_tests_of_unknown_values_leave_both(sources: Any, test: str) -> None:
    """A test that depends on the environment chooses between both branches."""
    (choice,) = sources(f"{SETUP}x = 'yes' if {test} else 'no'\n").value("x").pieces
    assert [run[0].value for run in choice.alternatives] == ["yes", "no"]


def test_statements_are_decided_as_expressions_are(sources: Any) -> None:
    """`if` and `elif` take the branch that is known to be taken."""
    source = f"{SETUP}if empty:\n    x = 1\nelif number == 3:\n    x = 2\nelse:\n    x = 3\n"
    assert sources(source).python("x") == 2


MADE = """from enum import Enum, auto
from langchain_core.messages import AIMessage, HumanMessage
from library import Kind, find
class Role(Enum):
    SYSTEM = auto()
    USER = auto()
class Turn: ...
class Question(Turn): ...
asked = Question()
human = HumanMessage(content="Hello")
first, second = {"a": 1}, {"a": 1}
"""


@pytest.mark.parametrize(
    "test",
    [
        "Role.SYSTEM is Role.SYSTEM",
        "Role.SYSTEM != Role.USER",
        "Kind.SYSTEM == Kind.SYSTEM",
        "Kind.SYSTEM != Kind.USER",
        "isinstance(asked, Turn)",
        "isinstance(Turn(), (Question, Turn))",
        "not isinstance(Turn(), Question)",
        "isinstance(human, HumanMessage)",
        "not isinstance(human, AIMessage)",
        "first is first",
        "first is not second",
        "human.type == 'human'",
    ],
)
def test_objects_are_told_apart(sources: Any, test: str) -> None:
    """Enumerations, classes and objects decide a test where they are known."""
    found = sources(f"{MADE}x = 'yes' if {test} else 'no'\ny = 'yes' if not ({test}) else 'no'\n")
    assert (found.python("x"), found.python("y")) == ("yes", "no")


@pytest.mark.parametrize("test", ["find(first)", "Kind.SYSTEM == Kind.of(asked)", "isinstance(human, find(first))"])
def test_libraries_may_return_anything(sources: Any, test: str) -> None:
    """What a library's function returns decides nothing."""
    (choice,) = sources(f"{MADE}x = 'yes' if {test} else 'no'\n").value("x").pieces
    assert [run[0].value for run in choice.alternatives] == ["yes", "no"]


def test_a_comparison_is_a_value(sources: Any) -> None:
    """What is found out about a test can be kept in a variable."""
    assert sources(f"{SETUP}is_word = word == 'abc'\nx = 1 if is_word else 2\n").python("x") == 1
