"""PO004: an ignore comment that silences every rule."""

from __future__ import annotations

from collections.abc import Iterator

from promptopt.finding import Finding, Severity
from promptopt.rule import Rule, RuleContext
from promptopt.suppression import SuppressionUse


class BlanketSuppression(Rule[SuppressionUse]):
    """An ignore comment names no rule and silences all of them.

    ## What it finds
    `# promptopt: ignore` and `# promptopt: ignore-file` without codes or names in brackets.

    ## Why it is slow
    It silences what it was written for and everything that goes wrong there later.

    ## Example
    ```python bad
    SYSTEM = "You are a helpful assistant."  # promptopt: ignore  # finds: PO004, PO003
    ```

    ## Use instead
    ```python good
    SYSTEM = "You are a helpful assistant."
    ```
    Or name what is meant: `# promptopt: ignore[volatile-prefix]`.

    ## Silent on
    Comments with at least one code or name. Files of large projects that no prompt needs: those are
    not read in full.
    """

    code = "PO004"
    name = "blanket-suppression"
    severity = Severity.WARNING
    since = "0.1.0"
    subject = SuppressionUse

    def check(self, subject: SuppressionUse, context: RuleContext) -> Iterator[Finding]:
        """Yield a finding for a comment without words."""
        comment = subject.suppression
        if comment.words:
            return
        scope = "in this file" if comment.whole_file else "here"
        message = f"this comment silences every rule {scope}: name the rules that it is meant for, as in ignore[PO101]"
        yield self.finding(message, comment.location, subject=context.text(comment.location))
