"""The commands and how errors become one line and an exit status."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from promptopt import __version__
from promptopt.cli.output import write_error
from promptopt.errors import PromptoptError

FAILED: Final = 2
_COMMANDS: Final = {
    "check": "promptopt.cli.check",
    "rule": "promptopt.cli.rule",
    "show": "promptopt.cli.show",
    "budget": "promptopt.cli.budget",
    "tokens": "promptopt.cli.tokens",
    "estimate": "promptopt.cli.estimate",
    "trim": "promptopt.cli.trim",
}
_TRACEBACK_VERBOSITY: Final = 2


class _Commands(click.Group):
    """Subcommands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help text."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(_COMMANDS[cmd_name]).command
        return command if isinstance(command, click.Command) else None


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="promptopt", message="%(prog)s %(version)s")
def application() -> None:
    """Find what makes LLM features slow and expensive in their source code."""


def run(words: Sequence[str]) -> int:
    """Run the command line and return the exit status; errors are one line on stderr."""
    try:
        status = application.main(list(words), prog_name="promptopt", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        write_error(error.format_message())
        return FAILED
    except click.ClickException as error:
        return _failed(error.format_message())
    except click.Abort:
        raise KeyboardInterrupt from None
    except PromptoptError as error:
        return _explained(error, str(error), words)
    except Exception as error:  # noqa: BLE001 (whatever goes wrong, the user sees one line)
        return _explained(error, f"internal error: {type(error).__name__}: {error} (-v -v prints where)", words)
    return status if isinstance(status, int) else 0


def _explained(error: Exception, message: str, words: Sequence[str]) -> int:
    if _verbosity(words) >= _TRACEBACK_VERBOSITY:
        traceback.print_exception(error)
    return _failed(message)


def _failed(message: str) -> int:
    write_error(f"promptopt: {' '.join(message.split())}")
    return FAILED


def _verbosity(words: Sequence[str]) -> int:
    """Number of `-v` on a command line, counted before options were parsed."""
    return sum(
        1 if word == "--verbose" else word.count("v") if set(word) <= set("-v") and word[:1] == "-" else 0
        for word in words
    )
