"""PO202 over-budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.budgets import Measured
from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.rule import Rule, RuleContext, sent_by


class OverBudget(Rule[Measured]):
    """A prompt outside of the budget that the project set for it.

    ## What it finds

    A prompt, or what prompts take from a text file, with more tokens than `budgets` in the configuration allows, with
    a shorter stable prefix than it asks for, or grown by more percent than it allows since `promptopt.lock` was
    written. Constant text and sample values count, on the longest way through the prompt's branches.

    ## Why it is slow

    Every token of a prompt is read before the first one of the answer. Prompts grow by a sentence at a time; nobody
    notices the one that doubles the time to the first token, or the edit that moves a value ahead of the instructions.

    ## Example

    With this configuration

    ```toml
    [tool.promptopt.budgets]
    "case.py::ask" = 50
    ```

    this prompt, in `case.py`, is over its budget:

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 10

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=RULES, input=question)  # finds: PO202
    ```

    ## Use instead

    A shorter prompt, or a budget that someone has agreed to:

    ```python good
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. "

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=RULES, input=question)
    ```

    ## Silent on

    - prompts and files that no budget names; `promptopt budget` tells which budgets name nothing
    - values without a sample, conversations and images: their length is not known and counts as nothing
    - a stable prefix that may be long enough, if values that could not be resolved stay the same
    - growth of a prompt that the lock file does not have, or has counted with another encoding

    ## Fix safety

    What can go is for the author to say. The remedy is advice: no edit is made.

    ## References

    - docs/configuration.md of promptopt, Budgets
    """

    code: ClassVar[str] = "PO202"
    name: ClassVar[str] = "over-budget"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Measured]] = Measured

    def check(self, subject: Measured, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt and file, with all limits that do not hold."""
        breaches = [breach.detail for breach in subject.breaches()]
        if not breaches:
            return
        yield self.finding(
            f"{subject.name} {'; it '.join(breaches)}.",
            subject.location,
            prompt=subject.name,
            subject=subject.name,
            related=sent_by(subject.call, subject.location),
            remedies=[Remedy("shorten-prompt", "take out what this request does not need, or raise the budget")],
        )
