"""PO105 missing-cache-breakpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Absent, Prompt, Volatility, constant_texts, stable_texts
from promptopt.rule import Rule, RuleContext, sent_by
from promptopt.source import Location
from promptopt.tokens import Figure, Sentence, largest_cache_minimum, model_of, needs_markers, reaches
from promptopt_rules.cache.prefix import layout
from promptopt_rules.size.places import largest

_SDKS: Final = frozenset({"anthropic", "litellm"})
"""SDKs that send what they are given: a framework may set markers of its own accord."""

ESTIMATE_MARGIN: Final = 1.25
"""A count with another model's encoding may be too high by a quarter."""


class MissingCacheBreakpoint(Rule[Prompt]):
    """A long constant prefix without the marker that its provider needs to cache it.

    ## What it finds

    A request to a provider that caches only up to explicit markers (Anthropic), whose tools and system text begin with
    constant text above the model's minimum, with neither a marker nor automatic caching.

    ## Why it is slow

    Nothing of the request is read from the cache: the whole prefix is read again on every call, at full price. With a
    marker at its end a reading costs about a tenth.

    ## Example

    ```python bad
    from anthropic import Anthropic

    client = Anthropic()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 120  # finds: PO105[info]

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=RULES,
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Use instead

    ```python good
    from anthropic import Anthropic

    client = Anthropic()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 120

    def ask(question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - providers that cache by themselves, and automatic caching (`cache_control` of the request)
    - prefixes below the model's minimum; where the model is not known, below the largest of its provider's
    - frameworks, which may set markers in middleware
    - what stands in user messages
    - requests some of whose arguments are not known (`**options`)

    ## Fix safety

    Writing to the cache costs a quarter more than reading the text once, so that a prompt that is sent less than twice
    in five minutes gains nothing. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO105"
    name: ClassVar[str] = "missing-cache-breakpoint"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt."""
        call, minimum = subject.call, _minimum(subject)
        unset = call.parameter("auto_cache").value in (Absent.UNSET, None, False)
        if call.sdk not in _SDKS or minimum is None or not unset or layout(subject, 0).marked >= 0:
            return
        instructions = replace(subject, messages=subject.system)
        texts = tuple(stable_texts(instructions.flatten(), Volatility.PROCESS)[0])
        if not reaches(texts, round(minimum * ESTIMATE_MARGIN), call):
            return
        place = _longest_text(subject) or call.location
        yield self.finding(
            Sentence.of(
                "The prompt begins with ",
                Figure(texts, call),
                " tokens that stay the same, but no cache marker: this provider caches nothing without one. ",
                "Mark the last block that stays the same.",
            ),
            place,
            prompt=subject.name,
            related=sent_by(call, place),
            remedies=[Remedy("mark-prefix", "mark the last block that stays the same")],
            group=f"unmarked@{call.location.path}:{call.location.span.start}",
        )


def _minimum(prompt: Prompt) -> int | None:
    """Tokens from which the request's provider caches what is marked; None where it needs no markers."""
    model = model_of(prompt.call)
    provider = model.provider if model else prompt.call.provider
    if not needs_markers(provider):
        return None
    return model.cache_minimum if model and model.cache_minimum else largest_cache_minimum(provider)


def _longest_text(prompt: Prompt) -> Location | None:
    blocks = (block for message in prompt.system for block in message.blocks)
    return largest(text for block in blocks for text in constant_texts(block.parts))
