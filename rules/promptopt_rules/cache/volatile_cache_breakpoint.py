"""PO104 volatile-cache-breakpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import CacheMarker, History, Prompt, Volatility, estimate_tokens
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import Figure, Sentence
from promptopt_rules.cache.evidence import HOW_OFTEN, Change, chain, change, describe, further, group
from promptopt_rules.cache.prefix import INSTRUCTING, TOOLS, Layout, Stretch, is_unsized, layout, may_be_cached


class VolatileCacheBreakpoint(Rule[Prompt]):
    """An explicit cache breakpoint behind a value that changes.

    ## What it finds

    A cache marker (`cache_control`, `cachePoint`, `prompt_cache_breakpoint`) on a block that also holds
    a value that changes, or behind a block that does. A **warning** for values that change from user to
    user or more often, an **info** for a date and in a prompt that is too short to be cached.

    Where an earlier marker stands ahead of the value, the text up to that one is still read from the
    cache, and a later one that caches more for each user or conversation is a good arrangement. Then
    only a value that changes in every request or on every call is reported, and only where the later
    marker stands behind a conversation or at least `min-static-tokens` constant tokens.

    ## Why it is slow

    A marker asks the provider to store everything up to it, and to look for exactly those bytes next
    time. If a value ahead of it has changed, nothing is found, and the whole prefix is stored again: on
    every such request the write costs more than sending the text without caching.

    ## Example

    ```python bad
    import anthropic

    client = anthropic.Anthropic()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(user_name: str, question: str):
        return client.messages.create(
            model="claude-sonnet-5",
            max_tokens=500,
            system=[
                {
                    "type": "text",
                    "text": f"{RULES} The customer's name is {user_name}.",  # finds: PO104
                    "cache_control": {"type": "ephemeral"},
                }
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Use instead

    Split the block: the constant text with the marker first, the rest behind it.

    ```python good
    import anthropic

    client = anthropic.Anthropic()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(user_name: str, question: str):
        return client.messages.create(
            model="claude-sonnet-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": f"The customer's name is {user_name}."},
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - a marker on the constant block and the volatile block behind it
    - a marker on the growing end of the conversation, in the newest user message (unless that is the
      whole prompt, see `volatile-prefix`) or behind it, as long as only that conversation's own messages
      change
    - a second marker behind a user's or a conversation's own block
    - values that stay the same while the process runs, settings, and values that could not be resolved
    - fewer than `min-static-tokens` constant tokens up to the marker, where nothing of unknown length
      stands there

    ## Options

    - `min-static-tokens` (64): constant tokens up to the marker from which it is reported
    - `min-prompt-tokens` (256): constant tokens behind the value from which a user message in a request
      without system text counts as the prompt
    - `min-cacheable-tokens` (1024): prompts that cannot reach this size are not cached, whatever is marked, where
      the model's own minimum is not known

    ## Fix safety

    Splitting a block leaves the text as it is; moving the value behind the marker changes the order in
    which the model reads it. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    - https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
    """

    code: ClassVar[str] = "PO104"
    name: ClassVar[str] = "volatile-cache-breakpoint"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """Sizes in tokens, as the request's model counts them."""

        min_static_tokens: int = field(
            default=64, metadata={"help": "constant tokens up to the marker from which it is reported"}
        )
        min_prompt_tokens: int = field(
            default=256,
            metadata={"help": "constant tokens behind the value that make a lone user message the prompt"},
        )
        min_cacheable_tokens: int = field(
            default=1024, metadata={"help": "shortest prompt that is cached where the model's own minimum is not known"}
        )

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt: the change that matters most."""
        arranged = layout(subject, context.options.min_prompt_tokens)
        lost = [
            found
            for found in map(change, arranged.breaks)
            if arranged.is_marked(found.at.position) and _is_lost(found, arranged, context.options)
        ]
        if not lost:
            return
        worst = max(lost, key=lambda one: (one.level, -one.at.position))
        place = worst.interpolation.location or subject.location
        marker = _marker_behind(worst, arranged)
        yield self.finding(
            _message(worst, subject, arranged, context),
            place,
            severity=self.severity if _costs(worst, subject, arranged, context.options) else Severity.INFO,
            prompt=subject.name,
            subject=worst.interpolation.expression,
            related=[
                *([Related("the breakpoint", marker.location)] if marker.location else []),
                *chain(worst.cause, place, subject.call),
                *further((one for one in lost if one is not worst), place),
            ],
            remedies=[Remedy("move-to-own-block", _ADVICE)],
            group=group(worst.cause, place) if worst.cause else "",
        )


_ADVICE = "put the marker on the constant text and the value into a block of its own behind it"


def _costs(found: Change, prompt: Prompt, arranged: Layout, options: VolatileCacheBreakpoint.Options) -> bool:
    """Whether the provider stores the prompt, and again more often than once a day."""
    return found.level is not Volatility.DAY and may_be_cached(prompt, arranged, options.min_cacheable_tokens)


def _is_lost(found: Change, arranged: Layout, options: VolatileCacheBreakpoint.Options) -> bool:
    """Whether markers behind the value store what is not found again."""
    position = found.at.position
    if not found.level.at_least(Volatility.DAY) or not _is_rebuilt(found, arranged):
        return False
    earlier = max((at for at, one in arranged.stretches() if one.marker and at < position), default=-1)
    if earlier < 0:
        return _holds(arranged, 0, arranged.marked, options.min_static_tokens)
    if not found.level.at_least(Volatility.REQUEST):
        return False
    behind = arranged.items[position + 1 : arranged.marked + 1]
    return any(isinstance(item, History) and item.known for item in behind) or (
        _constant_behind(found, arranged) >= options.min_static_tokens
    )


def _is_rebuilt(found: Change, arranged: Layout) -> bool:
    """Whether the value is written anew in every request. What was said in a conversation is kept, so
    there only what differs on every call counts, and in the newest message only where it is the prompt.
    """
    return (
        found.level is Volatility.CALL
        or found.at.role in INSTRUCTING
        or found.at.role == TOOLS
        or arranged.is_newest(found.at.position)
    )


def _constant_behind(found: Change, arranged: Layout) -> int:
    """Estimated constant tokens between the value and the last marker."""
    items = arranged.items[found.at.position + 1 : arranged.marked + 1]
    return estimate_tokens(found.at.within + sum(item.characters for item in items if isinstance(item, Stretch)))


def _holds(arranged: Layout, start: int, end: int, tokens: int) -> bool:
    """Whether the stretches from `start` to `end` hold that many constant tokens, or may."""
    items = arranged.items[start : end + 1]
    if any(isinstance(item, History) or is_unsized(item.parts) for item in items):
        return True
    return estimate_tokens(sum(item.characters for item in items if isinstance(item, Stretch))) >= tokens


def _marker_behind(found: Change, arranged: Layout) -> CacheMarker:
    """The first marker at the value's block or behind it."""
    return next(one.marker for at, one in arranged.stretches() if one.marker and at >= found.at.position)


def _message(found: Change, prompt: Prompt, arranged: Layout, context: RuleContext) -> Sentence:
    what = describe(found.interpolation, found.cause, context)
    stored = tuple(text for at, one in arranged.stretches() if at <= arranged.marked for text in one.texts)
    return Sentence.of(
        f"{what} changes {HOW_OFTEN[found.level]} and stands ahead of an explicit cache breakpoint: ",
        Figure(stored, prompt.call),
        " constant tokens are stored again instead of read. ",
        f"{_ADVICE[0].upper()}{_ADVICE[1:]}.",
    )
