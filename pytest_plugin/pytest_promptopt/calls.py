"""Requests that were recorded, and what tests promise of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, overload

from promptopt.tokens import TokenCounter, find_model, token_counter
from promptopt.wire import SentPrompt
from pytest_promptopt.budgets import about, check_limit, table
from pytest_promptopt.errors import LlmCallError
from pytest_promptopt.notes import Note, note
from pytest_promptopt.prefixes import Built, check_common_prefix, check_prefix_limits

if TYPE_CHECKING:
    from pytest_promptopt.observing import Recorder

_MOST: Final = 8
"""Requests that a failure lists."""


@dataclass(slots=True)
class Times:
    """When a request was sent and what came back when, in seconds of `time.perf_counter`; a stream's chunks each."""

    sent: float
    chunks: list[float] = field(default_factory=list)
    done: float | None = None


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One recorded request, without secrets.

    Attributes:
        endpoint: the kind of request, such as `chat.completions`, `messages` or `converse`.
        model: what the request calls it; None where it names none.
        prompt: its tools and messages.
        cap: output tokens that it allows; None where it names no limit.
        stream: whether it asks for a stream.
        request: its body, or the arguments of the method that was called.
        address: where it was sent, without query; the name of the method where nothing was sent.
        times: what was measured, where it was sent through httpx.
    """

    endpoint: str
    model: str | None
    prompt: SentPrompt
    cap: int | None
    stream: bool
    request: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    times: Times | None = None

    @property
    def text(self) -> str:
        """All texts of its messages, on lines of their own."""
        return "\n".join(text for message in self.prompt.messages for text in message.texts)

    @property
    def ttft(self) -> float | None:
        """Time to first token, seconds: until the first chunk of the answer, or all of it, had come; None: unknown."""
        if self.times is None or (not self.times.chunks and self.times.done is None):
            return None
        return (self.times.chunks[0] if self.times.chunks else self.times.done or 0.0) - self.times.sent

    @property
    def itl(self) -> tuple[float, ...]:
        """Inter-token latencies, seconds: from chunk to chunk of a stream."""
        return tuple(after - before for before, after in pairwise(self.times.chunks)) if self.times else ()

    @property
    def total(self) -> float | None:
        """Seconds from the request to the end of the answer; None where it was not read to its end."""
        return self.times.done - self.times.sent if self.times and self.times.done is not None else None

    def __repr__(self) -> str:
        """What it is, not what it says."""
        streamed = ", streamed" if self.stream else ""
        return f"<LlmCall {self.endpoint} {self.model or '?'}: {len(self.prompt.messages)} messages{streamed}>"


class LlmCalls(Sequence[LlmCall]):
    """Requests in the order in which they were sent. Slices and `where` give some of them, with the same assertions."""

    def __init__(self, calls: Iterable[LlmCall] = (), recorder: Recorder | None = None, words: str = "") -> None:
        self._own = list(calls)
        self._recorder = recorder
        self._words = words

    @property
    def _calls(self) -> list[LlmCall]:
        return self._recorder.calls if self._recorder is not None else self._own

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[LlmCall]:
        return iter(list(self._calls))

    @overload
    def __getitem__(self, index: int) -> LlmCall: ...
    @overload
    def __getitem__(self, index: slice) -> LlmCalls: ...
    def __getitem__(self, index: int | slice) -> LlmCall | LlmCalls:
        """One request, or some of them."""
        if isinstance(index, slice):
            return LlmCalls(self._calls[index], words=" in that slice")
        self._need()
        return self._calls[index]

    def __repr__(self) -> str:
        return f"<LlmCalls {list(self._calls)!r}>"

    def where(
        self, *, endpoint: str | None = None, model: str | None = None, containing: str | None = None
    ) -> LlmCalls:
        """The requests of one kind, to one model, or with a text in their messages."""
        wanted = {"endpoint": endpoint, "model": model, "containing": containing}
        words = ", ".join(f"{name} {value!r}" for name, value in wanted.items() if value is not None)
        found = (
            call
            for call in self._calls
            if endpoint in (None, call.endpoint) and model in (None, call.model) and (containing or "") in call.text
        )
        return LlmCalls(found, words=f" with {words}" if words else "")

    def wrap(self, function: Callable[..., Any]) -> Any:
        """A stand-in for an SDK's method that records what it is called with, and then calls `function`.

        For clients that a project replaces as a whole: `FakeClient(create=llm_calls.wrap(fake_create))`.
        """
        if self._recorder is None:
            raise ValueError("only the fixture llm_calls itself records: call its wrap")
        return self._recorder.recording(function)

    def assert_within(
        self,
        input_tokens: int | None = None,
        max_tokens: int | None = None,
        *,
        model: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """Fail where a request has more tokens than `input_tokens`, or allows more than `max_tokens` for its answer.

        Args:
            input_tokens: tools and messages, with what frames them in OpenAI's chat requests.
            max_tokens: output tokens; a request without a limit of its own fails.
            model: what is counted for; by default each request's own, where it is known.
            encoding: what is counted with.

        Raises:
            LlmCallError: one does not hold, or nothing was recorded.
            ValueError: neither is given, or no number of tokens.
            TokenError: an unknown model or encoding.
        """
        __tracebackhide__ = True
        if input_tokens is None and max_tokens is None:
            raise ValueError("give input_tokens, max_tokens or both: what the requests must stay within")
        for name, limit in (("input_tokens", input_tokens), ("max_tokens", max_tokens)):
            if limit is not None:
                check_limit(name, limit)
        self._need()
        for number, call in enumerate(self):
            counter = counter_for(call, model, encoding)
            sizes = call.prompt.sizes(counter)
            total = sum(tokens for _, tokens in sizes)
            over = input_tokens is not None and total > input_tokens
            note(Note(f"request {number}", tokens=total, budget=input_tokens, failed=over))
            if input_tokens is not None and over:
                word = about(call.prompt, counter)
                summary = f"has {word}{total:,} input tokens, {total - input_tokens:,} over {input_tokens:,}"
                raise LlmCallError("\n".join([f"{self._name(number, call)} {summary}", *table(sizes)]))
        if max_tokens is not None:
            self.assert_capped(max_tokens)

    def assert_capped(self, max_tokens: int | None = None) -> None:
        """Fail where a request does not limit its answer, or allows more than `max_tokens`.

        Raises:
            LlmCallError: one does not, or nothing was recorded.
            ValueError: `max_tokens` is no number of tokens.
        """
        __tracebackhide__ = True
        if max_tokens is not None:
            check_limit("max_tokens", max_tokens)
        self._need()
        self._all_hold(lambda call: call.cap is not None, "no limit on the answer's tokens")
        if max_tokens is not None:
            fits = lambda call: call.cap is not None and call.cap <= max_tokens  # noqa: E731
            self._all_hold(
                fits, f"more than {max_tokens:,} tokens allowed for the answer", lambda call: f"{call.cap:,}"
            )

    def assert_streamed(self) -> None:
        """Fail where a request does not ask for a stream.

        Raises:
            LlmCallError: one does not, or nothing was recorded.
        """
        __tracebackhide__ = True
        self._need()
        self._all_hold(lambda call: call.stream, "no stream asked for")

    def assert_stable_prefix(
        self,
        min_tokens: int | None = None,
        min_ratio: float | None = None,
        *,
        model: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """Fail where the requests share too little of their beginning; see `assert_stable_prefix`.

        Compares all of them: take those of one prompt with `where` or a slice.

        Raises:
            LlmCallError: fewer than two were recorded.
            PromptPrefixError: they share less.
            ValueError: neither `min_tokens` nor `min_ratio`, or limits that cannot be.
            TokenError: an unknown model or encoding.
        """
        __tracebackhide__ = True
        check_prefix_limits(min_tokens, min_ratio)
        self._need()
        if len(self) == 1:
            raise LlmCallError(f"one LLM request was recorded{self._words}: a prefix is shared by two at least")
        requests = [
            Built(call.prompt.called("recorded requests"), f"request {number}") for number, call in enumerate(self)
        ]
        check_common_prefix(requests, counter_for(self[0], model, encoding), min_tokens, min_ratio)

    def _all_hold(
        self, holds: Callable[[LlmCall], bool], fault: str, detail: Callable[[LlmCall], str] | None = None
    ) -> None:
        __tracebackhide__ = True
        broken = [(number, call) for number, call in enumerate(self) if not holds(call)]
        if broken:
            lines = [
                f"  {self._name(number, call)}{': ' + detail(call) if detail else ''}"
                for number, call in broken[:_MOST]
            ]
            more = [f"  and {len(broken) - _MOST} more"] if len(broken) > _MOST else []
            raise LlmCallError("\n".join([f"{len(broken)} of {len(self)} LLM requests: {fault}", *lines, *more]))

    def _name(self, number: int, call: LlmCall) -> str:
        model = f" to {call.model}" if call.model else ""
        return f"request {number} ({call.endpoint}{model}, {call.address})"

    def _need(self) -> None:
        """Fail where nothing was recorded: an assertion about nothing would hold."""
        __tracebackhide__ = True
        if not self._calls:
            raise LlmCallError("\n".join([f"no LLM request was recorded{self._words}", *self.hints()]))

    def hints(self) -> list[str]:
        """What else was seen, in lines, for those who expected requests."""
        return self._recorder.hints() if self._recorder else []


def counter_for(call: LlmCall, model: str | None = None, encoding: str | None = None) -> TokenCounter:
    """What counts a request: for `model`, else for its own where that is known."""
    own = call.model if call.model and find_model(call.model) else None
    return token_counter(model or own, encoding)
