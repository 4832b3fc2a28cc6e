"""Fixes of small projects, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from promptopt import Applicability, Finding, Report
from promptopt.config import Config
from promptopt.fix import Outcome, fix_all
from promptopt.fix.proof import Reading
from promptopt.lint import check_with_prompts

Fixing = Callable[..., Outcome]
HEAD = """import json
import os
from datetime import datetime
from pathlib import Path

from openai import OpenAI

client = OpenAI()
RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 80


def send(system, question):
    return client.responses.create(model="gpt-5", instructions=system, input=question)


"""


@pytest.fixture
def fixing(tmp_path: Path) -> Fixing:
    """Fixes files, given by name, of all findings; the outcome holds the new texts."""

    def fix(files: Mapping[str, str], least: Applicability = Applicability.UNSAFE, select: str = "ALL") -> Outcome:
        for name, text in files.items():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        config = Config(tmp_path, select=(select,))

        def read(overlay: Mapping[Path, bytes]) -> Reading:
            return Reading.of(*check_with_prompts([tmp_path], config, overlay=overlay))

        def wanted(report: Report) -> list[Finding]:
            return [one for one in report.findings if one.code != "PO002"]

        return fix_all(read, wanted, least, tmp_path)

    return fix


@pytest.fixture
def fix_body(fixing: Fixing) -> Callable[..., str]:
    """Fixes code behind `HEAD`; returns what it becomes, as it was where nothing is done."""

    def fix(body: str, least: Applicability = Applicability.UNSAFE, select: str = "ALL") -> str:
        text = fixing({"app.py": HEAD + body}, least, select).texts.get("app.py", HEAD + body)
        assert text.count(HEAD) == 1 or not text.startswith(HEAD)
        return text.removeprefix(HEAD)

    return fix
