"""Parsing a file with the interpreter's own parser; every way to fail becomes `PythonSyntaxError`."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Final

from promptopt.readers.python.columns import origins
from promptopt.source import SourceFile

_TOO_DEEP: Final = "nested too deeply to be parsed"
_NEWER_SYNTAX: Final = (
    ((3, 12), re.compile(r"(?m)^[ \t]*type[ \t]+\w+(?:[ \t]*\[[^\]]*\])?[ \t]*="), "a type statement"),
    ((3, 12), re.compile(r"(?m)^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w+[ \t]*\["), "a type parameter list"),
    ((3, 14), re.compile(r"(?<![\w'\"])(?:[tT][rR]?|[rR][tT])['\"]"), "a t-string"),
    ((3, 14), re.compile(r"(?m)^[ \t]*except\*?[ \t]+[\w.]+[ \t]*,"), "except without parentheses"),
)
_NESTED_QUOTES: Final = re.compile(r"f-string expression part cannot include|f-string: (?:unmatched|expecting '}')")


class PythonSyntaxError(ValueError):
    """A file that cannot be parsed; `offset` is a character offset into its text, or None."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def parse_module(source: SourceFile) -> ast.Module:
    """The file's syntax tree.

    Raises:
        PythonSyntaxError: the text is no Python, too deeply nested, or newer than this interpreter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        raise _syntax_error(source, error) from error
    except (RecursionError, MemoryError) as error:
        raise PythonSyntaxError(_TOO_DEEP) from error
    except ValueError as error:
        raise PythonSyntaxError(str(error)) from error


def _syntax_error(source: SourceFile, error: SyntaxError) -> PythonSyntaxError:
    message = error.msg or "invalid syntax"
    newer = _newer_construct(source, error, message)
    if newer is not None:
        version, construct = newer
        running = ".".join(map(str, sys.version_info[:2]))
        message += f": {construct} needs Python {version} and this is {running}; run promptopt on {version} or later"
    return PythonSyntaxError(message, _error_offset(source, error))


def _newer_construct(source: SourceFile, error: SyntaxError, message: str) -> tuple[str, str] | None:
    """The Python version that the code at the error seems to be written for, and what tells."""
    running = sys.version_info[:2]
    if running < (3, 12) and _NESTED_QUOTES.match(message):
        return "3.12", "an f-string with quotes, backslashes or comments inside its fields"
    for version, pattern, construct in _NEWER_SYNTAX:
        if running < version and _stands_near(source, pattern, error.lineno):
            return ".".join(map(str, version)), construct
    return None


def _stands_near(source: SourceFile, pattern: re.Pattern[str], row: int | None) -> bool:
    rows = len(source.line_starts())
    return row is not None and 1 <= row <= rows and pattern.search(source.line(row)) is not None


def _error_offset(source: SourceFile, error: SyntaxError) -> int | None:
    starts = source.line_starts()
    if error.lineno is None or not 1 <= error.lineno <= len(starts):
        return None
    # SyntaxError columns count characters from 1 and point past the end for errors at the end of a line
    column = max(0, (error.offset or 1) - 1)
    return min(starts[error.lineno - 1] + column, len(source.text))


def parse_field(text: str, start: int, end: int) -> tuple[ast.expr, list[int]]:
    """Parse the expression `text[start:end]` of a replacement field.

    Returns the expression and the origins (see `columns.origins`) of its positions.

    Raises:
        SyntaxError: it is no expression.
    """
    code = f"({text[start:end]})"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(code, mode="eval")
    return tree.body, origins(code, start - 1)
