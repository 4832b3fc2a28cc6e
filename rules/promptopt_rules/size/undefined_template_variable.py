"""PO209 undefined-template-variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.config import suggestion
from promptopt.finding import Finding, Related, Severity
from promptopt.prompt import PromptTemplate
from promptopt.rule import Rule, RuleContext


class UndefinedTemplateVariable(Rule[PromptTemplate]):
    """A template reads a variable that nothing passes.

    ## What it finds

    A variable that a template of Jinja prints or loops over, although no call that renders the template passes it and
    nothing in the template defines it. Only templates whose text is part of a prompt, and only where every call is
    known with all that it passes.

    ## Why it is slow

    It is worse than slow: Jinja prints nothing for it. The model gets a prompt with a hole in it, answers without what
    it should have read, and the tokens around the hole are paid for on every call.

    ## Example

    ```python bad
    from jinja2 import Template
    from openai import OpenAI

    client = OpenAI()
    SYSTEM = Template("You are a clerk. Answer from this:\\n{{ passages }}")  # finds: PO209

    def ask(question: str, passages: str):
        system = SYSTEM.render(passage=passages)
        return client.responses.create(model="gpt-5", instructions=system, input=question)
    ```

    ## Use instead

    ```python good
    from jinja2 import Environment, StrictUndefined
    from openai import OpenAI

    client = OpenAI()
    SYSTEM = Environment(undefined=StrictUndefined).from_string("You are a clerk. Answer from this:\\n{{ passages }}")

    def ask(question: str, passages: str):
        return client.responses.create(model="gpt-5", instructions=SYSTEM.render(passages=passages), input=question)
    ```

    `StrictUndefined` makes a missing variable an error where the template is rendered.

    ## Silent on

    - variables with a default, or that the template tests (`{% if x %}`, `x is defined`, `x or y`)
    - calls that pass a mapping which is not known
    - projects that give environments names of their own (`env.globals`, context processors)
    - variables that templates which extend this one define, and those of templates that are included

    ## References

    - https://jinja.palletsprojects.com/en/stable/api/#undefined-types
    """

    code: ClassVar[str] = "PO209"
    name: ClassVar[str] = "undefined-template-variable"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    subject: ClassVar[type[PromptTemplate]] = PromptTemplate

    def check(self, subject: PromptTemplate, context: RuleContext) -> Iterator[Finding]:
        """One finding for each variable, where it is read first."""
        if subject.supplied or not subject.complete or any(one.open for one in subject.renderings):
            return
        passed = dict.fromkeys(name for one in subject.renderings for name, _ in one.passed)
        for variable in subject.variables:
            if variable.optional or variable.name in passed:
                continue
            spare = [name for name in passed if name not in subject.used]
            yield self.finding(
                f"`{variable.name}` is passed by no call that renders this template, so that nothing is printed for it"
                f"{suggestion(variable.name, spare)}",
                variable.locations[0],
                subject=variable.name,
                related=[Related("rendered by this call", one.location) for one in subject.renderings[:MAX_CALLS]],
            )


MAX_CALLS = 4
"""Calls that a finding points at."""
