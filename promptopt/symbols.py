"""Symbol patterns (`root:suffix`) indexed for look-up of resolved dotted names.

`datetime:datetime.now` fits every dotted name that begins with `datetime` and ends in `datetime.now`.
The root may be `*` or end in it, the suffix may be or end in `*`.
"""

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
    suffix: tuple[str, ...]
    most: int | None = None

    def fits(self, parts: list[str], positional: int | None = None) -> bool:
        """Whether the pattern fits a name, in components, called with `positional` arguments where known."""
        size = len(self.suffix)
        if len(parts) <= size or not root_fits(self.root, parts[0]):
            return False
        if self.most is not None and positional is not None and positional > self.most:
            return False
        kept = size - 1 if self.suffix[-1] == "*" else size
        return tuple(parts[-size:][:kept]) == self.suffix[:kept]

    def overlaps(self, other: Symbol) -> bool:
        """Whether both may fit one name, neither with a longer suffix than the other."""
        roots = root_fits(self.root, other.root.rstrip("*")) or root_fits(other.root, self.root.rstrip("*"))
        return self.suffix == other.suffix and roots


def parse_symbol(pattern: str) -> Symbol:
    """Raises `ValueError` on anything but `root:suffix` and `root:suffix/n`."""
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise ValueError(f"{pattern!r} is not a symbol such as datetime:datetime.now or time:ctime/0")
    return Symbol(match[1], tuple(match[2].split(".")), int(match[3]) if match[3] else None)


def root_fits(glob: str, root: str) -> bool:
    """Whether the first component of a dotted name fits a root glob (`openai`, `langchain*`)."""
    return root.startswith(glob[:-1]) if glob.endswith("*") else root == glob


@dataclass(frozen=True, slots=True)
class SymbolIndex(Generic[T]):
    """Values by the last component of their pattern, longest suffix first: that one is the answer."""

    entries: dict[str, tuple[tuple[Symbol, T], ...]]

    def find(self, dotted: str, positional: int | None = None) -> T | None:
        """The value whose pattern fits `dotted`, called with `positional` arguments where known."""
        named, any_name = self.entries.get(dotted[dotted.rfind(".") + 1 :]), self.entries.get("*")
        if named is None and any_name is None:
            return None
        parts = dotted.split(".")
        found = [
            next(((symbol, value) for symbol, value in entries if symbol.fits(parts, positional)), None)
            for entries in (named, any_name)
            if entries is not None
        ]
        fitting = [one for one in found if one is not None]
        return max(fitting, key=lambda one: len(one[0].suffix))[1] if fitting else None

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
        return index_parsed(one for index in (self, other) for rows in index.entries.values() for one in rows)


def index_symbols(patterns: Iterable[tuple[str, T]]) -> SymbolIndex[T]:
    """Index patterns; of equal ones the first counts.

    Raises:
        ValueError: a malformed pattern.
    """
    return index_parsed((parse_symbol(pattern), value) for pattern, value in patterns)


def index_parsed(rows: Iterable[tuple[Symbol, T]]) -> SymbolIndex[T]:
    """As `index_symbols`, of patterns that are parsed already."""
    entries: dict[str, list[tuple[Symbol, T]]] = {}
    for symbol, value in rows:
        entries.setdefault(symbol.suffix[-1], []).append((symbol, value))
    return SymbolIndex({last: tuple(sorted(one, key=lambda row: -len(row[0].suffix))) for last, one in entries.items()})
