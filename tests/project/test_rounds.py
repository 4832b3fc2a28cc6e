"""How often a value changes for a request in a loop: what was made ahead of the loop serves all of its rounds."""

from __future__ import annotations

import pytest

from promptopt import check_text
from promptopt.prompt import Interpolation, Message, Volatility, flatten

CHAT = """\
from datetime import datetime
from openai import OpenAI

client = OpenAI()


def chat(question):
    value = {ahead}
    {loop}
        {inside}
        rules = f"Answer as agreed: {{value}}."
        client.responses.create(model="gpt-5", instructions=rules, input="Now.")
"""


def volatility(source: str) -> Volatility:
    """How often the value in the instructions changes."""
    (prompt,) = check_text(source, "app.py").prompts
    (value,) = (
        part
        for message in prompt.messages
        if isinstance(message, Message)
        for block in message.blocks
        for part in flatten(block.parts)
        if isinstance(part, Interpolation)
    )
    return value.volatility


@pytest.mark.parametrize(
    ("ahead", "loop", "inside", "expected"),
    [
        ('input("Name? ")', "while True:", "turn = input()", Volatility.SESSION),
        ("question", "while True:", "turn = input()", Volatility.SESSION),
        ("datetime.now()", "while True:", "turn = input()", Volatility.SESSION),
        ("question", "for _ in range(3):", "pass", Volatility.REQUEST),
        ("datetime.now()", "for _ in range(3):", "pass", Volatility.REQUEST),
        ("None", "while True:", "value = input()", Volatility.REQUEST),
        ("None", "while True:", "value = datetime.now()", Volatility.CALL),
    ],
)
def test_what_is_made_ahead_of_a_loop(ahead: str, loop: str, inside: str, expected: Volatility) -> None:
    """Where each round asks the user for a turn, the loop is a conversation."""
    assert volatility(CHAT.format(ahead=ahead, loop=loop, inside=inside)) is expected
