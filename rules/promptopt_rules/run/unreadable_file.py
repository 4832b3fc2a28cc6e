"""PO001: a file that cannot be read or decoded."""

from __future__ import annotations

from collections.abc import Iterator

from promptopt.finding import Finding, Severity
from promptopt.rule import Fault, Rule, RuleContext


class UnreadableFile(Rule[Fault]):
    """A file cannot be read, so nothing in it was checked.

    ## What it finds
    A file that cannot be opened (permissions, a broken link, one that vanished during the run) or
    whose bytes are not text in the encoding that it declares: Python files follow their coding line,
    others are UTF-8.

    ## Why it is slow
    It is not slow in itself. But prompts in this file, and those that other files build from it, go
    unchecked, and a clean report would say more than was looked at.

    ## Example
    A Python file in Latin-1 that does not say so: the byte `0xe9` of `é` is not UTF-8.

    ## Use instead
    Save the file as UTF-8, declare its encoding in the first line (`# -*- coding: latin-1 -*-`), or
    leave the file out with `exclude`.

    ## Silent on
    Files that are excluded or ignored by git, and files that are not read at all: those that no prompt needs.
    """

    code = "PO001"
    name = "unreadable-file"
    severity = Severity.WARNING
    since = "0.1.0"
    subject = Fault

    def check(self, subject: Fault, context: RuleContext) -> Iterator[Finding]:
        """Yield a finding for a fault of reading."""
        if subject.kind == "unreadable":
            message = f"cannot be read and was not checked: {subject.reason}"
            yield self.finding(message, subject.location, subject=subject.reason)
