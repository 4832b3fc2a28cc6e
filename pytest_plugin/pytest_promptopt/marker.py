"""The marker `token_budget`: a bound for all prompts that a test renders or sends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from promptopt.config import suggestion
from promptopt.errors import TokenError
from promptopt.tokens import TokenCounter, token_counter
from promptopt.wire import SentPrompt
from pytest_promptopt.budgets import check_budget, check_limit
from pytest_promptopt.calls import LlmCalls, counter_for
from pytest_promptopt.errors import PromptBudgetError
from pytest_promptopt.observing import Recorder

if TYPE_CHECKING:
    from pytest_promptopt.rendering import RenderedPrompt

NAME: Final = "token_budget"
_ARGUMENTS: Final = ("max_tokens", "model", "encoding")


@dataclass(slots=True)
class Seen:
    """What a test rendered, and the recorder of what it sends; `watch` has the recorder's end."""

    rendered: list[RenderedPrompt] = field(default_factory=list)
    calls: LlmCalls | None = None
    watch: ExitStack = field(default_factory=ExitStack)

    def record(self) -> LlmCalls:
        """Record from now on, once for a test."""
        if self.calls is None:
            self.calls = self.watch.enter_context(Recorder().watching())
        return self.calls


SEEN: Final = pytest.StashKey[Seen]()


def seen_by(item: Any) -> Seen:
    """What is seen of a test."""
    return item.stash.setdefault(SEEN, Seen())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Bound:
    max_tokens: int
    model: str | None = None
    encoding: str | None = None

    def counter(self) -> TokenCounter:
        return token_counter(self.model, self.encoding)


class TokenBudgets:
    """Hooks for marked tests; registered where there are some."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Watch from before fixtures on; a marker that cannot be read fails here."""
        if item.get_closest_marker(NAME):
            _bound(item)
            seen_by(item).record()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judge what a test that has passed rendered and sent."""
        result = yield
        if item.get_closest_marker(NAME):
            _judge(item, _bound(item))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch no more."""
        try:
            return (yield)
        finally:
            if item.get_closest_marker(NAME):
                seen_by(item).watch.close()


def _bound(item: pytest.Item) -> _Bound:
    mark = item.get_closest_marker(NAME)
    assert mark is not None  # noqa: S101 (asked before)
    unknown = next((name for name in mark.kwargs if name not in _ARGUMENTS), None)
    if unknown is not None:
        hint = suggestion(unknown, _ARGUMENTS) or f": known are {', '.join(_ARGUMENTS)}"
        _misused(f"unknown argument {unknown!r}{hint}")
    if len(mark.args) > 1 or (mark.args and "max_tokens" in mark.kwargs) or not (mark.args or mark.kwargs):
        _misused("give one number of tokens: token_budget(800)")
    fault = ""
    try:
        bound = _Bound(*mark.args, **mark.kwargs)
        check_limit("max_tokens", bound.max_tokens)
        bound.counter().text("")
    except (TokenError, ValueError, TypeError) as error:
        fault = str(error)
    if fault:
        _misused(fault)
    return bound


def _misused(words: str) -> NoReturn:
    pytest.fail(f"marker token_budget: {words}", pytrace=False)


def _judge(item: pytest.Item, bound: _Bound) -> None:
    seen = seen_by(item)
    calls = LlmCalls() if seen.calls is None else seen.calls
    if not seen.rendered and not calls:
        lines = ["marker token_budget: the test has rendered and sent no prompt, so that its budget holds for nothing"]
        pytest.fail("\n".join([*lines, *calls.hints()]), pytrace=False)
    faults = []
    for number, call in enumerate(calls):
        counter = counter_for(call, bound.model, bound.encoding)
        faults += _fault(call.prompt.called(f"request {number} ({call.endpoint})"), bound, counter)
    for rendered in seen.rendered:
        faults += _fault(rendered.prompt, bound, bound.counter(), rendered)
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def _fault(prompt: SentPrompt, bound: _Bound, counter: TokenCounter, given: object = None) -> list[str]:
    try:
        check_budget(prompt, bound.max_tokens, counter, given)
    except PromptBudgetError as error:
        return [str(error)]
    return []
