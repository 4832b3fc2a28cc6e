"""Reader of Python files: the only room that uses `ast`."""

from __future__ import annotations

from promptopt.readers.python.literals import literal_segments
from promptopt.readers.python.module import read_module
from promptopt.readers.python.parse import PythonSyntaxError

__all__ = ["PythonSyntaxError", "literal_segments", "read_module"]
