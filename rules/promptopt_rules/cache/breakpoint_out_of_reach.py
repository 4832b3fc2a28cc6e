"""PO112 breakpoint-out-of-reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Block, History, Prompt, Tool
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import lookback


class BreakpointOutOfReach(Rule[Prompt]):
    """More blocks between two cache markers than the provider looks back.

    ## What it finds

    Two cache markers of one request with more content blocks between them than the provider looks through when it
    searches for what an earlier request has stored (20 at Anthropic).

    ## Why it is slow

    When the blocks close ahead of the later marker have changed, the provider goes back block by block to find the
    longest stored prefix, and gives up before it comes to the earlier marker's blocks in between: they are read again.

    ## Example

    ```python bad
    from anthropic import Anthropic

    client = Anthropic()
    MARK = {"type": "ephemeral"}
    PAGES = [{"type": "text", "text": f"Page {number} of the handbook. " * 100} for number in range(2)]
    A, B = PAGES

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": "Rules of the house. " * 400, "cache_control": MARK},
                A, B, A, B, A, B, A, B, A, B, A, B, A, B, A, B, A, B, A, B, A, B,
                {"type": "text", "text": "Glossary.", "cache_control": MARK},  # finds: PO112[info]
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Use instead

    A marker in between, or fewer and larger blocks:

    ```python good
    from anthropic import Anthropic

    client = Anthropic()
    MARK = {"type": "ephemeral"}

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": "Rules of the house. " * 400, "cache_control": MARK},
                {"type": "text", "text": "The handbook. " * 4000},
                {"type": "text", "text": "Glossary.", "cache_control": MARK},
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - conversations between the markers: how many blocks they add is not known
    - providers whose reach is not known
    - a marker that moves on with a few new blocks per turn

    ## Fix safety

    A further marker takes one of the few that a request may have. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO112"
    name: ClassVar[str] = "breakpoint-out-of-reach"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each marker that is too far behind the last one."""
        reach = lookback(subject.call.provider)
        if reach is None:
            return
        earlier: Tool | Block | None = None
        between = 0
        for item in _blocks(subject):
            if item is None:
                earlier = None
                continue
            if item.marker is None:
                between += 1
                continue
            if earlier is not None and between > reach:
                place = item.location or item.marker.location or subject.call.location
                first = earlier.location
                yield self.finding(
                    f"{between} blocks stand between this cache marker and the one ahead of it; the provider looks "
                    f"back {reach}. Set a marker in between, or join blocks.",
                    place,
                    prompt=subject.name,
                    related=[Related("the marker ahead of it", first)] if first and first != place else [],
                    remedies=[Remedy("marker-in-between", "set a marker in between, or join blocks")],
                    group=f"reach@{place.path}:{place.span.start}",
                )
            earlier, between = item, 0


def _blocks(prompt: Prompt) -> Iterator[Tool | Block | None]:
    """Tools and blocks in cache order; None for what holds an unknown number of them."""
    yield from prompt.tools.tools if prompt.tools else ()
    if prompt.tools and not prompt.tools.complete:
        yield None
    for message in prompt.messages:
        if isinstance(message, History) or not message.certain:
            yield None
        else:
            yield from message.blocks
