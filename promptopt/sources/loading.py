"""Reading and checking the TOML files of source data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import date
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from promptopt.prompt import Volatility
from promptopt.sdks.decoding import DecodingError, decode
from promptopt.sources.schema import Source, SourceData
from promptopt.symbols import parse_symbol

_LEVELS: Final = {level.name.lower(): level for level in Volatility if level is not Volatility.UNKNOWN}
_KIND: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SYMBOL_KEYS: Final = ("functions", "attributes", "annotations")
_FORMS: Final = {
    "names": re.compile(r"[a-z][a-z0-9_]*"),
    "template_names": re.compile(r"[a-z][a-z0-9_]*"),
    "members": re.compile(r"[a-z]\w*\.(\*|\w+)|\*\.\w+"),
    "commands": re.compile(r"\S+( \S+)*"),
}
_PASSING_SYMBOL_KEYS: Final = ("functions", "ordering", "caching_decorators", "runners")


class SourceDataError(ValueError):
    """Source data is malformed; the message names file and key."""


def read_all() -> dict[str, SourceData]:
    """The shipped files by name, sorted.

    Raises:
        SourceDataError: see `read_file`.
    """
    files = sorted(resources.files(__package__).iterdir(), key=lambda file: file.name)
    return {file.name: read_file(file) for file in files if file.name.endswith(".toml")}


def read_file(file: Traversable) -> SourceData:
    """Read and check one file.

    Raises:
        SourceDataError: not TOML, an unknown or missing key, a value of another type, or a malformed
            symbol, name, member, kind or date.
    """
    try:
        content = decode(SourceData, _with_volatilities(tomllib.loads(file.read_text(encoding="utf-8"))))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, DecodingError) as error:
        raise SourceDataError(f"{file.name}: {error}") from error
    for fault in _faults(content):
        raise SourceDataError(f"{file.name}: {fault}")
    return content


def _with_volatilities(table: dict[str, object]) -> dict[str, object]:
    """The table with the volatility words of its sources as `Volatility`; the rest is left to `decode`."""
    sources = table.get("sources")
    if not isinstance(sources, list):
        return table
    return {**table, "sources": [_with_volatility(entry, f"sources[{n}]") for n, entry in enumerate(sources)]}


def _with_volatility(entry: object, where: str) -> object:
    if not isinstance(entry, dict) or not isinstance(entry.get("volatility"), str):
        return entry
    level = _LEVELS.get(entry["volatility"])
    if level is None:
        raise DecodingError(f"{where}.volatility: {entry['volatility']!r} is none of {', '.join(_LEVELS)}")
    return {**entry, "volatility": level}


def _faults(content: SourceData) -> Iterator[str]:
    """What the types of the schema cannot say, each with its key."""
    for n, source in enumerate(content.sources):
        yield from _source_faults(source, f"sources[{n}]")
    for key in _PASSING_SYMBOL_KEYS:
        yield from _malformed_symbols(f"passing.{key}", getattr(content.passing, key))
    yield from _malformed_symbols("passing.sizes", [size for size in content.passing.sizes if ":" in size])
    for n, reference in enumerate(content.references):
        yield from (f"references[{n}].{key}: empty" for key, value in asdict(reference).items() if not value)
        if not _is_iso_date(reference.date):
            yield f"references[{n}].date: {reference.date!r} is not a date such as 2026-11-30"


def _source_faults(source: Source, where: str) -> Iterator[str]:
    if not _KIND.fullmatch(source.kind):
        yield f"{where}.kind: {source.kind!r} is not a word such as time-of-day"
    if not source.label.strip():
        yield f"{where}.label: empty"
    for key in _SYMBOL_KEYS:
        yield from _malformed_symbols(f"{where}.{key}", getattr(source, key))
    for key, form in _FORMS.items():
        for value in getattr(source, key):
            if not form.fullmatch(value):
                yield f"{where}.{key}: {value!r} is malformed"


def _malformed_symbols(key: str, patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        try:
            parse_symbol(pattern)
        except ValueError as error:
            yield f"{key}: {error}"


def _is_iso_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False
