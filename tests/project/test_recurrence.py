"""What one method sets, seen from the place where another one reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptopt.project.values import Place

SET = "self.text = text"
READ = "return self.text"


def clerk(write: str, rest: str = "") -> str:
    """A class whose method `write` holds the lines `write`; `read` reads the attribute, `rest` are other methods."""
    body = "\n".join(f"        {line}" for line in write.splitlines())
    return f"class Clerk:\n    def write(self, text):\n{body}\n    def read(self):\n        {READ}\n{rest}"


@pytest.fixture
def recurs(sources: Any) -> Callable[[str], bool]:
    """Whether `self.text = text` in `write` happens anew for each request that reads the attribute."""

    def ask(source: str) -> bool:
        project = sources(source)
        read = Place("main.py", source.index(READ), source.index(READ) + len(READ))
        offset = source.index(SET) + SET.index("text", SET.index("="))
        return bool(project.ev.recurrence.recurs(read, project.scope("Clerk.write"), (offset,)))

    return ask


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (f"{SET}\nreturn self.read()", True),
        (f"with lock:\n    {SET}\nreturn self.read()", True),
        (f"try:\n    {SET}\nexcept ValueError:\n    pass\nreturn self.read()", True),
        (f"for one in text:\n    {SET}\nreturn self.read()", True),
        (f"if text:\n    {SET}\nreturn self.read()", False),
        (f"while text:\n    if text:\n        {SET}\nreturn self.read()", False),
        (f"try:\n    pass\nexcept ValueError:\n    {SET}\nreturn self.read()", False),
        (f"match text:\n    case 'a':\n        {SET}\nreturn self.read()", False),
    ],
)
def test_a_method_that_leads_to_the_reader(recurs: Callable[[str], bool], write: str, expected: bool) -> None:  # noqa: FBT001
    """It always sets the attribute, or in a branch only."""
    assert recurs(clerk(write)) is expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("    def run(self, text):\n        self.write(text)\n        return self.read()\n", True),
        (
            "    def run(self, text):\n        if text:\n            self.write(text)\n        return self.read()\n",
            False,
        ),
        (
            "    def learn(self, text):\n        self.write(text)\n    def run(self):\n        return self.read()\n",
            False,
        ),
        ("def run(clerk):\n    clerk.write('a')\n    answer(clerk)\ndef answer(clerk):\n    clerk.read()\n", True),
        ("", False),
    ],
)
def test_a_function_that_calls_both(recurs: Callable[[str], bool], rest: str, expected: bool) -> None:  # noqa: FBT001
    """Directly or through others, and always."""
    assert recurs(clerk(SET, rest)) is expected


def test_a_reader_far_away(recurs: Callable[[str], bool]) -> None:
    """Only a few hops are followed."""
    hops = "".join(f"    def step_{n}(self):\n        return self.step_{n + 1}()\n" for n in range(4))
    last = "    def step_4(self):\n        return self.read()\n"
    assert not recurs(clerk(f"{SET}\nreturn self.step_0()", hops + last))
    assert recurs(clerk(f"{SET}\nreturn self.step_3()", hops + last))


def test_a_name_that_everybody_calls(recurs: Callable[[str], bool]) -> None:
    """It tells nothing of who calls whom."""
    others = "".join(f"def use_{n}(file):\n    return file.read()\n" for n in range(40))
    assert not recurs(clerk(f"{SET}\nreturn self.read()", others))
