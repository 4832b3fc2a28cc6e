"""PO202 over-budget."""

from __future__ import annotations

from collections.abc import Iterator

from promptopt.budgets import Measured
from promptopt.finding import Finding, Severity
from promptopt.rule import Rule, RuleContext


class OverBudget(Rule[Measured]):
    """A prompt, or a file of prompt text, breaks the budget that the project has set for it.

    ## What it finds

    With budgets in the configuration,

    ```toml
    [tool.promptopt.budgets]
    "app/support.py::answer" = 800
    "prompts/" = {tokens = 2000, stable-prefix = 1500, growth = 10}
    ```

    a prompt, or a text or template file, that has more
    tokens than its budget, whose stable prefix is shorter than the budget asks for, or that has grown by more than the
    allowed percentage since `promptopt.lock` was written. Constant text is counted exactly as the request's model
    counts it (with o200k_base where the model is not known); values count with their samples, and as nothing
    where there are none, so that what is reported is over budget whatever the values are.

    ## Why it is slow

    Prompts grow one sentence at a time, and every request reads all of it before the first token. Nobody notices a
    sentence; a budget notices the sum.

    ## Example

    `app/support.py::answer` has 1,022 tokens, 222 over its budget of 800.

    ## Use instead

    Shorten the prompt, move what only some requests need into text that is fetched for them, or raise the budget
    where the growth is meant: `promptopt budget --update` accepts the sizes of today as the base of `growth`.

    ## Silent on

    Prompts that no entry of the configuration matches; growth of prompts that the lock file does not have yet, or that
    were counted with another encoding then.
    """

    code = "PO202"
    name = "over-budget"
    severity = Severity.ERROR
    since = "0.1.0"
    subject = Measured

    def check(self, subject: Measured, context: RuleContext) -> Iterator[Finding]:
        """One finding for all that does not hold."""
        details = [breach.detail for breach in subject.breaches()]
        if details:
            yield self.finding(
                f"{subject.name} {'; it '.join(details)}.", subject.location, prompt=subject.name, subject=subject.name
            )
