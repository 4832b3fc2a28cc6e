"""`promptopt tokens`: count the tokens of files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptopt.cli.input import STDIN, read_text
from promptopt.cli.options import find_counter
from promptopt.cli.output import write
from promptopt.errors import TokenError, UsageError

if TYPE_CHECKING:
    from promptopt.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class _Counted:
    path: str
    tokens: int


@click.command("tokens", short_help="Count the tokens of files.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--model", help="Count as for this model [the configuration's, else none].")
@click.option("--encoding", help="o200k_base, cl100k_base or the path of a tokenizer.json [the model's].")
@click.option("--messages", is_flag=True, help='Files hold JSON: messages, or {"messages": [...], "tools": [...]}.')
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Form of the output [text].")
@click.option("-v", "--verbose", count=True, help="Twice: tracebacks of errors.")
def command(**options: Any) -> int:
    """Count the tokens of each of PATHS as they stand, or of stdin (`-`, the default)."""
    paths = options["paths"] or (STDIN,)
    counter = find_counter(paths, options["model"], options["encoding"])
    counted = [_Counted(str(path), _tokens(path, counter, messages=options["messages"])) for path in paths]
    print_ = _as_json if options["output_format"] == "json" else _as_text
    estimate = counter.estimate or (options["messages"] and counter.framing_estimate)
    write(print_(counted, counter, estimate=estimate))
    return 0


def _tokens(path: Path, counter: TokenCounter, *, messages: bool) -> int:
    text = read_text(path)
    if not messages:
        return counter.text(text)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}: leave out --messages to count it as text") from error
    sent, tools = (content.get("messages"), content.get("tools") or []) if isinstance(content, dict) else (content, [])
    if (
        not isinstance(sent, list)
        or not isinstance(tools, list)
        or not all(isinstance(tool, Mapping) for tool in tools)
    ):
        raise UsageError(f'{path}: give a list of messages or {{"messages": [...], "tools": [...]}}')
    try:
        return counter.messages(sent, tools)
    except TokenError as error:
        raise UsageError(f"{path}: {error}") from error


def _as_text(counted: Sequence[_Counted], counter: TokenCounter, *, estimate: bool) -> str:
    """One line per file, a total where there are several, and what was counted with."""
    rows = [*counted, _Counted("total", sum(one.tokens for one in counted))] if len(counted) > 1 else list(counted)
    width = max(len(f"{row.tokens:,}") for row in rows)
    mark = "~" if estimate else ""
    lines = [f"{mark}{row.tokens:>{width},}  {row.path}\n" for row in rows]
    reason = f" (estimate: {_reason(counter)})" if estimate else ""
    return "".join([*lines, f"counted with {counter.encoding}{reason}\n"])


def _reason(counter: TokenCounter) -> str:
    if counter.estimate:
        return "the model's own tokenizer is not known"
    return "how the provider frames messages for it is not published"


def _as_json(counted: Sequence[_Counted], counter: TokenCounter, *, estimate: bool) -> str:
    files = [{"filename": one.path, "tokens": one.tokens} for one in counted]
    total = sum(one.tokens for one in counted)
    report = {"encoding": counter.encoding, "estimate": estimate, "total": total, "files": files}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
