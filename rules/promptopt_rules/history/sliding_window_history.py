"""PO108 sliding-window-history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import History, Prompt
from promptopt.rule import Rule, RuleContext

_FROM_THE_END: Final = re.compile(r"\[\s*(?:-|len\()[^\[\]]*:\s*\]$")
"""A slice that counts from the end; one that begins at a number which is kept may be cut in steps."""


class SlidingWindowHistory(Rule[Prompt]):
    """A conversation of which each turn drops the oldest message.

    ## What it finds

    A conversation that is cut to its last few messages anew in each request (`history[-10:]`). An **info**: cutting is
    right, cutting by one message at a time is what costs.

    ## Why it is slow

    Once the window is full, every turn drops the oldest message, so that the conversation begins with another one
    each time. A prefix cache compares from the beginning: from then on no message of the conversation is read from it,
    however many are the same. A conversation that is cut in steps, to half of its limit whenever it reaches it, begins
    the same from one cut to the next.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def ask(chat_history: list[dict[str, str]], question: str):
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": "Answer briefly."},
                *chat_history[-10:],  # finds: PO108
                {"role": "user", "content": question},
            ],
        )
    ```

    ## Use instead

    ```python good
    from openai import OpenAI
    from promptopt import HistoryTrimmer

    client = OpenAI()
    trimmer = HistoryTrimmer(budget=4000)

    def ask(chat_history: list[dict[str, str]], question: str):
        messages = [
            {"role": "system", "content": "Answer briefly."},
            *chat_history,
            {"role": "user", "content": question},
        ]
        return client.chat.completions.create(model="gpt-5", messages=trimmer.trim(messages).messages)
    ```

    ## Silent on

    - conversations that are cut at their end, at a fixed message, or from a place on that is kept
    - lists that are cut where they are kept, when they reach a limit
    - trimmers and summaries
    - lists that are no conversation as far as is known

    ## References

    - https://developers.openai.com/api/docs/guides/prompt-caching
    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    code: ClassVar[str] = "PO108"
    name: ClassVar[str] = "sliding-window-history"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each conversation."""
        for message in subject.messages:
            if isinstance(message, History) and message.known and message.bounds == ("window",) and message.location:
                place = message.location
                if not _FROM_THE_END.search(message.expression.strip()):
                    continue
                yield self.finding(
                    "Once it is full, this window drops the oldest message in every turn, and the conversation begins "
                    "with another one: none of it is read from the cache. Cut it in steps.",
                    place,
                    prompt=subject.name,
                    subject=message.expression,
                    related=[Related("sent by this call", subject.call.location)],
                    remedies=[Remedy("cut-in-steps", "cut the conversation to half of its limit when it reaches it")],
                    group=f"window@{place.path}:{place.span.start}",
                )
