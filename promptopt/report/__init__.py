"""Reports: a run's findings for people and for machines; prompts as bars or JSON. A form is one module, loaded when it
is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from promptopt.report.style import Style

if TYPE_CHECKING:
    from promptopt.lint import Report
    from promptopt.report.concise import as_concise
    from promptopt.report.github import as_github
    from promptopt.report.gitlab import as_gitlab
    from promptopt.report.json_array import as_json
    from promptopt.report.junit import as_junit
    from promptopt.report.prompt_json import prompts_as_json
    from promptopt.report.prompt_text import prompts_as_text
    from promptopt.report.sarif import as_sarif
    from promptopt.report.text import as_text

_HOMES: Final = {
    "as_concise": "concise",
    "as_github": "github",
    "as_gitlab": "gitlab",
    "as_json": "json_array",
    "as_junit": "junit",
    "as_sarif": "sarif",
    "as_text": "text",
    "prompts_as_json": "prompt_json",
    "prompts_as_text": "prompt_text",
}

FORMATS: Final = {
    "text": "as_text",
    "concise": "as_concise",
    "json": "as_json",
    "sarif": "as_sarif",
    "github": "as_github",
    "gitlab": "as_gitlab",
    "junit": "as_junit",
}
"""The functions that make each form, by what `--output-format` calls it."""

__all__ = [
    "FORMATS",
    "Style",
    "as_concise",
    "as_github",
    "as_gitlab",
    "as_json",
    "as_junit",
    "as_sarif",
    "as_text",
    "prompts_as_json",
    "prompts_as_text",
    "render",
]


def render(form: str, report: Report, style: Style) -> str:
    """A run's report in one of the `FORMATS`."""
    text: str = getattr(_module(FORMATS[form]), FORMATS[form])(report, style)
    return text


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{_HOMES[name]}")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(_module(name), name)
    return value
