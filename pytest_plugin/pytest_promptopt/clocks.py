"""A clock that shows another time for a while, so that a prompt with the time in it gives itself away.

What is moved: `time.time` and its kin, and `datetime.datetime` and `datetime.date`, wherever a module holds them
under a name of its own. What is not: clocks of compiled libraries, functions that were kept elsewhere (as default
arguments, in objects), and `time.monotonic`, on which timeouts rest.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

_STEPS: Final = (timedelta(minutes=61, seconds=1), timedelta(minutes=11, seconds=1), timedelta(seconds=61))
_READ_SECONDS: Final = ("time", "time_ns")
_TAKE_SECONDS: Final = {"localtime": 0, "gmtime": 0, "ctime": 0}
"""Functions that take the time of now where they are given none, by the argument's place."""


def within_the_day(now: Callable[[], float] = time.time) -> timedelta:
    """A step forwards or backwards in which neither the local date nor that of UTC changes.

    A date in a prompt changes its prefix once a day, and not from request to request.
    """
    today = _dates(now())
    steps = (sign * step for step in _STEPS for sign in (1, -1))
    return next((step for step in steps if _dates(now() + step.total_seconds()) == today), _STEPS[-1])


def _dates(seconds: float) -> tuple[str, str]:
    return time.strftime("%F", time.localtime(seconds)), time.strftime("%F", time.gmtime(seconds))


@contextmanager
def moved(step: timedelta) -> Iterator[None]:
    """Let clocks be ahead by `step` (negative: behind)."""
    replacements = _replacements(step)
    done: list[tuple[dict[str, Any], str, Any, Any]] = []
    try:
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            if isinstance(names, dict) and module.__name__ != __name__:
                for name, value in list(names.items()):
                    new = replacements.get(id(value))
                    if new is not None:
                        done.append((names, name, value, new))
                        names[name] = new
        yield
    finally:
        for names, name, value, new in done:
            if names.get(name) is new:
                names[name] = value


def _replacements(step: timedelta) -> Mapping[int, Any]:
    """What stands in for each clock, by the identity of the real one."""
    seconds, nanoseconds = step.total_seconds(), step // timedelta(microseconds=1) * 1000
    kept = {name: getattr(time, name) for name in (*_READ_SECONDS, *_TAKE_SECONDS, "strftime", "asctime")}
    new: dict[str, Any] = {
        "time": lambda: kept["time"]() + seconds,
        "time_ns": lambda: kept["time_ns"]() + nanoseconds,
        "strftime": lambda form, *of: kept["strftime"](form, *(of or (kept["localtime"](new["time"]()),))),
        "asctime": lambda *of: kept["asctime"](*(of or (kept["localtime"](new["time"]()),))),
    }
    for name in _TAKE_SECONDS:
        new[name] = _taking(kept[name], new["time"])
    classes = {dt.datetime: _moved_datetime(step), dt.date: _moved_date(step)}
    return {id(kept[name]): new[name] for name in kept} | {id(real): double for real, double in classes.items()}


def _taking(function: Callable[[float], Any], now: Callable[[], float]) -> Callable[..., Any]:
    return lambda seconds=None: function(now() if seconds is None else seconds)


def _moved_datetime(step: timedelta) -> type:
    """`datetime` whose `now` is another."""
    real = dt.datetime

    def now(_: type, tz: dt.tzinfo | None = None) -> dt.datetime:
        return real.now() + step if tz is None else (real.now(dt.UTC) + step).astimezone(tz)

    def utcnow(_: type) -> dt.datetime:
        return (real.now(dt.UTC) + step).replace(tzinfo=None)

    return _double(real, now=now, utcnow=utcnow, today=now)


def _moved_date(step: timedelta) -> type:
    """`date` whose `today` is another."""
    now = dt.datetime.now
    return _double(dt.date, today=lambda _: (now() + step).date())


def _double(real: type, **class_methods: Callable[..., Any]) -> type:
    """A class that is taken for `real` in checks of type, and whose calls make real ones."""

    class Posing(type(real)):  # type: ignore[misc]  # `real` may itself be another library's double
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real)

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is real

        def __hash__(cls) -> int:
            return hash(real)

    made = {name: classmethod(function) for name, function in class_methods.items()}
    double: type = Posing(
        real.__name__, (real,), {"__new__": lambda _, *values, **named: real(*values, **named), **made}
    )
    return double
