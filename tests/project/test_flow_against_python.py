"""Branches and loops of small programs give what Python gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ("x", "y")
ROLES = ("role == 'system'", "role in ('user', 'tool')", "role != 'user'")


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines] or ["    pass"]


def _branch(test: str, yes: list[str], no: list[str] | None) -> list[str]:
    return [f"if {test}:", *_indented(yes), *(["else:", *_indented(no)] if no is not None else [])]


def _added(name: str, number: int) -> list[str]:
    return [f"{name}.append({number})"]


def _set(name: str, number: int) -> list[str]:
    return [f"{name} = [{number}]"]


def _repeated(lines: list[str]) -> list[str]:
    return ["for row in ('a', 'b'):", *_indented(lines)]


def _guard(test: str, lines: list[str]) -> list[str]:
    return [f"if {test}:", *_indented([*lines, "continue"])]


SIMPLE = st.builds(_added, st.sampled_from(NAMES), st.integers(0, 9)) | st.builds(
    _set, st.sampled_from(NAMES), st.integers(0, 9)
)
ADDED = st.builds(_added, st.sampled_from(NAMES), st.integers(0, 9))


def _blocks(statement: st.SearchStrategy[list[str]], tests: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Blocks of statements with branches nested in branches."""

    def wider(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
        block = st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])
        return st.builds(_branch, st.sampled_from(tests), block, st.none() | block)

    nested = st.recursive(statement, wider, max_leaves=8)
    return st.lists(nested, min_size=1, max_size=4).map(lambda parts: [line for part in parts for line in part])


def _run(program: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(program, found)  # noqa: S102  # a program of this test's own making
    return found


@settings(max_examples=80, deadline=None)
@given(_blocks(SIMPLE, ("yes", "not yes")))
def test_decided_branches_are_carried_out(sources: Any, body: list[str]) -> None:
    """Whatever is nested in whatever, a name has the value that the branches taken give it."""
    program = "\n".join(["yes = True", "x = []", "y = []", *body, ""])
    expected, found = _run(program), sources(program)
    assert [found.python(name) for name in NAMES] == [expected[name] for name in NAMES]


@settings(max_examples=80, deadline=None)
@given(_blocks(ADDED | ADDED.map(_repeated), ("yes", "not yes")))
def test_loops_in_branches_are_carried_out(sources: Any, body: list[str]) -> None:
    """A loop in a branch changes nothing in the other one."""
    program = "\n".join(["yes = True", "x = []", "y = []", *body, ""])
    expected, found = _run(program), sources(program)
    assert [found.python(name) for name in NAMES] == [expected[name] for name in NAMES]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.builds(_guard, st.sampled_from(ROLES), _blocks(ADDED, ROLES)), max_size=2), _blocks(ADDED, ROLES))
def test_elements_take_their_own_branch(sources: Any, guards: list[list[str]], body: list[str]) -> None:
    """In a loop over known elements, each adds what its branch adds, and `continue` ends its round."""
    rounds = [line for guard in guards for line in guard] + body
    loop = ["for role in ('system', 'user', 'tool'):", *_indented(rounds)]
    program = "\n".join(["x = []", "y = []", *loop, ""])
    expected, found = _run(program), sources(program)
    assert [found.python(name) for name in NAMES] == [expected[name] for name in NAMES]
