"""PO107 too-many-breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Prompt
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import breakpoint_limit
from promptopt_rules.cache.prefix import marked_items

MAX_RELATED: Final = 8


class TooManyBreakpoints(Rule[Prompt]):
    """More cache markers than the provider accepts.

    ## What it finds

    A request that is certain to carry more explicit cache markers on tools and messages than its provider takes
    (four for Anthropic's models).

    ## Why it is slow

    The provider refuses the request: every call fails, and whatever retries it pays again.

    ## Example

    ```python bad
    from anthropic import Anthropic

    client = Anthropic()
    MARK = {"type": "ephemeral"}

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": "Rules of the house. " * 400, "cache_control": MARK},
                {"type": "text", "text": "Handbook. " * 400, "cache_control": MARK},
                {"type": "text", "text": "Glossary. " * 400, "cache_control": MARK},
                {"type": "text", "text": "Price list. " * 400, "cache_control": MARK},
                {"type": "text", "text": "Examples. " * 400, "cache_control": MARK},  # finds: PO107
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Use instead

    One marker at the end of what stays the same; those ahead of it are covered by it:

    ```python good
    from anthropic import Anthropic

    client = Anthropic()
    MARK = {"type": "ephemeral"}

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": "Rules of the house. " * 400},
                {"type": "text", "text": "Handbook. " * 400},
                {"type": "text", "text": "Glossary. " * 400},
                {"type": "text", "text": "Price list. " * 400},
                {"type": "text", "text": "Examples. " * 400, "cache_control": MARK},
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - markers on messages that are sent on some branch only
    - providers whose limit is not known

    ## Fix safety

    Which markers to keep depends on what changes how often. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO107"
    name: ClassVar[str] = "too-many-breakpoints"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt, at the first marker that is too many."""
        limit = breakpoint_limit(subject.call.provider)
        marked = list(marked_items(subject))
        if not limit or len(marked) <= limit:
            return
        place = marked[limit].location or subject.call.location
        earlier = [one.location for one in marked[:limit] if one.location and one.location != place]
        yield self.finding(
            f"The request carries {len(marked)} cache markers, the provider accepts {limit}: it is refused.",
            place,
            prompt=subject.name,
            related=[Related("an earlier marker", location) for location in earlier[:MAX_RELATED]],
            remedies=[Remedy("fewer-markers", "keep the last marker of what changes equally often")],
            group=f"markers@{place.path}:{place.span.start}",
        )
