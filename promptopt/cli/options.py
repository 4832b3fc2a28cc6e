"""Options that several commands share, and how the command line changes the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptopt.cli.input import STDIN
from promptopt.config import Config, load_config
from promptopt.errors import UsageError

if TYPE_CHECKING:
    from promptopt.tokens import TokenCounter

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def project_options(command: CommandT) -> CommandT:
    """PATHS, `--config`, `--isolated`, `--model`, `--force-exclude`, `--stdin-filename`, `--color`, `-q` and `-v`."""
    options: Sequence[Callable[[CommandT], CommandT]] = (
        click.argument("paths", nargs=-1, type=click.Path(path_type=Path)),
        click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Configuration to read instead of the nearest one.",
        ),
        click.option("--isolated", is_flag=True, help="Ignore configuration; read only what PATHS have in common."),
        click.option("--model", help="The model to assume where a call's own is not known."),
        click.option("--force-exclude", is_flag=True, help="Leave out excluded files even where PATHS name them."),
        click.option(
            "--stdin-filename", type=click.Path(path_type=Path), help="What the text on stdin (PATH `-`) is called."
        ),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Default: on a terminal, unless NO_COLOR is set.",
        ),
        click.option("-q", "--quiet", count=True, help="Print findings only."),
        click.option("-v", "--verbose", count=True, help="Print what the run did; twice: tracebacks of errors."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def words(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Values of an option that may be repeated and holds words separated by commas."""
    return tuple(word for value in values for part in value.split(",") if (word := part.strip()))


def configuration(paths: Sequence[Path], options: Mapping[str, Any]) -> Config:
    """The configuration of the paths' project as the command line changes it.

    `options` are parsed options by name; of those about rules a command need not have any. A
    `--select` takes the place of all that the configuration says about selection, the others add to it.

    Raises:
        UsageError: options that contradict each other.
        ConfigError: see `load_config`.
        TokenError: an unknown `--model`.
    """
    if options["isolated"] and options["config_file"]:
        raise UsageError("--isolated ignores configuration: leave out --config")
    config = load_config(paths, file=options["config_file"], isolated=options["isolated"])
    if options.get("select"):
        config = replace(config, select=options["select"], extend_select=(), ignore=())
    if options["model"]:
        from promptopt.tokens import token_counter  # noqa: PLC0415 (not needed without the option)

        token_counter(options["model"])
    return replace(
        config,
        model=options["model"] or config.model,
        extend_select=(*config.extend_select, *options.get("extend_select", ())),
        ignore=(*config.ignore, *options.get("ignore", ())),
        preview=config.preview or options.get("preview", False),
        force_exclude=config.force_exclude or options["force_exclude"],
    )


def find_counter(paths: Sequence[Path], model: str | None, encoding: str | None) -> TokenCounter:
    """What tokens are counted with: the options' model or encoding, else the configuration's.

    Args:
        paths: what is counted; the configuration is that of their project.
        model: value of `--model`.
        encoding: value of `--encoding`.
    """
    from promptopt.tokens import token_counter  # noqa: PLC0415 (not needed to print help)

    if not model and not encoding:
        config = load_config([path for path in paths if path != STDIN] or [Path()])
        model, encoding = config.model, config.encoding
    return token_counter(model, encoding)


def given_paths(paths: Sequence[Path], stdin_filename: Path | None) -> tuple[tuple[Path, ...], Path | None]:
    """The paths to report on, and what stdin holds if one of them is `-`.

    Raises:
        UsageError: a path that does not exist, `-` with other paths or without a file name.
    """
    stdin = STDIN in paths
    if stdin and len(paths) > 1:
        raise UsageError("- (stdin) stands alone: leave out the other paths")
    if stdin_filename and not stdin and paths:
        raise UsageError("--stdin-filename names the text on stdin: give - as the only path")
    if stdin or stdin_filename:
        name = stdin_filename or Path("stdin.py")
        return (name,), name
    given = tuple(paths) or (Path(),)
    for path in given:
        if not path.exists() and not path.is_symlink():
            raise UsageError(f"{path}: no such file or folder")
    return given, None
