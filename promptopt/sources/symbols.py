"""Symbol patterns (`root:suffix`) indexed for look-up of resolved dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_PATTERN: Final = re.compile(r"([A-Za-z_]\w*\*?|\*):((?:[A-Za-z_]\w*\.)*(?:[A-Za-z_]\w*|\*))(?:/(\d+))?")


class Symbol(NamedTuple):
    """A parsed pattern; `most` is the greatest number of positional arguments, None for any."""

    root: str
    suffix: str
    most: int | None


def parse_symbol(pattern: str) -> Symbol:
    """Raises `ValueError` on anything but `root:suffix` and `root:suffix/n`."""
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise ValueError(f"{pattern!r} is not a symbol such as datetime:datetime.now or time:ctime/0")
    return Symbol(match[1], match[2], int(match[3]) if match[3] else None)


@dataclass(frozen=True, slots=True)
class SymbolIndex(Generic[T]):
    """Values by the suffix of their pattern; the longest suffix that fits is the answer."""

    entries: dict[str, tuple[tuple[Symbol, T], ...]]

    def find(self, dotted: str, positional: int | None = None) -> T | None:
        """The value whose pattern fits `dotted`, called with `positional` arguments where known."""
        parts = dotted.split(".")
        for first in range(1, len(parts)):
            suffix = parts[first:]
            for key in (".".join(suffix), ".".join((*suffix[:-1], "*"))):
                for symbol, value in self.entries.get(key, ()):
                    if _fits(symbol, parts[0], positional):
                        return value
        return None

    def find_prefix(self, dotted: str) -> T | None:
        """The value for `dotted` or for the longest of its beginnings that has one."""
        parts = dotted.split(".")
        for last in range(len(parts), 1, -1):
            value = self.find(".".join(parts[:last]))
            if value is not None:
                return value
        return None

    def merged(self, other: SymbolIndex[T]) -> SymbolIndex[T]:
        """Both indexes as one; of equal suffixes this one's come first."""
        suffixes = dict.fromkeys((*self.entries, *other.entries))
        return SymbolIndex({key: (*self.entries.get(key, ()), *other.entries.get(key, ())) for key in suffixes})


def index_symbols(patterns: Iterable[tuple[str, T]]) -> SymbolIndex[T]:
    """Index patterns; of equal ones the first counts.

    Raises:
        ValueError: a malformed pattern.
    """
    entries: dict[str, tuple[tuple[Symbol, T], ...]] = {}
    for pattern, value in patterns:
        symbol = parse_symbol(pattern)
        entries[symbol.suffix] = (*entries.get(symbol.suffix, ()), (symbol, value))
    return SymbolIndex(entries)


def _fits(symbol: Symbol, root: str, positional: int | None) -> bool:
    if symbol.most is not None and positional is not None and positional > symbol.most:
        return False
    return root.startswith(symbol.root[:-1]) if symbol.root.endswith("*") else root == symbol.root
