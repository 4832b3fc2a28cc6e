"""Environments of Jinja: which text a name stands for, and how it is cut."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptopt.project import files
from promptopt.project.values import (
    CallResult,
    Literal,
    MapValue,
    Place,
    Sequence,
    TextValue,
    Value,
    constant_key,
    plain,
)
from promptopt.readers.jinja.environment import DEFAULT_SYNTAX, TemplateSyntax

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.sdks.schema import EngineShape


def lookup(ev: Evaluator, name: str, environment: Value | None, place: Place) -> TextValue | None:
    """The text of the template that an environment knows by a name; where its loader is not known, that of the only
    template of the project whose path ends so. Names that climb (`../x`) stand for nothing, as in Jinja."""
    if ".." in name.split("/"):
        return None
    loader = _loader(ev, environment)
    if loader is not None:
        found = _loaded(ev, loader, name, place)
        if found is not None:
            return found
    paths = [path for path in ev.world.units.files if path == name or path.endswith(f"/{name}")]
    return text_of_file(ev, paths[0]) if len(paths) == 1 else None


def shape_of(ev: Evaluator, value: CallResult) -> EngineShape | None:
    """What of a template engine an object is."""
    found = ev.sdks.engine(value.dotted)
    return found[1] if found is not None else None


def _loader(ev: Evaluator, environment: Value | None) -> CallResult | None:
    """The loader of an environment, or the environment itself where it looks in folders."""
    shape = shape_of(ev, environment) if isinstance(environment, CallResult) else None
    if shape is None or not isinstance(environment, CallResult):
        return None
    if not shape.loader:
        return environment
    loader = ev.world.argument(environment.arguments, shape.loader, ev)
    return loader if isinstance(loader, CallResult) else None


def _loaded(ev: Evaluator, loader: CallResult, name: str, place: Place) -> TextValue | None:
    shape = shape_of(ev, loader)
    if shape is None:
        return None
    if shape.kind in ("mapping", "choice"):
        given = ev.world.argument(loader.arguments, shape.source, ev)
        if isinstance(given, MapValue):
            text = given.entries.get(name)
            return text if isinstance(text, TextValue) else None
        loaders = given.items if isinstance(given, Sequence) else ()
        found = (_loaded(ev, one, name, place) for one in loaders if isinstance(one, CallResult))
        return next((one for one in found if one is not None), None)
    for folder in _folders(ev, loader, shape):
        for base in _bases(loader.place.path, place.path):
            text = text_of_file(ev, posixpath.normpath(posixpath.join(base, folder, name)))
            if text is not None:
                return text
    return None


def _folders(ev: Evaluator, loader: CallResult, shape: EngineShape) -> Iterator[str]:
    given = ev.world.argument(loader.arguments, shape.folders, ev)
    options = given.items if isinstance(given, Sequence) else (given,)
    package = ev.world.argument(loader.arguments, shape.source, ev) if shape.kind == "package" else None
    within = (plain(package) or "").replace(".", "/") if package is not None else ""
    for option in options:
        folder = files.base_of(ev, option) if isinstance(option, Value) else shape.default
        if folder is not None:
            yield posixpath.join(within, folder)


def _bases(*paths: str) -> Iterator[str]:
    """Folders that a relative folder may be meant from: those of the files and around them, then the project's."""
    seen: dict[str, None] = {}
    for path in paths:
        folder = posixpath.dirname(path)
        while folder:
            seen[folder] = None
            folder = posixpath.dirname(folder)
    yield ""
    yield from seen


def text_of_file(ev: Evaluator, path: str) -> TextValue | None:
    """The text of a file of the project; None where there is none, or it cannot be read."""
    text = ev.world.read_text(path)
    return None if text is None else TextValue((Literal(text, Place(path, 0, len(text))),) if text else ())


def syntax(ev: Evaluator, environment: Value | None) -> TemplateSyntax:
    """How the environment cuts templates: as configured, but for the options that it is given."""
    given = environment.arguments.keywords if isinstance(environment, CallResult) else {}
    configured = ev.world.units.syntax
    options: dict[str, Any] = {}
    for option in TemplateSyntax.__slots__:
        value = constant_key(ev.force(given[option])) if option in given else ...
        if isinstance(value, (str, bool)) and isinstance(value, type(getattr(DEFAULT_SYNTAX, option) or "")):
            options[option] = value
    try:
        return replace(configured, **options) if options else configured
    except ValueError:
        return configured
