"""From `ast` positions to character offsets.

`ast` gives a line from 1 and a column in UTF-8 bytes. `origins(text)[line] + column` is the character
offset: an origin is the plain offset of the line's start where the line is ASCII, which makes the
common case one addition, and an `int` that decodes the column where it is not.
"""

from __future__ import annotations

from itertools import accumulate


class _WideLine(int):
    """Start of a line with non-ASCII characters; adding a UTF-8 column gives a character offset."""

    line: bytes

    def __add__(self, column: int, /) -> int:
        return int(self) + len(self.line[:column].decode("utf-8", "surrogatepass"))


def origins(text: str, base: int = 0) -> list[int]:
    """Origins of the lines of `text`, which begins at offset `base`; index 0 is unused."""
    # unlike `str`, `bytes` splits at the three line ends of Python source only
    lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    if text.isascii():
        return [base, *accumulate(map(len, lines), initial=base)]
    starts = [base]
    for line in lines:
        if line.isascii():
            starts.append(base)
            base += len(line)
        else:
            starts.append(_wide(base, line))
            base += len(line.decode("utf-8", "surrogatepass"))
    return [*starts, base]


def _wide(start: int, line: bytes) -> _WideLine:
    wide = _WideLine(start)
    wide.line = line
    return wide


class Shift(list[int]):
    """Origins of an expression whose columns are all off by the same number, on whatever line."""

    def __init__(self, origin: int) -> None:
        super().__init__((origin,))

    def __getitem__(self, line: object) -> int:  # type: ignore[override]
        return super().__getitem__(0)
