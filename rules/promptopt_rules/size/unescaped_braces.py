"""PO210 unescaped-braces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from promptopt.finding import Applicability, Edit, Finding, Fix, Severity
from promptopt.prompt import BracedText
from promptopt.rule import Rule, RuleContext


class UnescapedBraces(Rule[BracedText]):
    """JSON in a format string: its braces are read as variables.

    ## What it finds

    An object of JSON (`{"name": ...}`) in text that goes through `str.format`, or through a prompt template of
    LangChain in its default format. Only text that reaches a prompt.

    ## Why it is slow

    It never gets as far: `format` raises a `KeyError` for a variable called `"name"`, or the framework asks for it.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    PROMPT = 'Answer as {"name": "...", "price": 1} about {question}.'  # finds: PO210

    def ask(question: str):
        return client.responses.create(model="gpt-5", input=PROMPT.format(question=question))
    ```

    ## Use instead

    ```python good
    from openai import OpenAI

    client = OpenAI()
    PROMPT = 'Answer as {{"name": "...", "price": 1}} about {question}.'

    def ask(question: str):
        return client.responses.create(model="gpt-5", input=PROMPT.format(question=question))
    ```

    ## Silent on

    - braces that are doubled, and fields with a format (`{price:.2f}`)
    - text of which only some reaches `format`: one of several texts that a condition chooses from
    - templates of Jinja and Mustache, where a single brace is text

    ## Fix safety

    Safe: the text could not be formatted before. The braces of the object are doubled, those of fields inside it stay.

    ## References

    - https://docs.python.org/3/library/string.html#format-string-syntax
    """

    code: ClassVar[str] = "PO210"
    name: ClassVar[str] = "unescaped-braces"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = Applicability.SAFE
    subject: ClassVar[type[BracedText]] = BracedText

    def check(self, subject: BracedText, context: RuleContext) -> Iterator[Finding]:
        """One finding for each object."""
        finding = self.finding(
            "The braces of this JSON are read as a variable when the text is formatted, which fails. Double them.",
            subject.location,
        )
        texts = [(place, context.text(place)) for place in subject.braces]
        if texts and all(text in ("{", "}") for _, text in texts):
            edits = tuple(Edit(place, text * 2) for place, text in sorted(texts))
            finding = replace(finding, fixes=(Fix("double the braces", Applicability.SAFE, edits),))
        yield finding
