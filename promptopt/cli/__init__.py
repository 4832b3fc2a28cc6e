"""The command line. Importing this loads next to nothing; commands load what they use."""

from __future__ import annotations

import atexit
import gc
import sys

from promptopt import __version__

TYPE_CHECKING = False  # importing typing costs as much as starting the interpreter
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130
_COLLECT_AFTER = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, 1 for findings, 2 for errors, 130 for Ctrl-C.

    Args:
        arguments: the command line without the program's name; default: `sys.argv`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        sys.stdout.write(f"promptopt {__version__}\n")
        return 0
    # the interpreter's last collection would walk through all facts only to free what the system frees anyway
    atexit.register(gc.freeze)
    thresholds = gc.get_threshold()
    # most of what loading and reading make stays: looking through it after every 700 objects finds next to nothing
    gc.set_threshold(_COLLECT_AFTER, *thresholds[1:])
    try:
        from promptopt.cli.application import run  # noqa: PLC0415 (loads click)

        return run(words)
    except KeyboardInterrupt:
        sys.stderr.write("promptopt: interrupted\n")
        return _INTERRUPTED
    finally:
        gc.set_threshold(*thresholds)
