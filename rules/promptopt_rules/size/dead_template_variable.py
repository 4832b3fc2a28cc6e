"""PO208 dead-template-variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Finding, Related, Severity
from promptopt.prompt import PromptTemplate
from promptopt.rule import Rule, RuleContext


class DeadTemplateVariable(Rule[PromptTemplate]):
    """A value is passed to a template that never uses it.

    ## What it finds

    A keyword of the call that renders a template of Jinja, or a key of the mapping written there, that neither the
    template nor any template that it includes, extends or imports reads. Only templates whose text is part of a prompt.

    ## Why it is slow

    The value is computed for nothing: a retrieval, a summary, a history put into text. Often the template was meant to
    use it, and the model never sees what it needs.

    ## Example

    ```python bad
    from jinja2 import Template
    from openai import OpenAI

    client = OpenAI()
    SYSTEM = Template("You are a clerk. Answer from this:\\n{{ passages }}")

    def ask(question: str, passages: str, history: str):
        system = SYSTEM.render(passages=passages, history=history)  # finds: PO208
        return client.responses.create(model="gpt-5", instructions=system, input=question)
    ```

    ## Use instead

    ```python good
    from jinja2 import Template
    from openai import OpenAI

    client = OpenAI()
    SYSTEM = Template("You are a clerk. Answer from this:\\n{{ passages }}")

    def ask(question: str, passages: str):
        return client.responses.create(model="gpt-5", instructions=SYSTEM.render(passages=passages), input=question)
    ```

    ## Silent on

    - templates that include, extend or import others that are not known
    - calls that render one of several templates
    - values that are handed on (`**context`)
    - templates that are no part of a prompt

    ## References

    - https://jinja.palletsprojects.com/en/stable/api/#jinja2.Template.render
    """

    code: ClassVar[str] = "PO208"
    name: ClassVar[str] = "dead-template-variable"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    subject: ClassVar[type[PromptTemplate]] = PromptTemplate

    def check(self, subject: PromptTemplate, context: RuleContext) -> Iterator[Finding]:
        """One finding for each place that passes a name for nothing."""
        if not subject.complete or subject.shared:
            return
        for rendering in subject.renderings:
            for name, place in rendering.passed:
                if name not in subject.used and place is not None:
                    yield self.finding(
                        f"`{name}` is passed to a template that never uses it. "
                        "Leave it out, or put it where the template was meant to have it.",
                        place,
                        subject=name,
                        related=[Related("the template", subject.location)],
                    )
