"""PO302 split-tool-pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import History, Prompt
from promptopt.rule import Rule, RuleContext

_LAST_FEW: Final = re.compile(r"([\w.]+)\s*\[\s*-[^\[\]:]+:\s*\]$")
"""The last few of a list; the list's name is captured."""

_RESULT: Final = r"(?:tool_call_id|[\"']role[\"']\s*:\s*[\"']tool[\"']|ToolMessage\(|[\"']tool_result[\"'])"
"""What a tool's result looks like as a message."""


class SplitToolPairs(Rule[Prompt]):
    """A cut that may part a tool's result from its call.

    ## What it finds

    A conversation that is cut to its last few messages, to which the same file adds results of tools.

    ## Why it is slow

    Providers refuse a request whose first message is a tool's result without the call ahead of it. The cut falls
    there sooner or later: the request fails, is tried again, and the user waits for both.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    class Chat:
        def __init__(self, tools):
            self.tools = tools
            self.messages = []

        def answer(self, call, result):
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            recent = self.messages[-10:]  # finds: PO302
            return client.chat.completions.create(model="gpt-5", messages=recent, tools=self.tools)
    ```

    ## Use instead

    ```python good
    from openai import OpenAI
    from promptopt import HistoryTrimmer

    client = OpenAI()
    trimmer = HistoryTrimmer(budget=4000)

    class Chat:
        def __init__(self, tools):
            self.tools = tools
            self.messages = []

        def answer(self, call, result):
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            recent = trimmer.trim(self.messages).messages
            return client.chat.completions.create(model="gpt-5", messages=recent, tools=self.tools)
    ```

    `HistoryTrimmer` and the trimmers of frameworks keep a call and its results together, or leave out both.

    ## Silent on

    - lists to which no result of a tool is added where they are cut
    - trimmers, and cuts at a place that is searched for

    ## References

    - https://developers.openai.com/api/docs/guides/function-calling
    - https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
    """

    code: ClassVar[str] = "PO302"
    name: ClassVar[str] = "split-tool-pairs"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each conversation."""
        for message in subject.messages:
            if not isinstance(message, History) or message.bounds != ("window",) or message.location is None:
                continue
            place = message.location
            cut = _LAST_FEW.search(message.expression.strip())
            if cut and _gets_results(cut[1], context.source(place.path).text):
                yield self.finding(
                    "This cut may fall between a tool's call and its result, and the provider refuses the request. "
                    "Keep pairs together, or leave out both.",
                    place,
                    prompt=subject.name,
                    subject=message.expression,
                    related=[Related("sent by this call", subject.call.location)],
                    remedies=[Remedy("keep-pairs", "cut with a trimmer that keeps calls and results together")],
                    group=f"pairs@{place.path}:{place.span.start}",
                )


def _gets_results(name: str, text: str) -> bool:
    """Whether a file adds results of tools to the list of that name."""
    adding = rf"(?<![\w.]){re.escape(name)}\s*\.(?:append|extend|insert)\((?:[^()]|\([^()]*\))*?{_RESULT}"
    return re.search(adding, text) is not None
