"""PO103 unstable-tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Cause, Prompt, ToolList, Volatility
from promptopt.rule import Rule, RuleContext
from promptopt_rules.cache.evidence import ORDER_KINDS, chain, group, named


class UnstableTools(Rule[Prompt]):
    """Tools that are sent in another order, or are other tools, from request to request.

    ## What it finds

    A list of tools made by going through a set or a folder listing, or shuffled; and a list to which
    tools are added, or from which they are taken, by something that changes in every request.

    ## Why it is slow

    Tool definitions are the very beginning of a request: providers put them ahead of the system prompt
    and of all messages. When their order or number differs, nothing of the request is read from the
    cache, the conversation included. Tool schemas are long, often longer than the instructions.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    SEARCH = {"type": "function", "function": {"name": "search", "parameters": {}}}
    REFUND = {"type": "function", "function": {"name": "refund", "parameters": {}}}
    SCHEMAS = {"search": SEARCH, "refund": REFUND}

    def ask(question: str):
        names = {"search", "refund"}
        tools = [SCHEMAS[name] for name in names]  # finds: PO103
        return client.chat.completions.create(
            model="gpt-5",
            tools=tools,
            messages=[{"role": "system", "content": "Help."}, {"role": "user", "content": question}],
        )
    ```

    ## Use instead

    ```python good
    from openai import OpenAI

    client = OpenAI()
    SEARCH = {"type": "function", "function": {"name": "search", "parameters": {}}}
    REFUND = {"type": "function", "function": {"name": "refund", "parameters": {}}}
    SCHEMAS = {"search": SEARCH, "refund": REFUND}

    def ask(question: str):
        names = {"search", "refund"}
        tools = [SCHEMAS[name] for name in sorted(names)]
        return client.chat.completions.create(
            model="gpt-5",
            tools=tools,
            messages=[{"role": "system", "content": "Help."}, {"role": "user", "content": question}],
        )
    ```

    Where some tools must not be used in a request, send all of them and restrict the choice
    (`tool_choice` with `allowed_tools`) instead of taking definitions out.

    ## Silent on

    - sorted tools, list and dictionary literals
    - a choice between constant lists of tools
    - lists that are chosen once, at start-up or for a user or a conversation
    - a single tool
    - lists that could not be resolved

    ## Fix safety

    Sorting tools changes nothing but the order in which the model reads them. The remedy is advice: no
    edit is made.

    ## References

    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    - https://developers.openai.com/api/docs/guides/prompt-caching
    """

    code: ClassVar[str] = "PO103"
    name: ClassVar[str] = "unstable-tools"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt."""
        tools = subject.tools
        if tools is None or tools.cause is None or not _is_unstable(tools, tools.cause):
            return
        place = tools.location or subject.call.location
        yield self.finding(
            _message(tools.cause),
            place,
            prompt=subject.name,
            subject=tools.cause.expression,
            related=chain(tools.cause, place, subject.call),
            remedies=[_remedy(tools.cause)],
            group=group(tools.cause, place),
        )


def _is_unstable(tools: ToolList, cause: Cause) -> bool:
    if tools.complete and len(tools.tools) == 1:
        return False
    return cause.kind in ORDER_KINDS or cause.volatility.at_least(Volatility.REQUEST)


def _message(cause: Cause) -> str:
    what = named(cause.expression or cause.label)
    if cause.kind in ORDER_KINDS:
        fault = f"the tools come in the order of {what}, which differs from run to run"
    else:
        fault = f"{what} decides in every request which tools are sent"
    loss = "tools stand ahead of everything else, so nothing is cached"
    return f"{_sentence(fault)}: {loss}. {_sentence(_remedy(cause).title)}."


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}"


def _remedy(cause: Cause) -> Remedy:
    if cause.kind in ORDER_KINDS:
        return Remedy("sort-tools", "sort the tools by name")
    return Remedy("send-all-tools", "send the same tools every time and restrict the choice instead")
