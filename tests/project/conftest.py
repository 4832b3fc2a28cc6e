"""Small projects whose values the linker computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptopt.project.evaluate import Evaluator
from promptopt.project.jinja import Units
from promptopt.project.values import Constant, MapValue, ScopeRef, Sequence, Value, plain
from promptopt.project.world import World
from promptopt.readers.python import read_module
from promptopt.sdks import load_catalogue
from promptopt.source import SourceFile
from promptopt.sources import load_sources

UNKNOWN = "<unknown>"
"""What stands for a value that is not a constant, in `Sources.python`."""


class Sources:
    """An evaluator over files given as text; `main.py` is the one asked about."""

    def __init__(self, files: dict[str, str]) -> None:
        read = {path: SourceFile(path, text) for path, text in files.items()}
        modules = {path: read_module(file) for path, file in read.items() if path.endswith(".py")}
        templates = [path for path in files if path not in modules]
        world = World(modules, read, load_catalogue(), load_sources(), files.get, units=Units(templates))
        self.ev = Evaluator(world)

    def value(self, name: str, path: str = "main.py") -> Value:
        """What a global is bound to at the end of its module."""
        self.ev.refuel()
        return self.ev.final(name, self.ev.open_frame(ScopeRef(path, 0)))

    def scope(self, name: str, path: str = "main.py") -> ScopeRef:
        """The scope of a function by its qualified name."""
        scopes = self.ev.world.modules[path].scopes
        return ScopeRef(path, next(number for number, scope in enumerate(scopes) if scope.name == name))

    def python(self, name: str, path: str = "main.py") -> Any:
        """A global as the object that Python would have made, `UNKNOWN` in place of what is not constant."""
        return as_python(self.value(name, path))


def as_python(value: object) -> Any:
    """A value of the linker as the object that it stands for."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Sequence):
        items = [as_python(item) for item in value.items]
        return UNKNOWN if value.order is not None else tuple(items) if value.kind == "tuple" else items
    if isinstance(value, MapValue):
        return UNKNOWN if value.rest else {key: as_python(one) for key, one in value.entries.items()}
    text = plain(value) if isinstance(value, Value) else None
    return UNKNOWN if text is None else text


@pytest.fixture(scope="session")
def sources() -> Callable[..., Sources]:
    """Make an evaluator of `main.py` and further files: Python, or by their whole names."""

    def make(main: str, **files: str) -> Sources:
        return Sources(
            {"main.py": main, **{name if "." in name else f"{name}.py": text for name, text in files.items()}}
        )

    return make
