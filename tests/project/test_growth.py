"""Programs that would take for ever, or for ever deep, are cut off: quickly and without a wrong claim."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from promptopt.project.values import TextValue, Unknown, is_large

CONDITIONS = 24
SECONDS = 3.0
"""Far more than any of these takes, far less than two to the power of `CONDITIONS` steps."""


def quickly(compute: Callable[[], Any]) -> Any:
    """The result of something that has to be done within `SECONDS` of the processor's time."""
    begun = time.process_time()
    result = compute()
    assert time.process_time() - begun < SECONDS
    return result


def conditional(start: str, statement: str) -> str:
    """A program that does something to `x` under each of many conditions."""
    lines = (f"if os.environ.get('A{n}'):\n    {statement.replace('@', str(n))}\n" for n in range(CONDITIONS))
    return f"import os\nx = {start}\n{''.join(lines)}"


@pytest.mark.parametrize(
    ("start", "statement"),
    [
        ("[]", "x.append('v@')"),
        ("['a']", "x.insert(0, 'v@')"),
        ("['a']", "x = [each + 'v@' for each in x]"),
        ("['a']", "x = [each for each in x if each]"),
        ("['a']", "x = x + x"),
        ("['a']", "x.extend(x)"),
        ("''", "x += 'v@'"),
        ("'a'", "x = x + x"),
        ("'a'", "x = x.replace('a', 'b@')"),
        ("'a{}'", "x = x.format('{}v@')"),
        ("'a'", "x = f'{x} and {x}'"),
        ("{'a': 'b'}", "x = {'left': x, 'right': x}"),
        ("{'a': 'b'}", "x['a'] = x['a'] + x['a']"),
    ],
)
def test_changes_under_many_conditions(sources: Any, start: str, statement: str) -> None:
    """Two to the power of many results are one value with choices, or unknown."""
    found = quickly(lambda: sources(conditional(start, statement)).value("x"))
    assert not isinstance(found, TextValue) or not is_large(found.pieces)


def test_conditional_appends_keep_every_item(sources: Any) -> None:
    """Each item is there or not, independently of the others, in order."""
    found = sources(conditional("[]", "x.append('v@')")).value("x")
    words = [run[0].pieces[0].value for item in found.items for run in item.alternatives if run]
    assert words == [f"v{n}" for n in range(CONDITIONS)]
    assert all(() in item.alternatives for item in found.items)


def test_returns_on_nested_conditions(sources: Any) -> None:
    """Paths that fall through share what follows."""
    body = "".join(
        f"        if a{n}:\n            if b{n}:\n                return 'r{n}'\n" for n in range(CONDITIONS)
    )
    made = sources(f"def f():\n    try:\n{body}        return 'end'\n    finally:\n        pass\nx = f()\n")
    assert quickly(lambda: made.ev.flow(made.scope("f"))).result is not None
    quickly(lambda: made.value("x"))


@pytest.mark.parametrize(
    "source",
    [
        "def f(n):\n    return 'a' + f(n - 1) if n else 'b'\nx = f(10 ** 6)\n",
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nx = f(1)\n",
    ],
)
def test_recursion_is_unknown(sources: Any, source: str) -> None:
    """A function that calls itself, directly or through another, has no value that can be told."""
    assert quickly(lambda: sources(source).python("x")) == "<unknown>"


def test_cycles_of_imports(sources: Any) -> None:
    """Modules that import each other still have the names that they define."""
    made = sources("from other import y\nx = 'x' + y\n", other="import main\nfrom main import z\ny = 'y'\nw = main.x\n")
    assert quickly(lambda: made.python("x")) == "xy"
    assert quickly(lambda: made.python("w", "other.py")) == "xy"
    assert isinstance(made.value("z", "other.py"), Unknown)


def test_names_imported_in_a_circle(sources: Any) -> None:
    """A name that every module takes from the next is bound nowhere."""
    made = sources("from one import x\n", one="from two import x\n", two="from main import x\n")
    assert quickly(lambda: made.python("x")) == "<unknown>"


def test_a_long_chain_of_names(sources: Any) -> None:
    """What lies too deep is cut off and counted; the next look has its own room."""
    lines = "".join(f"a{n} = a{n - 1} + '.'\n" for n in range(1, 400))
    made = sources(f"a0 = ''\n{lines}")
    assert quickly(lambda: made.python("a399")) == "<unknown>"
    assert made.ev.bounds_hit == 1
    assert made.python("a20") == "." * 20


def test_a_long_sum(sources: Any) -> None:
    """Many operands in one expression are no depth."""
    assert sources("x = " + " + ".join(["'a'"] * 250) + "\n").python("x") == "a" * 250


def test_classes_that_derive_from_each_other(sources: Any) -> None:
    """A circle of bases ends, and what is in it is found."""
    made = sources("class A(B):\n    x = 'a'\nclass B(A):\n    y = 'b'\nfound = A().y\n")
    assert quickly(lambda: made.python("found")) == "b"


def test_loops_within_loops(sources: Any) -> None:
    """A list that grows in nested loops has its items repeated, not multiplied."""
    depth = 8
    heads = "".join(f"{'    ' * n}for a{n} in os.listdir():\n" for n in range(depth))
    source = f"import os\nx = []\n{heads}{'    ' * depth}x.append('v')\n"
    assert quickly(lambda: sources(source).value("x")).items
