"""Date formats: what is left of a moment after it has been formatted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptopt.sources import load_sources
from promptopt.sources.directives import Resolution, strftime_resolution, token_resolution

PORTABLE: Final = "aAbBcdfGHIjmMpSuUVwWxXyYzZ%"
"""Directives that Python documents, in any order."""

literal: Final = st.text(st.characters(codec="ascii", exclude_characters="%\0", exclude_categories=["Cc"]), max_size=6)
directives: Final = st.lists(st.one_of(literal, st.sampled_from(PORTABLE).map("%{}".format))).map("".join)
moments: Final = st.datetimes(
    min_value=datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis takes naive bounds
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001 - as above
    timezones=st.just(UTC),
)


@given(directives, moments, moments)
def test_text_of_a_day_is_the_same_at_every_time_of_that_day(fmt: str, one: datetime, other: datetime) -> None:
    """A format called `date` never tells two times of one day apart."""
    same_day = datetime.combine(one.date(), other.timetz())
    if strftime_resolution(fmt) is not Resolution.TIME:
        assert one.strftime(fmt) == same_day.strftime(fmt)


@given(directives, moments, st.integers(1, 28))
def test_text_of_a_month_is_the_same_on_every_day_of_it(fmt: str, one: datetime, day: int) -> None:
    """A format called `month` never tells two days of one month apart."""
    if strftime_resolution(fmt) is Resolution.MONTH:
        assert one.strftime(fmt) == one.replace(day=day, hour=5).strftime(fmt)


@given(directives, moments, moments)
def test_text_without_directives_is_constant(fmt: str, one: datetime, other: datetime) -> None:
    """A format called constant never tells two moments apart."""
    if strftime_resolution(fmt) is Resolution.NOTHING:
        assert one.strftime(fmt) == other.strftime(fmt)


@given(directives)
def test_a_time_directive_can_be_seen_in_the_text(fmt: str) -> None:
    """A format called `time-of-day` tells some two times of one day apart: the claim is never idle."""
    morning = datetime(2026, 11, 30, 1, 2, 3, 4, tzinfo=UTC)
    evening = datetime(2026, 11, 30, 23, 45, 56, 789, tzinfo=UTC)
    if strftime_resolution(fmt) is Resolution.TIME:
        assert morning.strftime(fmt) != evening.strftime(fmt)


@given(st.text())
def test_any_text_has_a_resolution(fmt: str) -> None:
    """Whatever stands where a format is expected, reading it ends without an error."""
    assert strftime_resolution(fmt) in Resolution
    assert token_resolution(fmt) in Resolution


@pytest.mark.parametrize(
    ("fmt", "kind"),
    [
        ("%Y-%m-%d %H:%M:%S", "time-of-day"),
        ("%A, %B %d, %Y %I:%M %p", "time-of-day"),
        ("%f", "time-of-day"),
        ("%c", "time-of-day"),
        ("%s", "time-of-day"),
        ("%R", "time-of-day"),
        ("%-I %p", "time-of-day"),
        ("%_H", "time-of-day"),
        ("%Ec", "time-of-day"),
        ("%Y-%m-%d", "date"),
        ("%A, %B %d, %Y", "date"),
        ("%a %b %-d, %Y", "date"),
        ("%Y-%m-%d 00:00:00", "date"),
        ("%d %b %Y", "date"),
        ("%G-W%V-%u", "date"),
        ("%Ey", "month"),
        ("%B %Y", "month"),
        ("%B %d", "date"),
        ("%Y %Z", "date"),
        ("%#d", "date"),
        ("", ""),
        ("at noon", ""),
        ("100%% sure", ""),
        ("%%H", ""),
        ("100%", ""),
        ("%n%t", ""),
    ],
)
def test_strftime_directives_decide(fmt: str, kind: str) -> None:
    """`strftime` with these directives leaves a value of this kind; `%%H` is the text `%H`."""
    assert load_sources().formatted("time-of-day", fmt) == kind


@pytest.mark.parametrize(
    ("fmt", "kind"),
    [
        ("YYYY-MM-DD", "date"),
        ("dddd, MMMM Do, YYYY", "date"),
        ("LL", "date"),
        ("YYYY-MM-DD HH:mm", "time-of-day"),
        ("h A", "time-of-day"),
        ("LLLL", "time-of-day"),
        ("LT", "time-of-day"),
        ("X", "time-of-day"),
        ("YYYY [at home]", "month"),
        ("D MMMM", "date"),
        ("[Hello]", ""),
        ("%Y-%m-%d", "date"),
        ("%H", "time-of-day"),
    ],
)
@pytest.mark.parametrize("member", ["format", "__format__"])
def test_moment_tokens_decide(fmt: str, kind: str, member: str) -> None:
    """`format` reads Moment tokens where there is no strftime directive; brackets hold literal text."""
    assert load_sources().formatted("time-of-day", fmt, member) == kind


def test_strftime_reads_no_tokens() -> None:
    """`strftime("YYYY")` prints the letters, whatever the day."""
    assert load_sources().formatted("time-of-day", "YYYY-MM-DD HH:mm", "strftime") == ""


@pytest.mark.parametrize(
    ("fmt", "kind"),
    [("YYYY-MM-DD", "date"), ("DD MMM, HH:mm", "time-of-day"), ("%H", "time-of-day"), ("at home, day by day", "")],
)
def test_without_a_method_only_doubled_letters_are_tokens(fmt: str, kind: str) -> None:
    """Where it is not known what formats, words are words."""
    assert load_sources().formatted("time-of-day", fmt) == kind


def test_an_empty_format_specification_changes_nothing() -> None:
    """`f"{now}"` and `format(now, "")` print the whole moment."""
    assert load_sources().formatted("time-of-day", "", "__format__") == "time-of-day"


def test_a_date_has_no_time_to_print() -> None:
    """Formatting a date leaves a date, or nothing that changes."""
    sources = load_sources()
    assert sources.formatted("date", "%d %b %Y") == "date"
    assert sources.formatted("date", "no directive") == ""


def test_kinds_without_formats_stay_as_they_are() -> None:
    """A format means nothing to a value that is no date."""
    sources = load_sources()
    assert sources.formatted("random-id", "%Y") == "random-id"
    assert not sources.takes_format("random-id", "strftime")
    assert sources.takes_format("time-of-day", "strftime")
    assert sources.takes_format("date", "__format__")
    assert not sources.takes_format("time-of-day", "isoformat")


def test_the_members_called_date_are_the_same_all_day() -> None:
    """The members that narrow a moment to its date do so in `datetime` itself."""
    morning = datetime(2026, 11, 30, 1, 2, 3, 4, tzinfo=UTC)
    evening = morning.replace(hour=23, minute=59)
    checked = 0
    for member in set(dir(datetime)) - {"min", "max", "resolution", "now", "utcnow", "today"}:
        value = getattr(morning, member)
        narrowed = load_sources().narrow("time-of-day", member) == "date"
        if not narrowed:
            continue
        checked += 1
        other = getattr(evening, member)
        assert (value() if callable(value) else value) == (other() if callable(other) else other), member
    assert checked >= len({"date", "day", "weekday", "isoweekday", "isocalendar", "toordinal"})
