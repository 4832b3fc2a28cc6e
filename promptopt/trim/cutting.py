"""Where a growing conversation is cut.

The conversation is replayed message by message: whenever it is over budget it is cut to the lower mark,
and what was cut stays cut. So the answer depends on the messages alone, and a longer version of the same
conversation has the same cuts in its common part: between two cuts each request begins with the one before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from promptopt.errors import BudgetError, TrimError
from promptopt.trim.messages import MessageFacts
from promptopt.trim.turns import Turns, Unit


class Reason(StrEnum):
    """Why a message was kept or dropped."""

    SYSTEM = "system message"
    PINNED = "pinned"
    LAST = "among the last messages"
    OPENS = "opens a turn that is kept"
    RELEVANT = "relevant to the question"
    RECENT = "recent"
    OLDER = "older than the cut"
    LESS_RELEVANT = "less relevant to the question"
    UNANSWERABLE = "answers a tool call that is not there"
    UNOPENED = "no user message stands before it"


@dataclass(frozen=True, slots=True)
class CutRules:
    """What a cut must respect.

    Attributes:
        budget: most tokens of a request.
        low: tokens to cut down to.
        overhead: tokens of a request without messages.
        summary: tokens that a cut conversation's summary takes.
        keep_system, keep_last, first_role: as `HistoryTrimmer` has them.
        rank: scores of texts for a query, or None to keep what is newest.
    """

    budget: int
    low: int
    overhead: int = 0
    summary: int = 0
    keep_system: bool | Literal["leading"] = True
    keep_last: int = 1
    first_role: Literal["user", "any"] = "user"
    rank: Callable[[str, Sequence[str]], Sequence[float]] | None = None


@dataclass(slots=True)
class Replay:
    """A conversation as it grows and is cut.

    Attributes:
        rules: what a cut must respect.
        text: the words of the message at an index, asked for only where a ranker decides.
        kept: numbers of the units that are still there, ascending.
        reasons: why a unit stays, as far as the last cut decided it.
        dropped: why a message is gone, by its index.
        scores: of messages by index, where a ranker decided.
        cuts: how many there were.
    """

    rules: CutRules
    text: Callable[[int], str]
    turns: Turns = field(default_factory=Turns)
    kept: list[int] = field(default_factory=list)
    reasons: dict[int, Reason] = field(default_factory=dict)
    dropped: dict[int, Reason] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    cuts: int = 0
    _tokens: int = 0
    _pinned: set[int] = field(default_factory=set)
    _last: deque[int] = field(default_factory=deque)

    def add(self, index: int, facts: MessageFacts, tokens: int, *, pinned: bool) -> None:
        """Append the next message and cut if it is one too many.

        Raises:
            TrimError: a pinned message that no provider accepts where it stands.
        """
        number = self.turns.add(index, facts, tokens)
        misplaced = self._misplaced(number)
        if misplaced or number is None:
            if pinned:
                raise TrimError(f"message {index} is pinned and cannot be sent: {misplaced}")
            self.dropped[index] = misplaced or Reason.UNANSWERABLE
            return
        if not self.kept or self.kept[-1] != number:
            self.kept.append(number)
        self._tokens += tokens
        self._last.append(number)
        if len(self._last) > self.rules.keep_last:
            self._last.popleft()
        if pinned:
            self._pinned.add(number)
        if self.total > self.rules.budget:
            self._cut()

    @property
    def total(self) -> int:
        """Tokens of the request as it stands."""
        return self.rules.overhead + self._tokens + (self.rules.summary if self.cuts else 0)

    @property
    def first_user(self) -> int | None:
        """The index of the first user message."""
        return self.turns.units[self.turns.openers[0]].members[0] if self.turns.openers else None

    def required(self) -> dict[int, Reason]:
        """The units that must stay, each with the reason."""
        required: dict[int, Reason] = {}
        if self.rules.keep_system:
            for number in self.kept:
                required |= dict.fromkeys(self._system(number), Reason.SYSTEM)
        for numbers, reason in ((self._pinned, Reason.PINNED), (self._last, Reason.LAST)):
            for number in numbers:
                required.setdefault(number, reason)
        for number in tuple(required):
            opener = self.turns.opener(number)
            if opener is not None:
                required.setdefault(opener, Reason.OPENS)
        return required

    def check(self) -> None:
        """Raises `BudgetError` where what must stay is over budget."""
        if self.total > self.rules.budget:
            raise BudgetError(needed=self.total, budget=self.rules.budget)

    def _misplaced(self, number: int | None) -> Reason | None:
        if number is None:
            return Reason.UNANSWERABLE
        unopened = self.turns.units[number].turn == -1 and self.rules.first_role == "user"
        return Reason.UNOPENED if unopened else None

    def _system(self, number: int) -> Iterable[int]:
        """The unit if a system message keeps it, and the reply that must follow such a message."""
        unit = self._unit(number)
        if unit.turn is None:
            yield number
        elif unit.instructs and self.rules.keep_system is True:
            yield number
            following = number + 1
            if following < len(self.turns.units) and self._unit(following).turn == unit.turn:
                yield following

    def _cut(self) -> None:
        chosen = self.required()
        room = self.rules.low - self.rules.overhead - self.rules.summary - self._sum(chosen)
        fill = self._by_recency if self.rules.rank is None else self._by_relevance
        chosen |= fill(chosen, room)
        gone = Reason.OLDER if self.rules.rank is None else Reason.LESS_RELEVANT
        out = [number for number in self.kept if number not in chosen]
        for number in out:
            self.dropped |= dict.fromkeys(self._unit(number).members, gone)
        self.kept = sorted(chosen)
        self.reasons = chosen
        self._tokens = self._sum(chosen)
        self.cuts += bool(out)

    def _by_recency(self, chosen: dict[int, Reason], room: int) -> dict[int, Reason]:
        """The newest units without a gap, as many as fit, with the openers of their turns."""
        added: dict[int, Reason] = {}
        for number in reversed(self.kept):
            wanted = {number: Reason.RECENT}
            opener = self.turns.opener(number)
            if opener is not None and opener != number:
                wanted[opener] = Reason.OPENS
            wanted = {one: reason for one, reason in wanted.items() if one not in chosen and one not in added}
            room -= self._sum(wanted)
            if room < 0:
                break
            added |= wanted
        return added

    def _by_relevance(self, chosen: dict[int, Reason], room: int) -> dict[int, Reason]:
        """Whole turns, the most relevant first, as many as fit; newer ones first among equals."""
        turns: dict[int | None, list[int]] = {}
        for number in self.kept:
            turns.setdefault(self._unit(number).turn, []).append(number)
        candidates = [numbers for numbers in turns.values() if not all(number in chosen for number in numbers)]
        scores = self._scores(candidates)
        added: dict[int, Reason] = {}
        for position in sorted(range(len(candidates)), key=lambda place: (-scores[place], -candidates[place][0])):
            wanted = [number for number in candidates[position] if number not in chosen]
            self.scores |= {index: scores[position] for number in wanted for index in self._unit(number).members}
            if (tokens := self._sum(wanted)) <= room:
                room -= tokens
                added |= dict.fromkeys(wanted, Reason.RELEVANT)
        return added

    def _scores(self, candidates: Sequence[Sequence[int]]) -> Sequence[float]:
        if self.rules.rank is None or not candidates:
            return ()
        question = max(self.turns.openers.values(), default=None)
        query = "" if question is None else self._words([question])
        return self.rules.rank(query, [self._words(numbers) for numbers in candidates])

    def _words(self, numbers: Iterable[int]) -> str:
        return "\n".join(self.text(index) for number in numbers for index in self._unit(number).members)

    def _unit(self, number: int) -> Unit:
        return self.turns.units[number]

    def _sum(self, numbers: Iterable[int]) -> int:
        return sum(self._unit(number).tokens for number in numbers)
