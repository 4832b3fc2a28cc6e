"""PO201 oversized-system-prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Prompt, constant_texts
from promptopt.rule import Rule, RuleContext, sent_by
from promptopt.tokens import Figure, Sentence, reaches
from promptopt_rules.size.places import largest


class OversizedSystemPrompt(Rule[Prompt]):
    """A system prompt of thousands of tokens.

    ## What it finds

    More than `max-tokens` tokens of constant text in the system and developer messages of one request, followed
    through variables, helpers and files. Of alternatives the longest counts, and only what is certain to be sent.

    ## Why it is slow

    Every request that does not read its beginning from a cache reads all of it before the first token, and pays for
    it. Instructions pile up; models follow few rules better than many.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 160  # finds: PO201

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=RULES, input=question)
    ```

    ## Use instead

    What every request needs; the rest where it is needed, from a tool or a retriever:

    ```python good
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 20

    def ask(question: str):
        return client.responses.create(model="gpt-5", instructions=RULES, input=question)
    ```

    ## Silent on

    - text that changes from request to request, retrieved passages, history
    - text that could not be resolved
    - user messages

    Ahead of an explicit cache marker it is an info: the text is read once per lifetime of the cache.

    ## Options

    - `max-tokens` (2000): constant tokens of system text above which it is reported

    ## Fix safety

    What can go is for the author to say. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO201"
    name: ClassVar[str] = "oversized-system-prompt"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """A size in tokens, as the request's model counts them."""

        max_tokens: int = field(default=2000, metadata={"help": "constant tokens above which it is reported"})

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt."""
        messages = [message for message in subject.system if message.certain]
        texts = [text for message in messages for block in message.blocks for text in constant_texts(block.parts)]
        values = tuple(text.value for text in texts)
        limit = context.options.max_tokens
        if not reaches(values, limit + 1, subject.call):
            return
        place = largest(texts) or messages[0].location or subject.location
        marked = any(block.marker for message in messages for block in message.blocks)
        yield self.finding(
            Sentence.of(
                "The system prompt has ",
                Figure(values, subject.call),
                f" tokens of constant text, more than {limit:,}: every request that finds no cache reads them all ",
                "before the first token.",
            ),
            place,
            severity=Severity.INFO if marked else None,
            prompt=subject.name,
            related=sent_by(subject.call, place),
            remedies=[Remedy("shorten-system-prompt", "keep what every request needs, retrieve the rest")],
            group=f"system-text@{place.path}:{place.span.start}",
        )
