"""`promptopt budget`: what prompts weigh, beside what they may weigh."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from promptopt.cli.options import configuration, given_paths, project_options
from promptopt.cli.output import prints_unicode, uses_color, write, write_error
from promptopt.errors import UsageError
from promptopt.rule import refuse_foreign_distribution

if TYPE_CHECKING:
    from promptopt.budgets import Measured
    from promptopt.report import Style


@click.command("budget", short_help="Hold prompts to their budgets.")
@project_options
@click.option("--all", "everything", is_flag=True, help="List prompts without a budget, too.")
@click.option(
    "--update", is_flag=True, help="Write the sizes of today to promptopt.lock: growth is measured from them."
)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Form of the output [text].")
def command(**options: Any) -> int:
    """List the prompts of PATHS (default: the current folder) that have a budget, and exit 1 where one is broken.

    Sizes are tokens of constant text and of samples; `+` where values without samples come on top, "about" where
    the model's tokenizer is not known.
    """
    paths, stdin = given_paths(options["paths"], options["stdin_filename"])
    if stdin:
        raise UsageError("budgets are about files: leave out - and --stdin-filename")
    config = configuration(paths, options)
    refuse_foreign_distribution()
    from promptopt import report as reports  # noqa: PLC0415 (loaded with the readers and the linker)
    from promptopt.budgets import LOCK, Budgets  # noqa: PLC0415
    from promptopt.lint import inspect  # noqa: PLC0415

    report = inspect(paths, config)
    budgets = Budgets(config)
    measured = budgets.measure(report.prompts)
    if options["update"]:
        written = budgets.update(measured, report.files)
        write_error(f"{LOCK}: {written} entries")
        measured = Budgets(config).measure(report.prompts)
    listed = [one for one in measured if one.budget or options["everything"]]
    style = reports.Style(color=uses_color(options["color"]), unicode=prints_unicode(), verbosity=-options["quiet"])
    if options["output_format"] == "json":
        write(json.dumps([_entry(one) for one in listed], indent=2) + "\n")
    else:
        write("".join(f"{line}\n" for line in (*_table(listed, style), *_closing(listed, len(measured), style))))
    for key in budgets.unmatched(measured):
        write_error(f"budgets: {key!r} matches no prompt and no file that a prompt is made of")
    return int(any(any(one.breaches()) for one in listed))


def _entry(one: Measured) -> dict[str, Any]:
    budget = one.budget
    return {
        "name": one.name,
        "tokens": one.size.tokens,
        "exact": one.size.exact,
        "stable_prefix": one.stable,
        "encoding": one.encoding,
        "without_sample": list(one.open),
        "budget": budget and budget.limits(),
        "growth": one.growth,
        "breaches": [breach.detail for breach in one.breaches()],
    }


def _table(listed: Sequence[Measured], style: Style) -> Iterator[str]:
    """A line for each prompt: name, tokens, budget, stable prefix, change, what is wrong."""
    from promptopt.report.style import Paint, printable  # noqa: PLC0415 (loaded with the report)

    if not listed:
        return
    rows = [("prompt", "tokens", "budget", "stable prefix", "since lock")]
    rows += [(printable(one.name), _tokens(one), _budget(one), _stable(one), _change(one)) for one in listed]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    notes = ["", *(", ".join(breach.summary for breach in one.breaches()) for one in listed)]
    paint = Paint.of(style)
    for number, (row, note) in enumerate(zip(rows, notes, strict=True)):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        line = "  ".join(cells).rstrip()
        yield paint.dim(line) if number == 0 else line + (f"  {paint.mark(note)}" if note else "")


def _tokens(one: Measured) -> str:
    return f"{one.size}{'+' if one.open else ''}"


def _budget(one: Measured) -> str:
    return f"{one.budget.tokens:,}" if one.budget and one.budget.tokens else "-"


def _stable(one: Measured) -> str:
    share = f" ({100 * one.stable / one.size.tokens:.0f}%)" if one.size.tokens else ""
    return f"{one.stable:,}{share}"


def _change(one: Measured) -> str:
    if one.locked is None:
        return "new"
    if one.growth is None:
        return f"was {one.locked.encoding}"
    share = f" ({100 * one.growth / one.locked.tokens:+.0f}%)" if one.growth and one.locked.tokens else ""
    return f"{one.growth:+,}{share}" if one.growth else "="


def _closing(listed: Sequence[Measured], measured: int, style: Style) -> Iterator[str]:
    from promptopt.report.style import counted  # noqa: PLC0415 (loaded with the report)

    if style.verbosity < 0:
        return
    broken = sum(any(one.breaches()) for one in listed)
    budgeted = sum(one.budget is not None for one in listed)
    hidden = f"; {measured - len(listed)} without one (--all)" if measured > len(listed) else ""
    if listed:
        yield ""
    yield f"{counted(budgeted, 'prompt')} with a budget, {broken} broken{hidden}."
