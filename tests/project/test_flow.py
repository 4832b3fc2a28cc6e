"""Which definition of a name is seen where."""

from __future__ import annotations

from typing import Any

import pytest

from promptopt.project.flow import Flow, flow_of
from promptopt.readers.python import read_module
from promptopt.source import SourceFile


def flow(body: str) -> Flow:
    """The flow of a function with that body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return flow_of(read_module(SourceFile("main.py", f"def function(a, b, rows):\n{lines}")).scopes[1])


def test_a_call_sees_the_definitions_before_it() -> None:
    """Positions count through the statements; a definition is visible from the next statement on."""
    found = flow("x = 1\nfirst(x)\nx = 2\nsecond(x)")
    first, second = found.at("x", found.call_position(0)), found.at("x", found.call_position(1))
    assert (first[1][3], second[1][3]) == (1, 2)
    assert found.at("x", 0) is None
    assert found.last("x") is second
    assert found.all("x") == [first, second]


def test_branches_join() -> None:
    """Behind an `if`, a name is what either branch made of it."""
    tag, test, _, yes, no = flow("if a:\n    x = 1\nelse:\n    x = 2").last("x")
    assert (tag, test[3]) == ("join", "a")
    assert (yes[1][3], no[1][3]) == (1, 2)


@pytest.mark.parametrize("leave", ["raise b", "return x"])
def test_a_branch_that_leaves_does_not_join(leave: str) -> None:
    """What is defined on a path that returns or raises is not seen behind it."""
    assert flow(f"x = 1\nif a:\n    x = 2\n    {leave}\nuse(x)").last("x")[1][3] == 1


def test_returns_join_in_order() -> None:
    """The result is the return of the first branch that is taken."""
    tag, test, _, yes, no = flow("if a:\n    return 1\nreturn 2").result
    assert (tag, test[3], yes[1][3], no[1][3]) == ("join", "a", 1, 2)


def test_falling_through_is_part_of_the_result() -> None:
    """Where one path ends without `return`, its leaf is None."""
    assert flow("if a:\n    return 1").result[4] is None
    assert flow("x = 1").result is None


@pytest.mark.parametrize("loop", ["for row in rows:", "while a:"])
def test_a_loop_has_a_head_and_an_exit(loop: str) -> None:
    """Inside, earlier rounds count; behind the loop, all rounds or none."""
    found = flow(f"x = []\n{loop}\n    use(x)\n    x = x + [1]\nuse(x)")
    inside, behind = (found.at("x", found.call_position(call)) for call in (0, 1))
    assert (inside[0], behind[0]) == ("loophead", "loopexit")
    assert behind[4] is inside
    assert [one.start for one in found.enclosing(found.call_position(0))] == [behind[3].start]
    assert found.enclosing(found.call_position(1)) == []


def test_what_follows_continue_is_the_other_branch() -> None:
    """`if test: ...; continue` decides the rest of the round."""
    body = "x = []\nfor row in rows:\n    if a:\n        x.append(1)\n        continue\n    x.append(2)"
    after = flow(body).last("x")[2]
    assert after[0] == "join"
    assert [branch[4][1][3] for branch in after[3:]] == [1, 2]


def test_calls_reach_what_their_branch_leads_to() -> None:
    """A branch that returns leads to nothing behind it; one that goes on leads there, but not for certain."""
    found = flow("if a:\n    first()\n    return\nif b:\n    second()\nthird()")
    first, second, third = (found.call_position(call) for call in range(3))
    assert (found.reaches(first, third), found.reaches(second, third)) == (False, True)
    assert not found.certain(second, third)
    assert found.certain(third, third + 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = 1\nx += 2", "mutate"),
        ("x = []\nx.append(1)", "mutate"),
        ("x = {}\nx['a'] = 1", "mutate"),
        ("x = {}\ndel x['a']", "mutate"),
        ("x, y = a", "unpack"),
        ("with a as x:\n    pass", "enter"),
        ("import x", "import"),
        ("def x(): pass", "def"),
        ("class x: pass", "class"),
        ("try:\n    pass\nexcept E as x:\n    pass", "caught"),
    ],
)
def test_kinds_of_definitions(body: str, expected: str) -> None:
    """Every statement that binds or changes a name defines it."""
    assert flow(body).last("x")[0] == expected


@pytest.mark.parametrize(
    "statement",
    ["try:\n    x = 'some'\nexcept OSError:\n    x = 'none'\n", "match os.name:\n    case 'nt':\n        x = 'some'\n"],
)
def test_paths_that_nothing_decides_are_joined(sources: Any, statement: str) -> None:
    """A body and its handler, a case and none: the name is one of both values."""
    (choice,) = sources(f"import os\nx = 'none'\n{statement}").value("x").pieces
    assert sorted(run[0].value for run in choice.alternatives) == ["none", "some"]
