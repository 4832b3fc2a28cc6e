"""Symbol patterns: which dotted names they fit."""

from __future__ import annotations

import pytest

from promptopt.symbols import Symbol, index_symbols, parse_symbol


@pytest.mark.parametrize(
    ("pattern", "dotted", "fits"),
    [
        ("datetime:datetime.now", "datetime.datetime.now", True),
        ("datetime:datetime.now", "datetime.now", False),
        ("datetime:datetime.now", "freezegun.datetime.now", False),
        ("django:timezone.now", "django.utils.timezone.now", True),
        ("django:timezone.now", "django.utils.datezone.now", False),
        ("langchain*:AgentState", "langchain_core.AgentState", True),
        ("langchain*:AgentState", "langchain.agents.AgentState", True),
        ("langchain*:AgentState", "lang.AgentState", False),
        ("*:stamp", "anything.stamp", True),
        ("*:app.clock.stamp", "src.app.clock.stamp", True),
        ("random:choice", "random.Random.choice", True),
        ("random:choice", "random.choices", False),
        ("secrets:*", "secrets.token_hex", True),
        ("secrets:*", "secrets", False),
        ("secrets:*", "other.token_hex", False),
        ("builtins:input", "builtins.input", True),
        ("builtins:input", "input", False),
        ("builtins:input", "", False),
    ],
)
def test_a_pattern_fits_names_that_end_in_it(pattern: str, dotted: str, *, fits: bool) -> None:
    """The root is the first component, the suffix the last ones, and nothing is in both."""
    assert (index_symbols([(pattern, "yes")]).find(dotted) == "yes") is fits


@pytest.mark.parametrize(("positional", "fits"), [(None, True), (0, True), (1, True), (2, False)])
def test_an_argument_count_is_a_limit(positional: int | None, *, fits: bool) -> None:
    """`/1` takes at most one positional argument; an unknown number is taken for a fitting one."""
    found = index_symbols([("time:strftime/1", "yes")]).find("time.strftime", positional)
    assert (found == "yes") is fits


def test_the_longest_suffix_is_the_answer() -> None:
    """A more precise pattern wins over a shorter one, wherever it stands."""
    index = index_symbols([("pkg:now", "short"), ("pkg:clock.now", "long"), ("pkg:*", "any")])
    assert index.find("pkg.clock.now") == "long"
    assert index.find("pkg.other.now") == "short"
    assert index.find("pkg.other.then") == "any"


def test_the_beginning_of_a_name_can_be_asked_for() -> None:
    """`os.environ.get` begins with `os.environ`; the longest beginning counts."""
    index = index_symbols([("os:environ", "environment"), ("os:environ.raw", "raw")])
    assert index.find_prefix("os.environ.get") == "environment"
    assert index.find_prefix("os.environ.raw.get") == "raw"
    assert index.find_prefix("os.environment") is None
    assert index.find_prefix("os") is None


def test_of_two_indexes_the_first_comes_first() -> None:
    """Merging keeps everything and prefers the left side."""
    merged = index_symbols([("a:x", 1)]).merged(index_symbols([("a:x", 2), ("a:y", 3)]))
    assert (merged.find("a.x"), merged.find("a.y")) == (1, 3)


def test_patterns_are_parsed() -> None:
    """Root, suffix and the greatest number of positional arguments."""
    assert parse_symbol("time:ctime/0") == Symbol("time", ("ctime",), 0)
    assert parse_symbol("langchain*:a.B") == Symbol("langchain*", ("a", "B"), None)


@pytest.mark.parametrize("pattern", ["", "time", "time:", ":ctime", "time:ctime/", "time:ctime/x", "a.b:c", "a:b.*.c"])
def test_anything_else_is_refused(pattern: str) -> None:
    """The message shows the form that is expected."""
    with pytest.raises(ValueError, match=r"is not a symbol such as datetime:datetime\.now"):
        parse_symbol(pattern)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("openai:Client", "openai:Client", True),
        ("langchain*:Chat", "langchain_openai:Chat", True),
        ("langchain_openai:Chat", "langchain*:Chat", True),
        ("*:Chat", "openai:Chat", True),
        ("openai:Client", "anthropic:Client", False),
        ("openai:types.Client", "openai:Client", False),
    ],
)
def test_patterns_overlap_where_one_name_may_fit_both(one: str, other: str, *, expected: bool) -> None:
    """Of suffixes that differ in length the longer one decides, so those do not overlap."""
    assert parse_symbol(one).overlaps(parse_symbol(other)) is expected
