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
@click.option("--json", "output_format", flag_value="json", help="The same as --output-format json.")
def command(**options: Any) -> int:
    """List the prompts of PATHS (default: the current folder) that have a budget, and exit 1 where one is broken or
    a file could not be read.

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
    from promptopt.lint import read_project  # noqa: PLC0415

    project = read_project(paths, config, {})
    prompts = [prompt for prompt in project.prompts if project.reports(prompt)]
    unread = {fault.location.path for fault in project.faults}
    read = [path for path in project.files if path not in unread]
    budgets = Budgets(config)
    notes = [f"{path}: could not be read: its prompts are missing" for path in sorted(unread)]
    notes += budgets.idle(project.prompts)
    if options["update"]:
        notes.append(f"{budgets.lock_file}: {budgets.update(budgets.measure(prompts), read)} entries")
        budgets = Budgets(config)
    else:
        stale = budgets.stale(budgets.measure(project.prompts), read)
        notes += [f"{LOCK}: {name!r} is no prompt any more: --update takes it out" for name in stale]
    measured = budgets.measure(prompts)
    listed = [one for one in measured if one.keys or options["everything"]]
    style = reports.Style(color=uses_color(options["color"]), unicode=prints_unicode(), verbosity=-options["quiet"])
    if options["output_format"] == "json":
        write(json.dumps([_entry(one) for one in listed], indent=2) + "\n")
    else:
        write("".join(f"{line}\n" for line in (*_table(listed, style), *_closing(listed, len(measured), style))))
    for note in notes:
        write_error(note)
    return int(bool(unread) or any(any(one.breaches()) for one in listed))


def _entry(one: Measured) -> dict[str, Any]:
    budget = one.budget
    return {
        "name": one.name,
        "tokens": one.size.tokens,
        "without_sample": list(one.open),
        "stable_prefix": {"proved": one.stable.tokens, "possible": one.stable_at_most.tokens},
        "encoding": one.encoding,
        "estimate": not one.size.exact,
        "budget": budget.limits() if one.keys else None,
        "growth": one.growth,
        "breaches": [breach.detail for breach in one.breaches()],
        "doubts": list(one.doubts()),
    }


def _table(listed: Sequence[Measured], style: Style) -> Iterator[str]:
    """A line for each prompt: name, tokens, budget, stable prefix, change, what is wrong."""
    from promptopt.report.style import Paint, printable  # noqa: PLC0415 (loaded with the report)

    if not listed:
        return
    rows = [("prompt", "tokens", "budget", "stable prefix", "since lock")]
    rows += [(printable(one.name), _tokens(one), _budget(one), _stable(one), _change(one)) for one in listed]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    paint = Paint.of(style)
    lines = [
        "  ".join((name.ljust(widths[0]), *map(str.rjust, figures, widths[1:]))).rstrip() for name, *figures in rows
    ]
    yield paint.dim(lines[0])
    for one, line in zip(listed, lines[1:], strict=True):
        breaches = [paint.mark(breach.summary) for breach in one.breaches()]
        yield "  ".join((line, *filter(None, [", ".join((*breaches, *one.doubts()))])))


def _tokens(one: Measured) -> str:
    return f"{one.size}{'+' if one.open else ''}"


def _budget(one: Measured) -> str:
    return f"{one.budget.tokens:,}" if one.budget.tokens else "-"


def _stable(one: Measured) -> str:
    share = f" ({100 * one.stable.tokens / one.size.tokens:.0f}%)" if one.size.tokens else ""
    most = f" to {one.stable_at_most.tokens:,}" if one.stable != one.stable_at_most else ""
    return f"{one.stable.tokens:,}{most}{share}"


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
    budgeted = sum(bool(one.keys) for one in listed)
    hidden = f"; {measured - len(listed)} without one (--all)" if measured > len(listed) else ""
    if listed:
        yield ""
    yield f"{counted(budgeted, 'prompt')} with a budget, {broken} broken{hidden}."
