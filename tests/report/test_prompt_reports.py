"""Prompts drawn and listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from promptopt.lint import Report
from promptopt.prompt import Block, Choice, Interpolation, Media, Message, Prompt, Repeat, Text, Volatility
from promptopt.report import Style, prompts_as_json, prompts_as_text

EXPECTED = """\
app/support.py::answer  openai chat · gpt-5 · 1,228 tokens · stable prefix 24 (2%)   breaks at datetime.now()
  tools    █                                                                        21
  system   █▏▓▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ datetime.now()  1,204+
  history  ▒▒▒▒▒▒▒▒▒▒▒▒ grows, not bounded                                           ?
  user     ░▓▓ question                                                             3+

  █ stable   ░ constant but behind the break   ▒ day, user or session   ▓ request   ? unknown   ▏ where it breaks
1 prompt of 1 call in 2 files.
"""


def test_drawing(report: Report, root: Path) -> None:
    """One row per message in cache order, the break where the first volatile value stands."""
    assert prompts_as_text(report.prompts, report, Style(folder=root)) == EXPECTED


def test_ascii_drawing(report: Report, root: Path) -> None:
    """Without drawing characters."""
    assert prompts_as_text(report.prompts, report, Style(folder=root, unicode=False)).isascii()


def test_rows_of_many_parts_are_cut(report: Report, prompt: Prompt, root: Path) -> None:
    """Hundreds of values do not make a line that wraps without end."""
    parts = tuple(p for i in range(500) for p in (Text("x"), Interpolation(f"v{i}", Volatility.UNKNOWN)))
    crowded = replace(prompt, messages=(Message("system", (Block(parts),)),))
    rows = prompts_as_text([crowded], report, Style(folder=root)).splitlines()
    assert max(map(len, rows)) < 130
    assert "…" in rows[2]


def test_nothing_to_draw(report: Report, root: Path) -> None:
    """No prompts: a line that says so and an empty array."""
    assert prompts_as_text([], report, Style(folder=root)) == "0 prompts of 1 call in 2 files.\n"
    assert json.loads(prompts_as_json([], report, Style(folder=root))) == []


def test_json_has_every_part(report: Report, prompt: Prompt, root: Path) -> None:
    """Text, values with causes and chains, choices, repetitions and media."""
    nested = (Choice("flag", ((Text("a"),), ())), Repeat("items", "item", (Text("b"),)), Media("image"))
    full = replace(prompt, messages=(*prompt.messages, Message("user", (Block(nested),))))
    (entry,) = json.loads(prompts_as_json([full], report, Style(folder=root)))
    assert entry["name"] == "app/support.py::answer"
    assert entry["call"]["model"] == "gpt-5"
    assert entry["stable_prefix"] == {"proved": 24, "possible": 24}
    assert (entry["tokens"], entry["encoding"], entry["estimate"]) == (1230, "o200k_base", False)
    assert entry["breaks_at"]["causes"][0]["kind"] == "time-of-day"
    assert entry["breaks_at"]["causes"][0]["chain"][0]["location"] == {"row": 7, "column": 19}
    assert [message["role"] for message in entry["messages"]] == ["system", "history", "user", "user"]
    assert [part["type"] for part in entry["messages"][3]["blocks"][0]["parts"]] == ["choice", "repeat", "media"]
    assert entry["tools"]["tools"][0]["name"] == "search"
