"""assert_stable_prefix: what of a request stays the same from input to input, from call to call, over time, and in
another process."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import os
import time
import uuid
from datetime import date, timedelta
from datetime import datetime as clock
from functools import partial
from typing import Any

import pytest

from promptopt.errors import TokenError
from pytest_promptopt import PromptPrefixError, assert_stable_prefix
from pytest_promptopt.clocks import moved, within_the_day

RULES = "Answer from the handbook only. " * 20
TOPICS = {"apples", "pears", "plums", "cherries", "quinces", "medlars", "grapes", "figs"}


def stable(question: str) -> list[dict[str, str]]:
    """Rules first, what changes last."""
    content = f"{question} ({clock.now(dt.UTC)}, {uuid.uuid4()})"
    return [{"role": "system", "content": RULES}, {"role": "user", "content": content}]


def ahead(value: object) -> list[dict[str, str]]:
    """A request with something ahead of its rules."""
    return [{"role": "system", "content": f"{value}\n{RULES}"}, {"role": "user", "content": "Where is it?"}]


def unordered(_: object) -> Any:
    """A set at the beginning."""
    return ahead(f"Topics: {', '.join(TOPICS)}")


def ordered(_: object) -> Any:
    """The same, sorted."""
    return ahead(f"Topics: {', '.join(sorted(TOPICS))}")


def test_what_changes_at_the_end_is_no_fault() -> None:
    """Inputs, times and ids behind the rules."""
    assert_stable_prefix(stable, ["Where?", "When?"], min_tokens=100)
    assert_stable_prefix(stable, ["Where?"], min_ratio=0.7)


@pytest.mark.parametrize(
    "build",
    [
        lambda _: ahead(f"Now: {clock.now():%H:%M:%S}"),  # noqa: DTZ005 (as applications have it)
        lambda _: ahead(f"Now: {dt.datetime.now(dt.UTC):%H:%M:%S}"),
        lambda _: ahead(f"Now: {dt.datetime.today():%H:%M:%S}"),  # noqa: DTZ002
        lambda _: ahead(f"Now: {time.strftime('%H:%M:%S')}"),
        lambda _: ahead(f"Now: {time.ctime()}"),
        lambda _: ahead(f"Now: {int(time.time())}"),
        lambda _: ahead(f"Now: {time.time_ns() // 10**9}"),
        lambda _: ahead(f"Now: {time.strftime('%H:%M:%S', time.gmtime())}"),
    ],
)
def test_a_time_ahead_of_the_rules_is_found(build: Any) -> None:
    """Although a second has not passed between two calls; whichever way it is read."""
    with pytest.raises(PromptPrefixError) as caught:
        assert_stable_prefix(build, ["x"], min_tokens=100)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the stable prefix has ")
    assert lines[0].endswith(" short of 100")
    assert lines[1] == "  they part in 0: system, line 1, at what looks like a time"
    assert lines[2].startswith("    input 0, 'x' ")
    assert lines[3].startswith("    the clock ")
    assert lines[4].strip() == "^"


def test_a_date_is_the_same_all_day() -> None:
    """Unless the clock is moved as far as that."""

    def build(_: object) -> Any:
        return ahead(f"Today: {date.today():%Y-%m-%d}")  # noqa: DTZ011 (what is tested)

    assert_stable_prefix(build, ["x"], min_tokens=100)
    with pytest.raises(PromptPrefixError, match="at what looks like a time"):
        assert_stable_prefix(build, ["x"], min_tokens=100, clock=timedelta(days=40))
    with pytest.raises(PromptPrefixError, match="the clock 40 days, 0:00:00 behind"):
        assert_stable_prefix(build, ["x"], min_tokens=100, clock=timedelta(days=-40))


def test_the_clock_can_stay() -> None:
    """Then only what changes by itself is found."""
    second = lambda _: ahead(f"{clock.now(dt.UTC):%d %H}")  # noqa: E731
    assert_stable_prefix(second, ["x"], min_tokens=100, clock=None)


def test_an_id_is_found() -> None:
    """The same input makes another one."""
    with pytest.raises(PromptPrefixError, match=r"at what looks like an id\n.*\n +the same input again "):
        assert_stable_prefix(lambda _: ahead(f"Request {uuid.uuid4()}"), ["x"], min_tokens=100)


def test_a_counter_is_found() -> None:
    """And what an input changes."""
    numbers = itertools.count(100)
    with pytest.raises(PromptPrefixError, match="at what looks like a number"):
        assert_stable_prefix(lambda _: ahead(f"Call {next(numbers)}"), ["x"], min_tokens=100)
    with pytest.raises(PromptPrefixError, match=r"input 0, 'Ada'  Ada.*\n +input 1, 'Bob'  Bob"):
        assert_stable_prefix(ahead, ["Ada", "Bob"], min_tokens=100)


def test_order_shows_in_other_processes() -> None:
    """Sets of strings have another order under another PYTHONHASHSEED; asked for, and with functions of a module."""
    assert_stable_prefix(unordered, ["x"], min_tokens=100)
    with pytest.raises(PromptPrefixError, match=r"the same words in another order\n.*\n +PYTHONHASHSEED=\d "):
        assert_stable_prefix(unordered, ["x"], min_tokens=100, hash_seeds=2)
    assert_stable_prefix(ordered, ["x"], min_tokens=100, hash_seeds=1)
    with pytest.raises(PromptPrefixError, match="PYTHONHASHSEED"):
        assert_stable_prefix(partial(unordered), ["x"], min_tokens=100, hash_seeds=2)


def fails_elsewhere(_: object) -> Any:
    """Works in this process alone."""
    if os.environ["HERE"] != str(os.getpid()):
        raise RuntimeError("no such luck")
    return RULES


def test_what_cannot_be_built_elsewhere_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lambda has no name there; what fails there says why."""
    monkeypatch.setenv("HERE", str(os.getpid()))
    with pytest.raises(ValueError, match=r"build cannot be called in another process .*: give a function of a module"):
        assert_stable_prefix(lambda _: RULES, ["x"], min_tokens=100, hash_seeds=1)
    with pytest.raises(ValueError, match="build failed under another PYTHONHASHSEED: RuntimeError: no such luck"):
        assert_stable_prefix(fails_elsewhere, ["x"], min_tokens=100, hash_seeds=1)


def test_coroutines_are_awaited() -> None:
    """In a test without a loop and in one that runs in a loop."""

    async def build(question: str) -> Any:
        await asyncio.sleep(0)
        return stable(question)

    async def within() -> None:
        assert_stable_prefix(build, ["x", "y"], min_tokens=100)
        with pytest.raises(PromptPrefixError):
            assert_stable_prefix(build, ["x", "y"], min_ratio=1)

    assert_stable_prefix(build, ["x", "y"], min_tokens=100)
    asyncio.run(within())


def test_a_prompt_that_is_too_short_is_told() -> None:
    """Nothing differs, but there is not enough of it."""
    with pytest.raises(PromptPrefixError, match=r"121 tokens \(100% of 121\), 79 short of 200\n  all requests are the"):
        assert_stable_prefix(lambda _: RULES, ["x"], min_tokens=200)


def raising(_: object) -> Any:
    """A build with a fault."""
    raise KeyError("handbook")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((stable, ["x"]), ValueError, "give min_tokens or min_ratio"),
        ((stable, [], 5), ValueError, "inputs is empty"),
        ((stable, ["x"], 0), ValueError, "min_tokens is 0: give a number of tokens, at least 1"),
        ((stable, ["x"], None, 1.5), ValueError, r"min_ratio is 1\.5: give a share above 0 and at most 1"),
        (
            (lambda _: None, ["x"], 5),
            TokenError,
            "what build returns for input 0: 'x' is no prompt: message 0 is NoneType",
        ),
        ((raising, ["x"], 5), KeyError, "handbook"),
    ],
)
def test_misuse_is_told(arguments: Any, error: type[Exception], message: str) -> None:
    """On one line; what build raises goes on, with a note that says when."""
    with pytest.raises(error, match=message) as caught:
        assert_stable_prefix(*arguments)
    assert error is not KeyError or caught.value.__notes__ == ["raised by build for input 0: 'x'"]


def test_a_moved_clock_passes_for_the_real_one() -> None:
    """Types, zones, arithmetic; and everything is as before in the end."""
    before = (dt.datetime, dt.date, time.time, clock, date)
    step = timedelta(days=400, hours=3)
    real = clock.now(dt.UTC)
    with moved(step):
        now = clock.now(dt.UTC)
        assert timedelta() <= now - real - step < timedelta(seconds=60)
        assert type(now) is before[0]
        assert isinstance(now, clock)
        assert isinstance(now, date)
        assert not isinstance(date(2020, 1, 1), clock)
        assert issubclass(before[0], clock)
        assert clock == before[0]
        assert clock.fromisoformat("2020-01-01T10:00") == clock(2020, 1, 1, 10)  # noqa: DTZ001
        assert clock.now(dt.timezone(timedelta(hours=5))).utcoffset() == timedelta(hours=5)
        assert abs(time.time() - now.timestamp()) < 60
        assert time.localtime(0) == time.localtime(0.5)
        assert date.today() == clock.today().date()  # noqa: DTZ002, DTZ011
        assert abs(clock.utcnow().replace(tzinfo=dt.UTC) - now) < timedelta(seconds=60)  # noqa: DTZ003
    assert (dt.datetime, dt.date, time.time, clock, date) == before
    assert dt.datetime is before[0]
    assert clock.now(dt.UTC) - real < timedelta(days=1)


@pytest.mark.parametrize("hour", range(24))
@pytest.mark.parametrize("minute", [0, 30, 59])
def test_a_step_within_the_day_stays_within_it(hour: int, minute: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the local date and of UTC's."""
    for zone in ("UTC", "CET-1", "IST-5:30", "PST8"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        now = 1_764_547_200.0 + hour * 3600 + minute * 60
        step = within_the_day(lambda now=now: now).total_seconds()  # type: ignore[misc]
        for of in (time.localtime, time.gmtime):
            assert of(now)[:3] == of(now + step)[:3]
        assert abs(step) > 60
    monkeypatch.undo()
    time.tzset()
