"""PO110 volatile-chat-template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Finding, Severity
from promptopt.prompt import ChatTemplate, Volatility
from promptopt.rule import Rule, RuleContext


class VolatileChatTemplate(Rule[ChatTemplate]):
    """A chat template writes the same conversation in another way on the next request.

    ## What it finds

    In a chat template, the Jinja template by which a server turns messages into the text that the model reads:

    - a call of `strftime_now`: it stands in the header, ahead of everything. An **info** where it prints a date only,
      a **warning** where it prints the time of day.
    - a test by which a turn is printed in another way once others follow it: for the last message only
      (`loop.last`, `messages[-1]`), or for those behind the last question (reasoning that is dropped from earlier
      answers). The first n turns no longer are the beginning of n + 1.

    ## Why it is slow

    The cache of a server holds beginnings that are the same byte for byte. What follows a date is read again when it
    changes; what follows a turn that is printed in another way is read again with every turn, answers of thousands of
    tokens among it.

    ## Example

    ```jinja bad
    <|system|>Today is {{ strftime_now("%Y-%m-%d %H:%M") }} # finds: PO110[warning]
    {% for message in messages %}<|{{ message.role }}|>
    {% if loop.last %}/think {% endif %}{{ message.content }}{% endfor %} # finds: PO110[warning]
    ```

    ## Use instead

    A date that the application passes and keeps for a conversation, and turns that are written the same way for good:

    ```jinja good
    <|system|>Today is {{ date_string }}
    {% for message in messages %}<|{{ message.role }}|>
    {{ message.content }}{% endfor %}
    ```

    ## Silent on

    - what is added behind a turn that others follow (`{% if not loop.last %}`)
    - the beginning of the answer that is to be written (`add_generation_prompt`)
    - turns that are printed together with their neighbours, such as the results of several tools
    - branches that only raise an error
    - templates that loop over no messages, or write none of the marks of a chat model

    ## References

    - https://huggingface.co/docs/transformers/main/en/chat_templating_writing
    - https://docs.vllm.ai/en/latest/features/automatic_prefix_caching.html
    """

    code: ClassVar[str] = "PO110"
    name: ClassVar[str] = "volatile-chat-template"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    subject: ClassVar[type[ChatTemplate]] = ChatTemplate

    def check(self, subject: ChatTemplate, context: RuleContext) -> Iterator[Finding]:
        """One finding for each clock, and one for the first test that rewrites turns."""
        for place, level in subject.clocks:
            if level is Volatility.CALL:
                yield self.finding(
                    "The chat template prints the time of day: nothing behind it is the same on the next request. "
                    "Let the application pass a time where it needs one, in the newest message.",
                    place,
                )
            elif level is Volatility.DAY:
                yield self.finding(
                    "The chat template prints today's date: all that follows is read again after midnight, by open "
                    "conversations too. Let the application pass a date and keep it for the conversation.",
                    place,
                    severity=Severity.INFO,
                )
        for place in subject.rewritten[:1]:
            yield self.finding(
                f"`{_shortened(context.text(place))}` prints a turn in another way once others follow it: "
                "what stands behind it is read again with every turn. Write each turn the same way for good.",
                place,
            )


_LONGEST = 60


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."
