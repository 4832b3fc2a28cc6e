"""One believable report, built by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptopt.finding import Applicability, Edit, Finding, Fix, Related, Remedy, Severity, fingerprinted
from promptopt.lint import Report
from promptopt.prompt import (
    Block,
    Call,
    Cause,
    History,
    Interpolation,
    Message,
    Parameter,
    Prompt,
    Text,
    Tool,
    ToolList,
    Volatility,
)
from promptopt.source import Location, SourceFile, Span

SUPPORT = """\
from datetime import datetime

RULES = "Answer from the handbook only. " * 200


def answer(question, history):
\theader = f"Now: {datetime.now():%H:%M:%S}"
    system = header + RULES
    return client.chat.completions.create(model="gpt-5", messages=[{"role": "system", "content": system}])
"""


def locate(path: str, text: str, needle: str) -> Location:
    """Where `needle` stands."""
    start = text.index(needle)
    return Location(path, Span(start, start + len(needle)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The project's folder."""
    return tmp_path


@pytest.fixture
def prompt() -> Prompt:
    """A clock ahead of long rules, a conversation and a question."""
    clock, header = locate("app/support.py", SUPPORT, "datetime.now()"), locate("app/support.py", SUPPORT, "header +")
    cause = Cause("time-of-day", "the time of day", Volatility.CALL, "datetime.now()", (clock, header))
    question = Cause("user-words", "the user's words", Volatility.REQUEST)
    call_place = locate("app/support.py", SUPPORT, "client.chat.completions.create")
    call = Call("openai", "chat", "openai", call_place, "answer", Parameter("gpt-5"))
    system = (
        Text("Now: "),
        Interpolation("datetime.now()", Volatility.CALL, (cause,), clock),
        Text("Answer from the handbook only. " * 200),
    )
    messages = (
        Message("system", (Block(system),)),
        History("parameter", (), "history"),
        Message("user", (Block((Text("Q: "), Interpolation("question", Volatility.REQUEST, (question,)))),)),
    )
    tools = ToolList((Tool("search", (Text("{...}" * 10),)),))
    return Prompt("app/support.py::answer", call, call_place, tools, messages)


@pytest.fixture
def report(root: Path, prompt: Prompt) -> Report:
    """A warning with a chain, a hint in another file, and a safe fix."""
    other = "text = 1  # promptopt: ignore\n"
    comment = locate("app/other.py", other, "# promptopt: ignore")
    clock, header = locate("app/support.py", SUPPORT, "datetime.now()"), locate("app/support.py", SUPPORT, "header +")
    findings = [
        Finding(
            "PO003",
            "unused-suppression",
            Severity.INFO,
            "this comment silences nothing: delete it",
            comment,
            fixes=(Fix("delete the comment", Applicability.SAFE, (Edit(comment, ""),)),),
        ),
        Finding(
            "PO101",
            "volatile-prefix",
            Severity.WARNING,
            "datetime.now() changes on every call and stands ahead of 1,201 constant tokens: none of them is cached.",
            clock,
            prompt.name,
            "datetime.now()",
            (Related("passes through here", header), Related("sent by this call", prompt.call.location)),
            (Remedy("move", "move it to the end of the newest user message"),),
        ),
    ]
    sources = {
        "app/support.py": SourceFile("app/support.py", SUPPORT),
        "app/other.py": SourceFile("app/other.py", other),
    }
    files = tuple(sources)
    return Report(tuple(fingerprinted(findings)), root, files, (prompt,), (prompt.call,), 0, sources)
