"""Reports: a run's findings for people and for machines; prompts as bars or JSON. A form is one module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from promptopt.lint import Report
from promptopt.report.concise import concise
from promptopt.report.github import as_github
from promptopt.report.gitlab import as_gitlab
from promptopt.report.json_array import as_json
from promptopt.report.junit import as_junit
from promptopt.report.prompt_json import prompts_as_json
from promptopt.report.prompt_text import prompts_as_text
from promptopt.report.sarif import as_sarif
from promptopt.report.style import Style
from promptopt.report.text import as_text

FORMATS: Final[Mapping[str, Callable[[Report, Style], str]]] = {
    "text": as_text,
    "concise": concise,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "gitlab": as_gitlab,
    "junit": as_junit,
}
"""What `--output-format` calls each form."""

__all__ = [
    "FORMATS",
    "Style",
    "as_github",
    "as_gitlab",
    "as_json",
    "as_junit",
    "as_sarif",
    "as_text",
    "concise",
    "prompts_as_json",
    "prompts_as_text",
]
