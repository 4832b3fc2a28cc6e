"""Programs whose values would be endless if they were written out: linking ends, and soon."""

from __future__ import annotations

import pytest

from promptopt import check_text

HEAD = "from openai import OpenAI\nclient = OpenAI()\n\n\n"
SEND = "    return client.chat.completions.create(model='gpt-5', messages=messages)\n"


def nested_loops(depth: int) -> str:
    """A text and a list that grow in `depth` loops inside one another."""
    lines = ["def ask(parts):", "    text = ''", "    messages = [{'role': 'system', 'content': 'Rules.'}]"]
    lines += [f"{'    ' * (level + 1)}for part{level} in parts:" for level in range(depth)]
    inner = "    " * (depth + 1)
    lines += [f"{inner}text += f'{{part0}} x'", f"{inner}messages.append({{'role': 'user', 'content': text}})"]
    return HEAD + "\n".join(lines) + "\n" + SEND


def conditions(count: int) -> str:
    """A text built through 2 to the power of `count` paths."""
    lines = ["def ask(flags):", "    text = 'Rules.'"]
    for index in range(count):
        lines += [
            f"    if flags[{index}]:",
            f"        text = text + 'x{index}'",
            "    else:",
            "        text = 'y' + text",
        ]
    lines.append("    messages = [{'role': 'system', 'content': text}]")
    return HEAD + "\n".join(lines) + "\n" + SEND


def mutual_recursion() -> str:
    """Functions that build text from each other."""
    return (
        HEAD
        + "def one(n):\n    return 'a' + two(n)\n\n\ndef two(n):\n    return 'b' + one(n)\n\n\n"
        + "def ask(n):\n    messages = [{'role': 'system', 'content': one(n)}]\n"
        + SEND
    )


@pytest.mark.parametrize("text", [nested_loops(8), conditions(40), mutual_recursion()])
def test_endless_values(text: str) -> None:
    """The request is found, nothing is claimed, nothing hangs."""
    report = check_text(text, "app.py")
    assert len(report.calls) == 1
    assert report.findings == ()


def test_a_project_that_spent_its_steps_is_looked_at_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a few steps show is still told; what takes more is unknown and silent, and counted."""
    head = "import time\n" + HEAD + "def ask():\n    text = f'{time.time()} Rules. ' + 'Be polite. ' * 200\n"
    chain = "".join(f"    word{n} = {f'word{n - 1}' if n % 60 else repr('a')}\n" for n in range(5_400))
    long = chain + f"    text = ''.join([{', '.join(f'word{n}' for n in range(59, 5_400, 60))}, text])\n"
    send = "    messages = [{'role': 'system', 'content': text}]\n" + SEND
    assert [finding.code for finding in check_text(head + long + send).findings] == ["PO101"]
    monkeypatch.setattr("promptopt.project.evaluate.PROJECT_STEPS", 0)
    monkeypatch.setattr("promptopt.project.evaluate.STEPS_PER_MODULE", 0)
    assert [finding.code for finding in check_text(head + send).findings] == ["PO101"]
    cut = check_text(head + long + send)
    assert (len(cut.calls), cut.findings) == (1, ())
    assert cut.bounds_hit > 0
