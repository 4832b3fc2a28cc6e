"""PO101 volatile-prefix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Prompt, Volatility
from promptopt.rule import Rule, RuleContext
from promptopt.source import Location
from promptopt.tokens import Figure, Sentence, reaches
from promptopt_rules.cache.evidence import (
    GROWING,
    HOW_OFTEN,
    Change,
    chain,
    change,
    describe,
    further,
    group,
    named,
)
from promptopt_rules.cache.prefix import INSTRUCTING, TOOLS, Layout, layout, may_be_cached, shares


class VolatilePrefix(Rule[Prompt]):
    """A value that changes stands ahead of constant text or of the conversation.

    ## What it finds

    A value that is different on every call, in every request, for every conversation or every user, put
    into a prompt ahead of text that always stays the same, or ahead of the conversation's earlier turns.
    It is followed through variables, attributes, helper functions, other files, wrappers around the
    call, `+`, `%`, f-strings, `.format`, `join`, `replace`, `string.Template`, prompt templates and
    functions that a framework calls for each request.

    A **warning** where a conversation follows and the value changes from turn to turn, or where at least
    `min-static-tokens` constant tokens follow and the prompt can reach the size from which its model's
    provider caches at all: 512 to 4,096 tokens, none on engines that one runs oneself. An **info** where
    less than that follows, for values that change once a day (a date) or from process to process (a host
    name, an id made at import), and in a lone user message where a value that could not be resolved
    stands ahead, inside the text: it may change as well. So is a value whose name is all that is known of it, in a
    template that nothing is seen to send, unless it is the time of day.

    One finding names the value that changes most often, and with it the other values that change ahead
    of the same text: where one of them stays, nothing is gained. A value ahead of it that could not be
    resolved is pointed at. Tokens are counted as the request's model counts them, or said to be about
    that many.

    ## Why it is slow

    Providers and engines reuse the longest byte-identical beginning of a request, in the order tools,
    system, messages. Everything behind the first byte that differs is read again: the user waits for it
    before the first token, and it is billed at the full price instead of a tenth to a half of it. A
    clock in the first line un-caches all that follows.

    ## Example

    ```python bad
    from datetime import datetime
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(question: str):
        system = f"It is now {datetime.now():%Y-%m-%d %H:%M:%S}. {RULES}"  # finds: PO101
        return client.chat.completions.create(
            model="gpt-5",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
        )
    ```

    The same at the end of the system prompt, where a conversation follows:

    ```python bad
    from datetime import datetime
    from openai import OpenAI

    client = OpenAI()

    def ask(history: list[dict[str, str]], question: str):
        messages = [{"role": "system", "content": f"You are a clerk. Time: {datetime.now()}"}]  # finds: PO101
        messages += history
        messages.append({"role": "user", "content": question})
        return client.chat.completions.create(model="gpt-5", messages=messages)
    ```

    ## Use instead

    Constant text first, what changes most last. In a single request the end of the system prompt is
    late enough:

    ```python good
    from datetime import datetime
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(question: str):
        system = f"{RULES} It is now {datetime.now():%Y-%m-%d %H:%M:%S}."
        return client.chat.completions.create(
            model="gpt-5",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
        )
    ```

    In a conversation it belongs into the newest user message, and must be kept there on later turns: a
    note that moves along to whichever message is the newest changes the one that it leaves.

    ```python good
    from datetime import datetime
    from openai import OpenAI

    client = OpenAI()

    def ask(history: list[dict[str, str]], question: str):
        history.append({"role": "user", "content": f"{question}\\n\\n[{datetime.now():%H:%M}]"})
        messages = [{"role": "system", "content": "You are a clerk."}, *history]
        return client.chat.completions.create(model="gpt-5", messages=messages)
    ```

    ## Silent on

    - literal text that looks like a date, a version or an id
    - the newest user message, unless the request has no system text and `min-static-tokens` constant
      tokens follow inside that message: then it is the prompt
    - everything behind the conversation: it is new in every turn anyway
    - bodies and results of tools, logs, headers, metadata
    - a volatile end of the system prompt in a single request
    - everything up to an explicit cache breakpoint (that is `volatile-cache-breakpoint`), and behind the
      last one, unless the provider also sets one automatically
    - a name that is bound to a constant again, seeded random numbers, text composed when the module is
      imported, settings and environment variables
    - a user's name or a conversation's id with nothing behind it but that conversation: nobody shares it
    - an agent's own loop of tool calls where its instructions are made once
    - values that could not be resolved
    - the order of sets, folders and keys (that is `unstable-order`)

    ## Options

    - `min-static-tokens` (256): constant tokens behind the value from which it is a warning
    - `min-hint-tokens` (64): from which it is an info
    - `min-hint-tokens-per-call` (32): the same for a value that differs on every call
    - `min-cacheable-tokens` (1024): shortest prompt that is cached where the model's own minimum is not known

    ## Fix safety

    Moving a value changes the order in which the model reads the prompt, and text in a user message
    carries less authority than text in the system prompt. The remedies are advice: no edit is made.

    ## References

    - https://developers.openai.com/api/docs/guides/prompt-caching
    - https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    - https://ai.google.dev/gemini-api/docs/caching
    - https://docs.vllm.ai/en/latest/features/automatic_prefix_caching.html
    """

    code: ClassVar[str] = "PO101"
    name: ClassVar[str] = "volatile-prefix"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """Sizes in tokens, as the request's model counts them."""

        min_static_tokens: int = field(
            default=256, metadata={"help": "constant tokens behind the value from which it is a warning"}
        )
        min_hint_tokens: int = field(
            default=64, metadata={"help": "constant tokens behind the value from which it is an info"}
        )
        min_hint_tokens_per_call: int = field(
            default=32, metadata={"help": "the same for a value that differs on every call"}
        )
        min_cacheable_tokens: int = field(
            default=1024, metadata={"help": "shortest prompt that is cached where the model's own minimum is not known"}
        )

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """At most one finding per prompt: the change that matters most."""
        arranged = layout(subject, context.options.min_static_tokens)
        graded = [
            (severity, found)
            for found in map(change, arranged.breaks)
            if _is_open(arranged, found) and (severity := _grade(found, subject, arranged, context.options)) is not None
        ]
        if not graded:
            return
        severity, worst = max(graded, key=lambda one: (one[0], one[1].level, one[1].at.characters))
        others = [found for _, found in graded if found is not worst]
        place = worst.interpolation.location or subject.location
        yield self.finding(
            _message(worst, others, subject, arranged, context),
            place,
            severity=severity,
            prompt=subject.name,
            subject=worst.interpolation.expression,
            related=[
                *chain(worst.cause, place, subject.call),
                *further(others, place),
                *_unresolved(worst, arranged, place),
            ],
            remedies=[_remedy(worst, context.options)],
            group=group(worst.cause, place) if worst.cause else "",
        )


def _is_open(arranged: Layout, found: Change) -> bool:
    """Whether no explicit marker decides about this place."""
    return arranged.is_cached(found.at.position) and not arranged.is_marked(found.at.position)


def _grade(found: Change, prompt: Prompt, arranged: Layout, options: VolatilePrefix.Options) -> Severity | None:
    """How much a change matters, None where nothing is lost."""
    level, tokens = found.level, found.at.tokens
    if not level.at_least(Volatility.PROCESS):
        return None
    if not level.at_least(Volatility.USER):
        reread = level is Volatility.DAY and found.at.conversations
        return Severity.INFO if reread or _is_large(found, prompt, arranged, options) else None
    if _changes_within_conversation(found):
        cacheable = may_be_cached(prompt, arranged, options.min_cacheable_tokens)
        return Severity.WARNING if cacheable else Severity.INFO
    if not found.at.doubtful and _is_large(found, prompt, arranged, options):
        return Severity.INFO if _is_guess(found, prompt) else Severity.WARNING
    least = options.min_hint_tokens_per_call if level is Volatility.CALL else options.min_hint_tokens
    return Severity.INFO if tokens >= least or (found.at.conversations and _is_state(found)) else None


def _is_guess(found: Change, prompt: Prompt) -> bool:
    """Whether only a variable's name says that it changes, in a template that nothing is seen to send. A time is one
    wherever it is printed."""
    named = found.cause is not None and found.cause.by_name
    return named and not prompt.call.sent and found.level is not Volatility.CALL


def _is_large(found: Change, prompt: Prompt, arranged: Layout, options: VolatilePrefix.Options) -> bool:
    """Whether much stands behind the value, in a prompt that can be cached."""
    enough = reaches(found.at.texts, options.min_static_tokens, prompt.call)
    return enough and may_be_cached(prompt, arranged, options.min_cacheable_tokens)


def _is_state(found: Change) -> bool:
    """Whether a value of the conversation may change between its turns; a name or an id does not, and
    nobody shares the conversation behind it anyway."""
    return found.level > Volatility.SESSION or (found.cause is not None and found.cause.kind in MUTABLE_STATE)


def _changes_within_conversation(found: Change) -> bool:
    """Whether earlier turns are read again because of the value. An agent's own loop of tool calls
    belongs to one request: only what differs on every call changes there."""
    if found.level is Volatility.CALL:
        return bool(found.at.conversations)
    return found.level is Volatility.REQUEST and any(one.grows_in != "agent" for one in found.at.conversations)


MUTABLE_STATE: Final = frozenset({"agent-state", "run-context", "memories", "growing-list", "loop-growth"})
"""Kinds of values that belong to a conversation and may change while it goes on."""

_LOSS = {
    Volatility.CALL: "none of {it} can be cached",
    Volatility.REQUEST: "none of {it} can be cached",
    Volatility.SESSION: "no two conversations share {it} in the cache",
    Volatility.USER: "no two users share {it} in the cache",
    Volatility.DAY: "all is read again after midnight, by open conversations too",
    Volatility.PROCESS: "replicas and restarts do not share {it} in the cache",
}


def _message(found: Change, others: list[Change], prompt: Prompt, arranged: Layout, context: RuleContext) -> Sentence:
    what = describe(found.interpolation, found.cause, context)
    often = "whenever it grows" if found.cause and found.cause.kind in GROWING else HOW_OFTEN[found.level]
    loss = _loss(found, context.options)
    figures: tuple[str | Figure, ...] = ()
    if not _is_at_the_end(found, context.options):
        behind, whole = shares(found.at, arranged, prompt.call)
        figures = (behind, " of the prompt's ", whole, " constant tokens")
    advice = _advice(found, others, context.options)
    return Sentence.of(f"{what} changes {often} and stands ahead of ", *figures, f"{loss}. {advice}.")


def _loss(found: Change, options: VolatilePrefix.Options) -> str:
    lost = _LOSS[found.level]
    if _is_at_the_end(found, options) and found.level is Volatility.SESSION:
        return "the conversation: all of it is read again when it changes between turns"
    if _is_at_the_end(found, options):
        return f"the conversation: {lost.format(it='it')}"
    if found.at.conversations:
        return f" and of the conversation: {lost.format(it='it')}"
    return f": {lost.format(it='them')}"


def _is_at_the_end(found: Change, options: VolatilePrefix.Options) -> bool:
    """Whether hardly anything but a conversation stands behind the value."""
    return bool(found.at.conversations) and found.at.tokens < options.min_hint_tokens


def _advice(found: Change, others: list[Change], options: VolatilePrefix.Options) -> str:
    title = _remedy(found, options).title
    if names := _together(found, others):
        title = f"{title}, together with {names}"
    if found.level is Volatility.DAY:
        return f"A date frozen for longer goes stale: keep it, but {title}"
    return f"{title[0].upper()}{title[1:]}"


def _unresolved(found: Change, arranged: Layout, place: Location) -> Iterator[Related]:
    """The first value ahead of which nothing is known: it may change too."""
    for at in arranged.breaks:
        if at is found.at:
            return
        location = at.interpolation.location
        if at.interpolation.volatility is Volatility.UNKNOWN and location and location != place:
            yield Related("this value was not resolved: if it changes too, it must be moved as well", location)
            return


def _together(found: Change, others: list[Change]) -> str:
    """Other values that change ahead of the same text: where one of them stays, nothing is gained."""
    own = _name(found)
    names = list(dict.fromkeys(name for one in others if (name := _name(one)) != own))
    told = names if len(names) <= _NAMED + 1 else names[:_NAMED]
    left = len(names) - len(told)
    words = [*told, f"{left} more values that change"] if left else told
    if len(words) < 2:
        return f"{words[0]}, which changes as well" if words else ""
    return f"{', '.join(words[:-1])} and {words[-1]}" + ("" if left else ", which change as well")


def _name(found: Change) -> str:
    return named((found.cause.expression if found.cause else "") or found.interpolation.expression)


_NAMED: Final = 3
"""Other values that a message names."""


def _remedy(found: Change, options: VolatilePrefix.Options) -> Remedy:
    if found.at.role == TOOLS:
        return Remedy("move-to-end-of-system", "move it from the tool definitions to the end of the system prompt")
    if _is_at_the_end(found, options) or _changes_within_conversation(found):
        title = "move it to the end of the newest user message, and keep it there on later turns"
        return Remedy("move-to-last-user-message", title)
    if found.at.role in INSTRUCTING:
        return Remedy("move-to-end-of-system", "move it to the end of the system prompt, behind the constant text")
    if not found.at.within:
        return Remedy("move-to-own-block", "move it behind the constant text of the messages that follow")
    return Remedy("move-to-own-block", "move it to the end of its message, behind the constant text")
