"""PO206 oversized-tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Prompt, Tool, constant_texts
from promptopt.rule import Rule, RuleContext, sent_by
from promptopt.tokens import Figure, Sentence, reaches

DEFERRED: Final = '"defer_loading":'
"""Key of tools that the provider loads only when they are searched for."""


class OversizedTools(Rule[Prompt]):
    """Tool definitions of thousands of tokens.

    ## What it finds

    More than `max-tokens` tokens of names, descriptions and schemas in the tools of one request, as far as they are
    known. Braces, numbers and what a framework adds are not counted: the real figure is higher.

    ## Why it is slow

    Tools stand at the very beginning of every request. Models choose worse among many of them, and each definition is
    read again whenever the cache has gone cold.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    TEXT = "Looks up an order by its number and tells its state, its lines, its address and its history. " * 60
    TOOLS = [  # finds: PO206
        {"type": "function", "name": "find_order", "description": TEXT, "parameters": {"type": "object"}},
        {"type": "function", "name": "find_customer", "description": TEXT, "parameters": {"type": "object"}},
        {"type": "function", "name": "find_product", "description": TEXT, "parameters": {"type": "object"}},
        {"type": "function", "name": "find_invoice", "description": TEXT, "parameters": {"type": "object"}},
    ]

    def ask(question: str):
        return client.responses.create(model="gpt-5", tools=TOOLS, input=question)
    ```

    ## Use instead

    Short descriptions, and only the tools that the task needs; where there are many, a provider's tool search:

    ```python good
    from openai import OpenAI

    client = OpenAI()
    TEXT = "Looks up an order by its number."
    TOOLS = [
        {"type": "function", "name": "find_order", "description": TEXT, "parameters": {"type": "object"}},
        {"type": "function", "name": "find_customer", "description": TEXT, "parameters": {"type": "object"}},
    ]

    def ask(question: str):
        return client.responses.create(model="gpt-5", tools=TOOLS, input=question)
    ```

    ## Silent on

    - tools that are loaded when they are searched for (`defer_loading`)
    - tools whose text is not known

    ## Options

    - `max-tokens` (4000): tokens of all tools above which it is reported

    ## Fix safety

    What can go is for the author to say. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
    """

    code: ClassVar[str] = "PO206"
    name: ClassVar[str] = "oversized-tools"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """A size in tokens, as the request's model counts them."""

        max_tokens: int = field(default=4000, metadata={"help": "tokens of all tools above which it is reported"})

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt."""
        if subject.tools is None:
            return
        tools = [tool for tool in subject.tools.tools if not _is_deferred(tool)]
        texts = tuple(text for tool in tools for text in _texts(tool))
        limit = context.options.max_tokens
        if not reaches(texts, limit + 1, subject.call):
            return
        place = subject.tools.location or subject.call.location
        yield self.finding(
            Sentence.of(
                f"The {len(tools)} tools have ",
                Figure(texts, subject.call),
                f" tokens, more than {limit:,}: they stand at the beginning of every request. ",
                "Shorten them, and send those that the task needs.",
            ),
            place,
            prompt=subject.name,
            related=sent_by(subject.call, place),
            remedies=[Remedy("fewer-tools", "shorten them, and send those that the task needs")],
            group=f"tools-size@{place.path}:{place.span.start}",
        )


def _texts(tool: Tool) -> Iterator[str]:
    yield from (text.value for text in constant_texts(tool.parts))


def _is_deferred(tool: Tool) -> bool:
    return any(DEFERRED in text for text in _texts(tool))
