"""PO003: an ignore comment that silences nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from promptopt.finding import Applicability, Edit, Finding, Fix, Remedy, Severity
from promptopt.rule import Rule, RuleContext
from promptopt.suppression import SuppressionUse


class UnusedSuppression(Rule[SuppressionUse]):
    """An ignore comment silences nothing.

    ## What it finds
    `# promptopt: ignore[...]` and `# promptopt: ignore-file[...]` whose rule reports nothing there,
    or whose words name no rule.

    ## Why it is slow
    A comment that outlived its finding hides the next one: the prompt may lose its cache again
    without anybody being told.

    ## Example
    ```python bad
    SYSTEM = "You are a helpful assistant."  # promptopt: ignore[PO101]  # finds: PO003
    ```

    ## Use instead
    ```python good
    SYSTEM = "You are a helpful assistant."
    ```

    ## Silent on
    Words of rules that did not run: not selected, or in preview. Comments that silence this rule
    (`ignore[PO003]`). Files of large projects that no prompt needs: those are not read in full.

    ## Fix safety
    Safe: only the comment is deleted. Not offered where some of its words are in use, or where
    another comment follows on the line.
    """

    code = "PO003"
    name = "unused-suppression"
    severity = Severity.WARNING
    since = "0.1.0"
    fix = Applicability.SAFE
    subject = SuppressionUse

    def check(self, subject: SuppressionUse, context: RuleContext) -> Iterator[Finding]:
        """Yield a finding for words, or a whole comment, that did nothing."""
        message = _message(subject)
        if not message:
            return
        comment = subject.suppression
        useless = {*subject.unused, *subject.unknown}
        finding = self.finding(message, comment.location, subject=context.text(comment.location))
        if subject.removal is None or useless != set(comment.words):
            yield finding
            return
        title = "delete the comment"
        fix = Fix(title, Applicability.SAFE, (Edit(subject.removal, ""),))
        yield replace(finding, remedies=(Remedy("delete-comment", title),), fixes=(fix,))


def _message(use: SuppressionUse) -> str:
    if use.idle:
        return "this comment silences nothing: delete it"
    reasons = [f"{_listed(use.unknown)} names no rule"] if use.unknown else []
    reasons += [f"{_listed(use.unused)} is not reported here"] if use.unused else []
    return f"{' and '.join(reasons)}: delete it from the comment" if reasons else ""


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words)
