"""Whether rewritten text can still be parsed."""

from __future__ import annotations

import ast
import warnings

from promptopt.project.prompt_files import is_template
from promptopt.readers.jinja.template import JinjaSyntaxError, read_template
from promptopt.source import SourceFile


def syntax_fault(path: str, text: str) -> str:
    """Why the text cannot be parsed as what its path says it is; empty where it can, or where nobody knows."""
    try:
        if path.endswith((".py", ".pyi", ".pyw")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                ast.parse(text)
        elif is_template(path):
            read_template(SourceFile(path, text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error) if not isinstance(error, JinjaSyntaxError) else error.message
    return ""
