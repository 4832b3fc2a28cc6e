"""`python -m promptopt`: the same as the command."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` looks for modules in the current folder first: a project's own `typing.py` must not be run
        del sys.path[0]
    from promptopt.cli import main

    sys.exit(main())
