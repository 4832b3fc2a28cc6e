"""Samples by expression, and prompts with samples in the place of their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptopt.config import load_config
from promptopt.filling import Filler
from promptopt.lint import read_project
from promptopt.prompt import Text
from promptopt.samples import MISSING, sample_of

SAMPLES: dict[str, Any] = {
    "question": "Why?",
    "clock()": "Monday",
    "user": {"name": "Ada", "2": "two"},
    "docs": [{"text": "one", "title": "A"}, {"text": "two", "title": "B"}, {"text": "three", "title": "C"}],
    "tags": ["x", "y"],
}
LOOPS = """\
import openai

client = openai.OpenAI()


def ask(question: str, docs, user, tags):
    text = "Rules.\\n"
    for number, doc in enumerate(docs[:2]):
        text += f"{number}: {doc.text}\\n"
    for key, value in user.items():
        text += f"{key}={value}\\n"
    text += "\\n".join(doc["title"] for doc in docs)
    text += f"\\n{question} {clock()} {unknown} "
    text += "\\n".join(tags)
    return client.responses.create(model="gpt-5", input=text)
"""
TEMPLATE = """\
{% for doc in docs %}{{ loop.index }} of {{ loop.length }}: {{ doc.title }}
{% endfor %}{{ question }}"""
RENDER = """\
import openai
from jinja2 import Environment, FileSystemLoader

env = Environment(loader=FileSystemLoader("prompts"))


def ask(question, docs):
    text = env.get_template("ask.j2").render(question=question, docs=docs)
    return openai.OpenAI().responses.create(model="gpt-5", input=text)
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("question", "Why?"),
        ("question: str", "Why?"),
        ("clock()", "Monday"),
        ("user.name", "Ada"),
        ('user["name"]', "Ada"),
        ("user['2']", "two"),
        ("docs[1].text", "two"),
        ("docs[-1].text", "three"),
        ("docs[0]['title']", "A"),
        ("tags[:1]", ["x"]),
        ("tags[1:]", ["y"]),
        ("(question for doc in docs)", "Why?"),
        ("user.age", MISSING),
        ("user.name.first", MISSING),
        ("docs[3]", MISSING),
        ("docs.text", MISSING),
        ("tags[:k]", MISSING),
        ("question + 1", MISSING),
        ("str(question)", MISSING),
        ("", MISSING),
    ],
)
def test_samples_are_found_by_expression(expression: str, value: object) -> None:
    """By the whole text, by name, or by a path; what would have to be computed has none."""
    assert sample_of(expression, SAMPLES) == value


def filled(folder: Path, samples: dict[str, Any], **files: str) -> str:
    """The text of the only prompt, values without a sample in angle brackets."""
    for name, text in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    config = load_config([folder])
    (prompt,) = read_project([folder], config, {}).prompts
    parts = Filler(samples).prompt(prompt).flatten()
    return "".join(part.value if isinstance(part, Text) else f"<{getattr(part, 'expression', '')}>" for part in parts)


def test_loops_are_unrolled(tmp_path: Path) -> None:
    """Over lists, enumerations and items, and inside joins, whose separator ends each round; slices hold."""
    assert filled(tmp_path, SAMPLES, **{"app.py": LOOPS}) == (
        "Rules.\n0: one\n1: two\nname=Ada\n2=two\nA\nB\nC\n\nWhy? Monday <unknown> x\ny"
    )


def test_templates_are_filled_too(tmp_path: Path) -> None:
    """With Jinja's `loop`."""
    files = {"prompts__ask.j2": TEMPLATE, "app.py": RENDER}
    assert filled(tmp_path, SAMPLES, **files) == "1 of 3: A\n2 of 3: B\n3 of 3: C\nWhy?"


def test_loops_that_would_not_end_stay_as_they_are(tmp_path: Path) -> None:
    """Samples cannot multiply without bound; the first loop that would is left with what is inside of it."""
    code = LOOPS.partition("    for number")[0] + (
        "    for a in docs:\n        for b in docs:\n            for c in docs:\n                text += 'word '\n"
        "    return client.responses.create(model='gpt-5', input=text)\n"
    )
    assert filled(tmp_path, {"docs": ["x"] * 100}, **{"app.py": code}).count("word ") < 100_000
    assert filled(tmp_path, {"docs": ["x"] * 10}, **{"app.py": code}).count("word ") == 1000


def test_neighbouring_texts_are_one(tmp_path: Path) -> None:
    """So that they are counted as the request's model reads them."""
    code = LOOPS.replace("{unknown} ", "")
    (tmp_path / "app.py").write_text(code, "utf-8")
    (prompt,) = read_project([tmp_path], load_config([tmp_path]), {}).prompts
    (part,) = Filler(SAMPLES).prompt(prompt).flatten()
    assert isinstance(part, Text)
    assert [part.value[s.offset : s.offset + s.length] for s in part.map if s.location.path == "app.py"][:2] == [
        "Rules.\n",
        "0",
    ]
