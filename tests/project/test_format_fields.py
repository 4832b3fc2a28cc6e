"""What a field of a template is called in the prompt: the argument's source text, or the field's name."""

from __future__ import annotations

import pytest

from promptopt import check_text
from promptopt.prompt import Interpolation, Message, flatten

ASK = """\
from datetime import datetime
from openai import OpenAI

client = OpenAI()
PROMPT = "It is {{now}}. Answer as agreed."


def ask():
    values = {{"now": datetime.now()}}
    rules = PROMPT.{call}
    return client.responses.create(model="gpt-5", instructions=rules, input="Now.")
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("format(**values)", "now"),
        ('format(**{"now": datetime.now()})', "now"),
        ("format(now=datetime.now())", "datetime.now()"),
        ('format(now=values["now"])', 'values["now"]'),
    ],
)
def test_a_field_is_called_by_what_is_passed_for_it(call: str, expected: str) -> None:
    """The text of a mapping that is spread says nothing of one field."""
    (prompt,) = check_text(ASK.format(call=call), "app.py").prompts
    (shown,) = (
        part.expression
        for message in prompt.messages
        if isinstance(message, Message)
        for block in message.blocks
        for part in flatten(block.parts)
        if isinstance(part, Interpolation)
    )
    assert shown == expected
