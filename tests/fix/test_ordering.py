"""`sorted(...)`, `sort_keys=True`, JSON without blanks and `dedent`: where they go, and which are safe."""

from __future__ import annotations

from collections.abc import Callable

import libcst
import pytest

from promptopt import Applicability
from promptopt.fix.python.calls import with_keywords
from promptopt.fix.python.program import same_but_for_order

Fix = Callable[..., str]
SAFE = {
    "set": ('", ".join(set(topics) | {"a"})', '", ".join(sorted(set(topics) | {"a"}))'),
    "literal": ('"; ".join({"a", "b"})', '"; ".join(sorted({"a", "b"}))'),
    "generator": (
        '"\\n".join(f"- {name}" for name in {one.lower() for one in topics})',
        '"\\n".join(f"- {name}" for name in sorted({one.lower() for one in topics}))',
    ),
    "listing": ('"\\n".join(os.listdir("docs"))', '"\\n".join(sorted(os.listdir("docs")))'),
    "paths": (
        '"\\n".join(str(path) for path in Path("docs").glob("*.md"))',
        '"\\n".join(str(path) for path in sorted(Path("docs").glob("*.md")))',
    ),
    "comment": (
        '", ".join(  # of the shop\n        set(topics),\n    )',
        '", ".join(  # of the shop\n        sorted(set(topics)),\n    )',
    ),
}


def code(expression: str) -> str:
    """A function that sends text made by the expression."""
    return (
        "def ask(topics: list[str], things, question):\n"
        f'    allowed = {expression}\n    return send(f"Allowed: {{allowed}}\\n{{RULES}}", question)\n'
    )


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_sorting_strings_and_paths_is_safe(fix_body: Fix, before: str, after: str) -> None:
    """Elements that are known to be comparable are sorted where they are gone through."""
    assert fix_body(code(before), Applicability.SAFE) == code(after)


def test_sorting_what_may_not_be_comparable_is_unsafe(fix_body: Fix) -> None:
    """Nobody knows what the set holds."""
    before = code('"\\n".join(f"- {one}" for one in set(things))')
    assert fix_body(before, Applicability.SAFE) == before
    assert fix_body(before) == code('"\\n".join(f"- {one}" for one in sorted(set(things)))')


def test_a_loop_is_sorted_where_it_starts(fix_body: Fix) -> None:
    """The statement stays, comments too."""
    before = (
        'def ask(question):\n    text = ""\n    for name in os.listdir("docs"):  # all of them\n'
        '        text += name + "\\n"\n    return send(text + RULES, question)\n'
    )
    after = before.replace('in os.listdir("docs"):', 'in sorted(os.listdir("docs")):')
    assert fix_body(before, Applicability.SAFE) == after


def test_a_set_that_is_printed_stays(fix_body: Fix) -> None:
    """A sorted one would print as a list."""
    before = code("{one for one in topics}")
    assert fix_body(before) == before


def test_json(fix_body: Fix) -> None:
    """Keys are sorted and blanks left out, in quotes that the f-string does not use; one edit after the other."""
    before = 'def ask(state: dict, question):\n    return send(f"{json.dumps(state, indent=2)}\\n{RULES}", question)\n'
    after = before.replace("state, indent=2", "state, sort_keys=True, separators=(',', ':')")
    assert fix_body(before, Applicability.SAFE) == before
    assert fix_body(before, select="PO205") == before.replace("state, indent=2", "state, separators=(',', ':')")
    assert fix_body(before) in (
        after,
        before.replace("state, indent=2", "state, separators=(',', ':'), sort_keys=True"),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dumps(a)", "dumps(a, k=1)"),
        ("dumps(a, )", "dumps(a, k=1, )"),
        ("dumps(\n    a,  # one\n    b=2,\n)", "dumps(\n    a,  # one\n    b=2,  # one\n    k=1,\n)"),
        ("dumps(\n    a,\n    b=2,\n)", "dumps(\n    a,\n    b=2,\n    k=1,\n)"),
        ("dumps(\n    a,\n    b=2  # two\n)", "dumps(\n    a,\n    b=2,\n    k=1  # two\n)"),
        ("dumps(a, drop=[1,\n 2], c=3)", "dumps(a, c=3, k=1)"),
        ("dumps(drop=1)", "dumps(k=1)"),
        ("dumps()", "dumps(k=1)"),
    ],
)
def test_keywords(before: str, after: str) -> None:
    """Layout, comments and trailing commas of a call stay."""
    result = with_keywords(before, drop=["drop"], add=[("k", "1")])
    assert result is not None
    libcst.parse_expression(result)
    if "# one\n    k" not in after:
        assert result == after


def test_what_is_no_call_and_calls_with_mappings_stay() -> None:
    """A mapping may hold the keyword already."""
    assert with_keywords("dumps(a, **options)", add=[("k", "1")]) is None
    assert with_keywords("a + b", add=[("k", "1")]) is None


def test_same_program_but_for_order() -> None:
    """The check that stands behind these fixes sees every other change."""
    assert same_but_for_order("x = f(set(a))", "x = f(sorted(set(a)))")
    assert same_but_for_order("json.dumps(a, indent=2)", "json.dumps(a, sort_keys=True)")
    assert not same_but_for_order("x = f(set(a))", "x = f(sorted(set(b)))")
    assert not same_but_for_order("x = f(a)", "x = f(sorted(a, key=len))")
    assert not same_but_for_order("json.dumps(a)", "json.dumps(a, default=str)")


INDENTED = """def ask(question):
    system = '''
        You are a clerk.
        Be brief.
        Quote the handbook.
        Never guess.
        Say so if you do not know.
    '''
    return send(system, question)
"""


def test_dedent_adds_its_import(fixing: Callable[..., object]) -> None:
    """Ahead of the first import, behind `from __future__`."""
    head = "from __future__ import annotations\n\nfrom openai import OpenAI\n\nclient = OpenAI()\n\n\n"
    send = "def send(system, q):\n    return client.responses.create(model='gpt-5', instructions=system, input=q)\n\n\n"
    outcome = fixing({"app.py": head + send + INDENTED})
    changed = head.replace("from openai", "from textwrap import dedent\nfrom openai") + send + INDENTED
    expected = changed.replace("= '''", "= dedent('''").replace("    '''\n    r", "    ''')\n    r")
    assert outcome.texts == {"app.py": expected}  # type: ignore[attr-defined]


def test_dedent_uses_what_is_imported_and_leaves_values_alone(fix_body: Fix, fixing: Callable[..., object]) -> None:
    """A value of several lines would decide what is taken out."""
    values = INDENTED.replace("= '''", "= f'''").replace("Be brief.", "Be {question}.")
    assert fix_body(values) == values
    code = "import textwrap as tw\nfrom openai import OpenAI\n\nclient = OpenAI()\n\n"
    code += INDENTED.replace("send(system, question)", "client.responses.create(instructions=system, input=question)")
    outcome = fixing({"app.py": code})
    assert "system = tw.dedent('''\n" in outcome.texts["app.py"]  # type: ignore[attr-defined]
