"""PO303 history-as-text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Interpolation, Prompt
from promptopt.rule import Rule, RuleContext

_WHOLE: Final = re.compile(
    r"(?:(?:chat|conversation|message|messages|dialog|dialogue)_history|formatted_history|history_(?:text|str)"
    r"|history|chat_log|conversation_(?:log|text|str)|chat_transcript)",
    re.IGNORECASE,
)
"""Names of all turns; the last few of them, a summary and an agent's steps go by others."""


class HistoryAsText(Rule[Prompt]):
    """The turns of a conversation as one text inside another message.

    ## What it finds

    A conversation that is written into the text of a message, instead of being sent as messages. An **info**.

    ## Why it is slow

    Behind the conversation stands the question, so that each turn's text differs from the one before from the place of
    that question on: the cache ends there. Where markers tell what is cached, the text is one block, new in every
    turn, and nothing of it is read again. Trimmers that keep tool calls with their results know messages only.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def ask(chat_history: str, question: str):
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": "Answer briefly."},
                {"role": "user", "content": f"So far:\\n{chat_history}\\n\\nQuestion: {question}"},  # finds: PO303
            ],
        )
    ```

    ## Use instead

    ```python good
    from openai import OpenAI

    client = OpenAI()

    def ask(chat_history: list[dict[str, str]], question: str):
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": "Answer briefly."},
                *chat_history,
                {"role": "user", "content": question},
            ],
        )
    ```

    ## Silent on

    - summaries, the last few messages, an agent's notes
    - conversations that are sent as messages
    - values whose name does not say that they are the conversation

    ## References

    - https://developers.openai.com/api/docs/guides/prompt-caching
    """

    code: ClassVar[str] = "PO303"
    name: ClassVar[str] = "history-as-text"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding for each prompt."""
        for part in subject.flatten():
            if isinstance(part, Interpolation) and _is_conversation(part):
                place = part.location or subject.location
                yield self.finding(
                    "The conversation stands as text inside a message that is new in every turn: it is cached in part "
                    "at best. Send its turns as messages.",
                    place,
                    prompt=subject.name,
                    subject=part.expression,
                    related=[Related("sent by this call", subject.call.location)],
                    remedies=[Remedy("send-messages", "send the turns as messages of their own")],
                    group=f"history-text@{place.path}:{place.span.start}",
                )
                return


def _is_conversation(part: Interpolation) -> bool:
    cause = part.cause
    if cause is None or cause.kind != "conversation-history":
        return False
    return _WHOLE.fullmatch(cause.expression.rpartition(".")[2].strip()) is not None
