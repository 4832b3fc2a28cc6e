"""PO002: a file that cannot be parsed."""

from __future__ import annotations

from collections.abc import Iterator

from promptopt.finding import Finding, Severity
from promptopt.rule import Fault, Rule, RuleContext


class SyntaxFault(Rule[Fault]):
    """A file cannot be parsed, so nothing in it was checked.

    ## What it finds
    Python that the running interpreter cannot parse. Where the syntax is newer than the interpreter
    the message says so.

    ## Why it is slow
    It is not slow in itself. But prompts in this file, and those that other files build from it, go
    unchecked, and a clean report would say more than was looked at.

    ## Example
    ```python bad
    SYSTEM = "Answer in one sentence.  # finds: PO002
    ```

    ## Use instead
    ```python good
    SYSTEM = "Answer in one sentence."
    ```
    Mend the syntax, run promptopt under a Python at least as new as the code, or leave the file out
    with `exclude`.

    ## Silent on
    Files that are excluded, and files that no prompt needs: those are not parsed.
    """

    code = "PO002"
    name = "syntax-error"
    severity = Severity.WARNING
    since = "0.1.0"
    subject = Fault

    def check(self, subject: Fault, context: RuleContext) -> Iterator[Finding]:
        """Yield a finding for a fault of parsing."""
        if subject.kind == "syntax":
            message = f"cannot be parsed and was not checked: {subject.reason}"
            yield self.finding(message, subject.location, subject=subject.reason)
