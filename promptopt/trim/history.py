"""HistoryTrimmer: bounds a conversation without breaking it or its cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, Literal, TypeVar

from promptopt.errors import TrimError
from promptopt.trim.choices import Scorer
from promptopt.trim.cutting import CutRules, Reason, Replay
from promptopt.trim.lengths import check_budget, message_counter
from promptopt.trim.messages import Role, message_text, read_message
from promptopt.trim.summary import Summarizer, SummaryWriter

MessageT = TypeVar("MessageT")
Counter = Callable[[Sequence[Any]], int]

_STEP_SHARE: Final = 4
_SUMMARY_SHARE: Final = 10
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """What became of one message.

    Attributes:
        index: its place in the conversation that was given.
        tokens: its length.
        reason: why it was kept or dropped.
        score: its turn's score, where a ranker decided.
    """

    index: int
    tokens: int
    reason: Reason
    score: float | None = None


@dataclass(frozen=True, slots=True)
class TrimmedHistory(Generic[MessageT]):
    """A conversation within its budget.

    Attributes:
        messages: what to send: the given objects in their order, with the summary where there is one.
        tokens: their length as the counter has it.
        kept, dropped: every given message, in order.
        cuts: how often this conversation has been cut so far. While it stays the same, what was sent
            before is the beginning of what is sent now.
        summary: the text that stands for what was cut.
    """

    messages: list[MessageT]
    tokens: int
    kept: tuple[HistoryItem, ...]
    dropped: tuple[HistoryItem, ...]
    cuts: int = 0
    summary: str | None = None


@dataclass(frozen=True)
class HistoryTrimmer:
    """Keeps a conversation within a token budget, cutting it in steps.

    As long as the conversation fits it is sent whole. When it does not, it is cut down to `budget - step`
    tokens, so that the requests until the next cut begin with the same bytes and providers' prefix caches
    keep working. Where the cuts fall depends on the messages alone: a trimmer remembers nothing that
    changes its answers, and may serve many conversations and processes.

    What stays: system messages, pinned messages, the last `keep_last` messages and the user message that
    opens the turn of anything that is kept. Tool calls stay or go together with their results. Of the rest
    the newest stay, or with a `ranker` the turns closest to the newest user message at the time of the cut.

    Attributes:
        budget: most tokens to send.
        count: tokens of a list of messages; a list may not be longer than its messages counted one by one.
            By default in o200k_base with OpenAI's framing, images not counted.
        step: tokens that a cut frees below the budget; default: a quarter of the budget. 0 keeps the
            most and changes the prefix with every request.
        keep_system: True keeps all system and developer messages, and those inside the conversation with
            their neighbours; "leading" only those ahead of it; False none.
        keep_last: how many of the newest messages stay whatever happens; at least 1.
        pinned: tells of a message whether it must stay.
        first_role: "user" drops what stands ahead of the first user message, as most providers want it;
            "any" lets an assistant's greeting stand first.
        ranker: anything with `score(query, texts)`.
        summarizer: is given the messages that were cut and returns a text that stands for them, or an
            awaitable for `atrim`. It is asked once per cut while the trimmer lives, so that the summary
            and with it the prefix stay the same.
        summary_tokens: room kept for the summary; a longer one loses its last words. Default: a tenth of
            the budget.

    Raises:
        TrimError: a number that makes no sense.
    """

    budget: int
    _: KW_ONLY
    count: Counter = field(default_factory=message_counter)
    step: int | None = None
    keep_system: bool | Literal["leading"] = True
    keep_last: int = 1
    pinned: Callable[[Any], bool] | None = None
    first_role: Literal["user", "any"] = "user"
    ranker: Scorer | None = None
    summarizer: Summarizer | None = None
    summary_tokens: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_budget(self.budget)
        if self.step is not None and not _is_number(self.step, 0, self.budget - 1):
            raise TrimError(f"step is {self.step!r}: give 0 or more tokens, less than the budget of {self.budget}")
        if not _is_number(self.keep_last, 1):
            raise TrimError(f"keep_last is {self.keep_last!r}: give a number, at least 1: the last message is sent")
        if self.summary_tokens is not None and not _is_number(self.summary_tokens, 1, self.budget):
            raise TrimError(f"summary_tokens is {self.summary_tokens!r}: give 1 to {self.budget} tokens")
        if self.keep_system not in (True, False, "leading"):
            raise TrimError(f'keep_system is {self.keep_system!r}: give True, False or "leading"')
        if self.first_role not in ("user", "any"):
            raise TrimError(f'first_role is {self.first_role!r}: give "user" or "any"')

    def trim(self, messages: Iterable[MessageT]) -> TrimmedHistory[MessageT]:
        """The conversation within its budget.

        Args:
            messages: the whole conversation, oldest first, the newest included: OpenAI chat messages or
                Responses items, Anthropic messages, LangChain messages, as mappings or objects.

        Raises:
            BudgetError: what must stay is over budget; the error has both numbers.
            TrimError: a message whose role or type is unknown, a conversation without user message, a
                ranker whose scores are not finite numbers, one for each text.
        """
        given = list(messages)
        replay, tokens = self._replay(given)
        cut = _cut_messages(given, replay)
        summary = self._writer.write(cut) if self._writer and cut else None
        return self._result(given, replay, tokens, summary)

    async def atrim(self, messages: Iterable[MessageT]) -> TrimmedHistory[MessageT]:
        """As `trim`, with the work in a thread and a summarizer that may be asynchronous."""
        import asyncio  # noqa: PLC0415 (costs more to load than the rest of this package)

        given = list(messages)
        replay, tokens = await asyncio.to_thread(self._replay, given)
        cut = _cut_messages(given, replay)
        summary = await self._writer.awrite(cut) if self._writer and cut else None
        return self._result(given, replay, tokens, summary)

    @cached_property
    def _writer(self) -> SummaryWriter | None:
        if self.summarizer is None:
            return None
        return SummaryWriter(self.summarizer, self.summary_tokens or max(self.budget // _SUMMARY_SHARE, 1))

    @cached_property
    def _rules(self) -> CutRules:
        step = self.budget // _STEP_SHARE if self.step is None else self.step
        return CutRules(
            budget=self.budget,
            low=self.budget - step,
            overhead=self.count([]),
            summary=self._writer.tokens if self._writer else 0,
            keep_system=self.keep_system,
            keep_last=self.keep_last,
            first_role=self.first_role,
            rank=None if self.ranker is None else _remembering(self.ranker),
        )

    def _replay(self, messages: Sequence[object]) -> tuple[Replay, list[int]]:
        replay = Replay(self._rules, lambda index: message_text(messages[index]))
        tokens = [self._length(message) for message in messages]
        speaks = False
        for index, message in enumerate(messages):
            facts = read_message(message, index)
            speaks |= facts.role is not Role.SYSTEM
            replay.add(index, facts, tokens[index], pinned=self.pinned is not None and self.pinned(message))
        if speaks and not replay.turns.openers and self._rules.first_role == "user":
            raise TrimError('no user message in the conversation: first_role="any" lets another stand first')
        replay.check()
        return replay, tokens

    def _length(self, message: object) -> int:
        return self.count([message]) - self._rules.overhead

    def _result(
        self, given: list[MessageT], replay: Replay, tokens: list[int], summary: str | None
    ) -> TrimmedHistory[MessageT]:
        kept = _kept_items(replay, tokens)
        sent = [given[item.index] for item in kept]
        if self._writer and summary is not None:
            like = None if replay.first_user is None else given[replay.first_user]
            stand_in = self._writer.message(summary, like, self._length)
            if stand_in is not None:
                sent.insert(sum(replay.turns.units[number].turn is None for number in replay.kept), stand_in)
        return TrimmedHistory(
            messages=sent,
            tokens=self.count(sent),
            kept=kept,
            dropped=tuple(
                HistoryItem(index, tokens[index], reason, replay.scores.get(index))
                for index, reason in sorted(replay.dropped.items())
            ),
            cuts=replay.cuts,
            summary=summary,
        )


def _is_number(value: object, least: int, most: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _kept_items(replay: Replay, tokens: Sequence[int]) -> tuple[HistoryItem, ...]:
    required = replay.required()
    return tuple(
        HistoryItem(
            index,
            tokens[index],
            required.get(number) or replay.reasons.get(number, Reason.RECENT),
            replay.scores.get(index),
        )
        for number in replay.kept
        for index in replay.turns.units[number].members
    )


def _cut_messages(messages: Sequence[MessageT], replay: Replay) -> list[MessageT]:
    gone = (Reason.OLDER, Reason.LESS_RELEVANT)
    return [messages[index] for index, reason in sorted(replay.dropped.items()) if reason in gone]


def _remembering(ranker: Scorer) -> Callable[[str, Sequence[str]], Sequence[float]]:
    """The ranker's scores, checked; a replay asks for those of earlier cuts again."""

    @lru_cache(maxsize=_REMEMBERED)
    def remembered(query: str, texts: tuple[str, ...]) -> Sequence[float]:
        scores = [float(score) for score in ranker.score(query, texts)]
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise TrimError(f"the ranker gave {scores} for {len(texts)} texts: one finite number each is needed")
        return scores

    return lambda query, texts: remembered(query, tuple(texts))
