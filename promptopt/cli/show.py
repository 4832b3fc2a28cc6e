"""`promptopt show`: draw what each prompt sends and where its cache breaks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptopt.cli.options import configuration, given_paths, project_options
from promptopt.cli.output import prints_unicode, terminal_width, uses_color, write
from promptopt.config import suggestion
from promptopt.errors import UsageError
from promptopt.rule import refuse_foreign_distribution

if TYPE_CHECKING:
    from promptopt.lint import Report
    from promptopt.prompt import Prompt


@click.command("show", short_help="Draw what each prompt sends.")
@project_options
@click.option("--prompt", "names", multiple=True, help="Only the prompt of this name (path::function).")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Form of the output [text].")
def command(**options: Any) -> int:
    """Draw the prompts of PATHS (default: the current folder) in the order of the cache.

    Sizes are tokens of constant text; "about" where the model's tokenizer is not known.
    """
    paths, stdin = given_paths(options["paths"], options["stdin_filename"])
    config = configuration(paths, options)
    refuse_foreign_distribution()
    from promptopt import report as reports  # noqa: PLC0415 (loaded with the readers and the linker)
    from promptopt.lint import inspect  # noqa: PLC0415

    report = inspect(paths, config, overlay={stdin: sys.stdin.buffer.read()} if stdin else {})
    prompts = _named(report, options["names"]) if options["names"] else report.prompts
    style = reports.Style(
        color=uses_color(options["color"]),
        width=terminal_width(),
        unicode=prints_unicode(),
        verbosity=options["verbose"] - options["quiet"],
    )
    draw = reports.prompts_as_json if options["output_format"] == "json" else reports.prompts_as_text
    write(draw(prompts, report, style))
    return 0


def _named(report: Report, names: Sequence[str]) -> tuple[Prompt, ...]:
    known = {prompt.name: prompt for prompt in report.prompts}
    for name in names:
        if name not in known:
            raise UsageError(f"no prompt {name!r}{suggestion(name, known) or ': `promptopt show` lists them'}")
    return tuple(known[name] for name in names)
