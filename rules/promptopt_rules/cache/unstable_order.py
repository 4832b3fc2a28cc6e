"""PO102 unstable-order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Cause, Prompt, Volatility
from promptopt.rule import Rule, RuleContext
from promptopt.tokens import Figure, Sentence
from promptopt_rules.cache.evidence import ORDER_KINDS, chain, change, describe, group
from promptopt_rules.cache.prefix import INSTRUCTING, Break, Layout, layout, may_be_cached, shares

MIN_TOKENS: Final = 32
"""Constant tokens that must stand behind an order outside the instructions for it to matter."""


class UnstableOrder(Rule[Prompt]):
    """Text in the prefix whose order differs from run to run.

    ## What it finds

    Text ahead of other parts of the prompt that is built by going through a set, a folder listing
    (`os.listdir`, `glob`, `iterdir`) or a shuffled or sampled list, or that holds the memory address of an
    object: a **warning**. An info in a prompt that is too short for its model's cache, and behind a value
    that is new in every request. Two more are **infos**: results of tasks as they finish, since nobody knows
    whether the results themselves stay the same, and JSON made of a mapping from outside without
    `sort_keys=True`, since a database, a queue or another service may hand the same keys over in another
    order.

    Everywhere in the system prompt, elsewhere only where something follows.

    ## Why it is slow

    Sets of strings are ordered by hashes that differ between processes, folders by whatever the file
    system returns. Two replicas, or the same one after a restart, then send the same words in another
    order, and a prefix cache compares bytes: nothing behind the first difference is reused.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(topics: list[str], question: str):
        allowed = ", ".join(set(topics) | {"billing", "refunds"})  # finds: PO102
        system = f"Allowed topics: {allowed}\\n{RULES}"
        return client.chat.completions.create(
            model="gpt-5",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
        )
    ```

    ## Use instead

    ```python good
    from openai import OpenAI

    client = OpenAI()
    RULES = "Answer from the handbook only. Quote the paragraph that you rely on. " * 60

    def ask(topics: list[str], question: str):
        allowed = ", ".join(sorted(set(topics) | {"billing", "refunds"}))
        system = f"Allowed topics: {allowed}\\n{RULES}"
        return client.chat.completions.create(
            model="gpt-5",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
        )
    ```

    `dict.fromkeys(topics)` removes duplicates and keeps the order; `json.dumps(..., sort_keys=True)`
    writes the same keys in the same order.

    ## Silent on

    - anything that was sorted, `dict.fromkeys`, dictionary and list literals, comprehensions over them
    - records and lists of records whose fields are written in a fixed order
    - JSON with `sort_keys=True`
    - sampling with a fixed seed
    - membership tests, counts and lengths of sets
    - values that say something else in every request anyway: their order loses nothing
    - the newest user message (unless it is the whole prompt, see `volatile-prefix`), and everything
      behind the conversation or the last explicit cache breakpoint
    - files, logs and searches that reach no prompt

    ## Options

    - `min-static-tokens` (256): constant tokens behind the value from which a user message in a request
      without system text counts as the prompt
    - `min-cacheable-tokens` (1024): shortest prompt that is cached where the model's own minimum is not known

    ## Fix safety

    `sorted(...)` is safe where the elements are known to be strings, as those that `join` takes and folder listings
    are: the prompt gets one of the orders that it could have before. Where elements may be of kinds that cannot be
    compared it is unsafe, and so is `sort_keys=True`, which fails on keys of several kinds. Other remedies are advice.

    ## References

    - https://docs.python.org/3/reference/datamodel.html#object.__hash__
    - https://docs.python.org/3/library/os.html#os.listdir
    - https://developers.openai.com/api/docs/guides/prompt-caching
    """

    code: ClassVar[str] = "PO102"
    name: ClassVar[str] = "unstable-order"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = Applicability.SAFE
    subject: ClassVar[type[Prompt]] = Prompt

    @dataclass(frozen=True, slots=True)
    class Options:
        """Sizes in tokens, as the request's model counts them."""

        min_static_tokens: int = field(
            default=256,
            metadata={"help": "constant tokens behind the value that make a lone user message the prompt"},
        )
        min_cacheable_tokens: int = field(
            default=1024,
            metadata={"help": "shortest prompt that is cached where the model's own minimum is not known"},
        )

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each cause."""
        arranged = layout(subject, context.options.min_static_tokens)
        usual = context.options.min_cacheable_tokens
        seen = set()
        for found, cause in _disordered(arranged):
            place = found.interpolation.location or subject.location
            key = group(cause, place)
            if key in seen:
                continue
            seen.add(key)
            costs = _is_certain(found, cause, arranged) and may_be_cached(subject, arranged, usual)
            yield self.finding(
                _message(found, cause, shares(found, arranged, subject.call), context),
                place,
                severity=self.severity if costs else Severity.INFO,
                prompt=subject.name,
                subject=found.interpolation.expression,
                related=chain(cause, place, subject.call),
                remedies=[_remedy(cause)],
                group=key,
            )


_ADVICE: Final = {
    "set-order": ("sort-elements", "sort the elements, or use dict.fromkeys to drop duplicates"),
    "directory-order": ("sort-elements", "sort the names"),
    "random-order": ("fix-order", "choose once with a fixed seed, or keep the order"),
    "completion-order": ("fix-order", "put the results in the order of the tasks (asyncio.gather keeps it)"),
    "object-address": ("name-object", "print a name or an id of the object instead of its repr"),
    "json-key-order": ("sort-keys", "pass sort_keys=True"),
}

_POSSIBLE: Final = ("json-key-order", "completion-order")
"""Orders that differ only perhaps, or of values that may differ themselves."""

_LOSS: Final = {
    "random-order": "stands in another order on every call",
    "completion-order": "comes in the order in which tasks finish",
    "object-address": "holds a memory address that differs from process to process",
    "json-key-order": "is written in whatever order its keys arrive",
}


def _disordered(arranged: Layout) -> Iterator[tuple[Break, Cause]]:
    """Breaks of the prefix whose order changes while what they say may stay the same."""
    for found in arranged.breaks:
        if not arranged.is_cached(found.position) or change(found).level.at_least(Volatility.REQUEST):
            continue
        if found.role not in INSTRUCTING and not _is_followed(found):
            continue
        for cause in found.interpolation.causes:
            if cause.kind in ORDER_KINDS:
                yield found, cause


def _is_certain(found: Break, cause: Cause, arranged: Layout) -> bool:
    """Whether the order does change and the text would be cached up to it: what differs in every request and stands
    ahead leaves nothing to lose."""
    if cause.kind in _POSSIBLE:
        return False
    ahead = arranged.breaks[: arranged.breaks.index(found)]
    return not any(change(one).level.at_least(Volatility.REQUEST) for one in ahead)


def _is_followed(found: Break) -> bool:
    """Whether enough stands behind a value outside the instructions."""
    return bool(found.conversations) or found.tokens >= MIN_TOKENS


def _message(found: Break, cause: Cause, shares: tuple[Figure, Figure], context: RuleContext) -> Sentence:
    what = describe(found.interpolation, cause, context)
    loss = _LOSS.get(cause.kind, "has no fixed order: it differs between processes and machines")
    behind, whole = shares
    place: tuple[str | Figure, ...] = (behind, " of the prompt's ", whole, " constant tokens stand behind it")
    if found.conversations:
        place = (*place, ", and the conversation") if found.tokens else ("the conversation stands behind it",)
    elif found.tokens < MIN_TOKENS:
        place = ("the prompt is cached up to it only",)
    return Sentence.of(f"{what} {loss}; ", *place, f". {_sentence(_remedy(cause).title)}.")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _remedy(cause: Cause) -> Remedy:
    return Remedy(*_ADVICE[cause.kind])
