"""How reports look: what is shown, colour, width, characters, and paths as people write them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from promptopt.finding import Finding, Severity

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


@dataclass(frozen=True, slots=True)
class Style:
    """Settings of a report.

    `min_severity` is the least that is shown. `folder` is what paths are shown relative to. `width`
    is in columns. `unicode` is false where the output cannot print drawing characters. `verbosity`
    is -1 with `-q`, 1 with `-v`.
    """

    min_severity: Severity = Severity.WARNING
    show_fixes: bool = False
    color: bool = False
    width: int = 100
    unicode: bool = True
    verbosity: int = 0
    folder: Path = field(default_factory=Path.cwd)

    @property
    def ellipsis(self) -> str:
        """Where text was cut."""
        return "…" if self.unicode else "..."

    def shown(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are severe enough."""
        return [finding for finding in findings if finding.severity >= self.min_severity]

    def path(self, root: Path, path: str) -> str:
        """A project path relative to `folder` where it is below it, else absolute; `/` everywhere."""
        full = root / path
        if full.is_relative_to(self.folder):
            return full.relative_to(self.folder).as_posix()
        return Path(os.path.normpath(full)).as_posix()


def printable(text: str) -> str:
    """The text with control characters, line ends and text-direction marks written as escapes.

    A source file must not be able to move the cursor, hide text or start a line of its own.
    """
    return _UNPRINTABLE.sub(lambda match: _escape(match.group()), text)


def _escape(character: str) -> str:
    code = ord(character)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


@dataclass(frozen=True, slots=True)
class Paint:
    """ANSI colours, or none. `mark_code` is the colour of marks: that of the finding's severity."""

    enabled: bool
    mark_code: str = "1;33"

    @classmethod
    def of(cls, style: Style, severity: Severity = Severity.WARNING) -> Paint:
        """Colours for a finding of that severity."""
        return cls(style.color, {Severity.ERROR: "1;31", Severity.INFO: "1;34"}.get(severity, "1;33"))

    def bold(self, text: str) -> str:
        """What the eye should find first."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """What only orients."""
        return self._in("2", text)

    def mark(self, text: str) -> str:
        """In the colour of the severity."""
        return self._in(self.mark_code, text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text


def counted(number: int, noun: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
