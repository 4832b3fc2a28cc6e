"""One Python file in, its facts out."""

from __future__ import annotations

from promptopt.readers.facts import Module
from promptopt.readers.python.columns import origins
from promptopt.readers.python.lowering import Lowering
from promptopt.readers.python.parse import parse_module
from promptopt.readers.python.statements import ALL_EXPRESSIONS, lower_module
from promptopt.source import SourceFile


def read_module(source: SourceFile) -> Module:
    """Facts of a Python file.

    Raises:
        PythonSyntaxError: it cannot be parsed.
    """
    tree = parse_module(source)
    state = Lowering(source.text, origins(source.text), ALL_EXPRESSIONS)
    lower_module(state, tree)
    names = {name: tuple(places) for name, places in state.names.items()}
    return Module(source.path, tuple(state.scopes), names, tuple(state.imports))
