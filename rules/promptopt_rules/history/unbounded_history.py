"""PO301 unbounded-history."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import History, Keeping, Prompt
from promptopt.rule import Rule, RuleContext

_HELD_BY: Final = {"loop": "each turn of the loop", "session": "each request"}
_REMEDY: Final = Remedy("bound-history", "cut the conversation in steps, to a budget of tokens")


class UnboundedHistory(Rule[Prompt | Keeping]):
    """A conversation that gets longer with every turn and is sent whole.

    ## What it finds

    A list of messages that outlives a request, gets more of them with each, and is sent with nothing that cuts it: in a
    loop that asks the user, in an attribute that the methods of an object add to, in the session of Chainlit,
    Streamlit and the like, in a memory of a framework that keeps everything, in the checkpoints of an agent, or handed
    from one run of an agent to the next.

    ## Why it is slow

    Turn n reads all turns before it: time to the first token and cost grow with every turn, those of a whole
    conversation with its square, until the model's window is full and the request fails.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def chat():
        messages = [{"role": "system", "content": "Answer briefly."}]
        while True:
            messages.append({"role": "user", "content": input("> ")})
            reply = client.chat.completions.create(model="gpt-5", messages=messages)  # finds: PO301
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})
    ```

    ## Use instead

    Cut in steps, so that the beginning stays the same, and cached, between cuts:

    ```python good
    from openai import OpenAI
    from promptopt import HistoryTrimmer

    client = OpenAI()
    trimmer = HistoryTrimmer(budget=8000)

    def chat():
        messages = [{"role": "system", "content": "Answer briefly."}]
        while True:
            messages.append({"role": "user", "content": input("> ")})
            messages = trimmer.trim(messages).messages
            reply = client.chat.completions.create(model="gpt-5", messages=messages)
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})
    ```

    ## Silent on

    - lists that are sliced, popped, cleared or measured where they are kept
    - files that call anything named after trimming, summarizing, compacting or counting tokens, or that name a
      maximum of turns or messages
    - lists that are made anew for each request, and loops that ask nobody: an agent's steps
    - conversations that the provider keeps, agents with middleware or a hook ahead of the model
    - conversations from a database or a parameter: whoever fills them may cut them

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/context-editing
    - https://docs.langchain.com/oss/python/langchain/short-term-memory
    """

    code: ClassVar[str] = "PO301"
    name: ClassVar[str] = "unbounded-history"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt | Keeping] | UnionType] = Prompt | Keeping

    def check(self, subject: Prompt | Keeping, context: RuleContext) -> Iterator[Finding]:
        """One finding for each conversation."""
        if isinstance(subject, Keeping):
            yield self.finding(
                _message("each request"),
                subject.location,
                subject=subject.expression,
                related=[] if subject.feeds == subject.location else [Related("sent by this call", subject.feeds)],
                remedies=[_REMEDY],
            )
            return
        for message in subject.messages:
            if isinstance(message, History) and message.unbounded and message.location:
                place = subject.call.location if message.grows_in == "loop" else message.location
                yield self.finding(
                    _message(_HELD_BY.get(message.grows_in, "each request")),
                    place,
                    prompt=subject.name,
                    subject=message.expression,
                    related=[]
                    if place == subject.call.location
                    else [Related("sent by this call", subject.call.location)],
                    remedies=[_REMEDY],
                    group=f"history@{place.path}:{place.span.start}",
                )


def _message(growing: str) -> str:
    return (
        f"The conversation gets longer with {growing} and is sent whole: every turn reads all turns before it. "
        "Cut it in steps, to a budget of tokens."
    )
