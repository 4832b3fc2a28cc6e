"""Reports: a run's findings as text, one line each, or JSON; prompts as bars or JSON."""

from __future__ import annotations

from promptopt.report.concise import concise
from promptopt.report.json_array import as_json
from promptopt.report.prompt_json import prompts_as_json
from promptopt.report.prompt_text import prompts_as_text
from promptopt.report.style import Style
from promptopt.report.text import as_text

__all__ = ["Style", "as_json", "as_text", "concise", "prompts_as_json", "prompts_as_text"]
