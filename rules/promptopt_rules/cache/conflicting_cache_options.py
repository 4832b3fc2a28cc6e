"""PO113 conflicting-cache-options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Absent, Block, Call, History, Prompt, Tool
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import breakpoint_limit, model_of, needs_markers
from promptopt_rules.cache.prefix import marked_items

_LONG: Final = "1h"
_SHORT: Final = (None, "5m")


class ConflictingCacheOptions(Rule[Prompt]):
    """Cache options that the provider rejects, or that come to nothing, together.

    ## What it finds

    - a marker with the short lifetime (five minutes, also where none is given) ahead of one with the long lifetime
      (one hour): Anthropic refuses the request
    - `prompt_cache_options` with a `ttl` together with `prompt_cache_retention`: OpenAI refuses the request
    - `prompt_cache_options` with `mode: "explicit"` and no marker in the request: nothing is cached
    - markers in a request to a provider that has none and caches by itself (DeepSeek, Mistral, xAI): an info

    ## Why it is slow

    A request that is refused costs a round trip and fails; one whose options cancel each other reads its whole prompt
    again on every call, while the code looks as if it were cached.

    ## Example

    ```python bad
    from anthropic import Anthropic

    client = Anthropic()
    HANDBOOK = "Rules of the house. " * 400

    def ask(customer: str, question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": HANDBOOK, "cache_control": {"type": "ephemeral", "ttl": "1h"}},  # finds: PO113
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def ask(question: str):
        return client.responses.create(  # finds: PO113
            model="gpt-5.6",
            input=question,
            prompt_cache_options={"mode": "implicit", "ttl": "12h"},
            prompt_cache_retention="24h",
        )
    ```

    ## Use instead

    ```python good
    from anthropic import Anthropic

    client = Anthropic()
    HANDBOOK = "Rules of the house. " * 400

    def ask(customer: str, question: str):
        return client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[
                {"type": "text", "text": HANDBOOK, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                {"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}},
            ],
            messages=[{"role": "user", "content": question}],
        )
    ```

    ## Silent on

    - options whose values are not known
    - messages that are sent on some branch only, and conversations, which may carry markers

    ## Fix safety

    Which of the options is meant is for the author to say. The remedy is advice: no edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    - https://developers.openai.com/api/docs/guides/prompt-caching
    """

    code: ClassVar[str] = "PO113"
    name: ClassVar[str] = "conflicting-cache-options"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each conflict."""
        marked = list(marked_items(subject))
        yield from self._lifetimes(subject, marked)
        yield from self._options(subject, marked)
        yield from self._ignored(subject, marked)

    def _lifetimes(self, prompt: Prompt, marked: list[Tool | Block]) -> Iterator[Finding]:
        lifetimes = [one.marker.ttl if one.marker else None for one in marked]
        short = next((n for n, ttl in enumerate(lifetimes) if ttl in _SHORT), len(marked))
        if _LONG not in lifetimes[short + 1 :] or not needs_markers(prompt.call.provider):
            return
        long = marked[lifetimes.index(_LONG, short + 1)]
        place, earlier = long.location or prompt.call.location, marked[short].location
        yield self.finding(
            "A cache marker with a lifetime of five minutes stands ahead of this one with an hour: the provider "
            "refuses the request. Put longer lifetimes first.",
            place,
            prompt=prompt.name,
            related=[Related("the shorter lifetime", earlier)] if earlier and earlier != place else [],
            remedies=[Remedy("longer-lifetime-first", "put longer lifetimes first")],
        )

    def _options(self, prompt: Prompt, marked: list[Tool | Block]) -> Iterator[Finding]:
        call = prompt.call
        if _given(call, "cache_ttl") and _given(call, "cache_retention"):
            yield self.finding(
                "prompt_cache_options with a ttl and prompt_cache_retention stand in one request: the provider "
                "refuses it. Leave out prompt_cache_retention.",
                call.location,
                prompt=prompt.name,
                related=_asked(prompt),
                remedies=[Remedy("one-lifetime", "leave out prompt_cache_retention")],
            )
        whole = not any(isinstance(message, History) or not message.certain for message in prompt.messages)
        tools = prompt.tools is None or prompt.tools.complete
        if _given(call, "cache_mode") == "explicit" and not marked and whole and tools:
            yield self.finding(
                "prompt_cache_options asks for explicit markers, but the request has none: nothing is cached. "
                "Set a marker, or leave the mode out.",
                call.location,
                prompt=prompt.name,
                related=_asked(prompt),
                remedies=[Remedy("set-marker", "set a marker, or leave the mode out")],
            )

    def _ignored(self, prompt: Prompt, marked: list[Tool | Block]) -> Iterator[Finding]:
        model = model_of(prompt.call)
        provider = model.provider if model else prompt.call.provider
        if not marked or breakpoint_limit(provider) != 0:
            return
        place = marked[0].location or prompt.call.location
        yield self.finding(
            f"This provider ({provider}) has no cache markers and caches by itself: the marker says nothing. "
            "Leave it out.",
            place,
            severity=Severity.INFO,
            prompt=prompt.name,
            remedies=[Remedy("leave-out-marker", "leave it out")],
        )


def _asked(prompt: Prompt) -> list[Related]:
    """Where the request comes from, if that is not where it is sent."""
    return [Related("asked for here", prompt.location)] if prompt.location != prompt.call.location else []


def _given(call: Call, name: str) -> object:
    value = call.parameter(name).value
    return None if isinstance(value, Absent) else value
