"""PO109 volatile-cache-key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Call, Cause, Parameter, Volatility
from promptopt.rule import Rule, RuleContext
from promptopt_rules.cache.evidence import chain, group, named


class VolatileCacheKey(Rule[Call]):
    """A cache key that is different on every call.

    ## What it finds

    A random value or the time of day as `prompt_cache_key`, or as part of it.

    ## Why it is slow

    The key decides which server handles a request, and with that which cache can be read. A key that
    never comes back sends every request to a server that has not seen the prefix: no request reads what
    another one wrote, however constant the prompt is.

    ## Example

    ```python bad
    from uuid import uuid4
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(question: str):
        return client.responses.create(
            model="gpt-5",
            instructions=RULES,
            input=question,
            prompt_cache_key=str(uuid4()),  # finds: PO109
        )
    ```

    ## Use instead

    One key for each prompt, or for each user or conversation where traffic is high:

    ```python good
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(conversation_id: str, question: str):
        return client.responses.create(
            model="gpt-5",
            instructions=RULES,
            input=question,
            prompt_cache_key=f"handbook-{conversation_id}",
        )
    ```

    ## Silent on

    - keys per prompt, user, conversation, tenant or day
    - an id that is made once and kept: in a constructor, at module level, behind a cache
    - names that only sound like a time or an id
    - keys that could not be resolved

    ## Fix safety

    Only the application knows which requests share a prefix. The remedy is advice: no edit is made.

    ## References

    - https://developers.openai.com/api/docs/guides/prompt-caching
    """

    code: ClassVar[str] = "PO109"
    name: ClassVar[str] = "volatile-cache-key"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Call]] = Call

    def check(self, subject: Call, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per call."""
        key = subject.parameter("cache_key")
        cause = _cause(key)
        if cause is None:
            return
        place = key.location or subject.location
        yield self.finding(
            f"{named(cause.expression or cause.label)} makes the cache key different on every call: no request "
            "reads what another one wrote. Use one key per prompt, user or conversation.",
            place,
            subject=cause.expression,
            related=chain(cause, place, subject),
            remedies=[Remedy("stable-cache-key", "use one key per prompt, user or conversation")],
            group=group(cause, place),
        )


def _cause(key: Parameter) -> Cause | None:
    """What makes the key different on every call; guesses from a name do not count."""
    return next((c for c in key.causes if c.volatility is Volatility.CALL and not c.by_name), None)
