"""The size family on prompts made by hand: what is counted, and when nothing is loaded to count it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from promptopt.finding import Finding, Severity
from promptopt.prompt import Block, CacheMarker, Call, History, Message, Parameter, Prompt, Segment, Text, ToolList
from promptopt.rule import NoOptions, RuleContext
from promptopt.source import Location, Span
from promptopt.tokens import Size, measure
from promptopt_rules.cache.prefix_below_minimum import PrefixBelowMinimum
from promptopt_rules.size.oversized_system_prompt import OversizedSystemPrompt
from promptopt_rules.size.places import largest, place_in

PLACE = Location("app.py", Span(0, 10))


def call(model: str | None = "gpt-5") -> Call:
    """A request to that model."""
    return Call("openai", "chat", "openai", PLACE, "ask", Parameter(model) if model else None)


def prompt(*messages: Message) -> Prompt:
    """A request with these messages."""
    return Prompt("app.py::ask", call(), PLACE, None, messages)


def found(subject: Prompt, **options: int) -> list[Finding]:
    """What the rule says of a prompt."""
    context = RuleContext(OversizedSystemPrompt.Options(**options), {})
    return list(OversizedSystemPrompt().check(subject, context))


def system(text: str, *, certain: bool = True, marker: CacheMarker | None = None) -> Message:
    """A system message of constant text."""
    return Message("system", (Block((Text(text),), marker),), PLACE, certain)


def test_the_limit_itself_is_allowed() -> None:
    """One token more is told, with both figures."""
    assert found(prompt(system(" a" * 2000))) == []
    (finding,) = found(prompt(system(" a" * 2001)))
    assert "has 2,001 tokens of constant text, more than 2,000" in finding.message
    assert finding.severity is Severity.WARNING


def test_messages_add_up_and_uncertain_ones_do_not() -> None:
    """Only what every request sends counts."""
    half = " a" * 1500
    assert len(found(prompt(system(half), system(half)))) == 1
    assert found(prompt(system(half), system(half, certain=False))) == []
    assert found(prompt(Message("user", (Block((Text(half * 2),)),)))) == []
    assert len(found(prompt(system(half)), max_tokens=1000)) == 1


@pytest.mark.parametrize(
    ("value", "start"), [(" a" * 2001, 501), ("\n\n" + "a " * 2001, 502), ("a " * 2001, 500), (" \n" * 5000, 500)]
)
def test_the_place_is_where_the_text_begins(value: str, start: int) -> None:
    """The line end that follows a value belongs to the line before."""
    text = Text(value, (Segment(0, len(value), Location("app.py", Span(500, 500 + len(value)))),))
    (finding,) = found(prompt(Message("system", (Block((text,)),), PLACE)), max_tokens=10)
    assert finding.location == Location("app.py", Span(start, 500 + len(value)))


def test_the_place_of_a_text_that_is_computed() -> None:
    """Its characters do not correspond to the source's."""
    text = Text("\n" * 5000, (Segment(0, 5000, PLACE),))
    (finding,) = found(prompt(Message("system", (Block((text,)),), PLACE)), max_tokens=10)
    assert finding.location == PLACE


def test_behind_a_marker_it_is_a_hint() -> None:
    """It is read once per lifetime of the cache."""
    (finding,) = found(prompt(system(" a" * 3000, marker=CacheMarker())))
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    ("model", "exact"), [("gpt-5", True), ("claude-opus-5", False), ("house-model", False), (None, False)]
)
def test_figures_are_exact_where_the_tokenizer_is_known(model: str | None, exact: bool) -> None:  # noqa: FBT001 (a case)
    """Anything else is said to be about that."""
    assert measure(["hello world"], call(model)) == Size(2, exact)
    assert str(Size(2345, exact)) == ("2,345" if exact else "about 2,345")


def test_short_texts_load_no_tokenizer() -> None:
    """Their bytes decide."""
    code = (
        "import sys; from promptopt.tokens import reaches; "
        "assert not reaches(['short'] * 9, 2000, None); "
        "print('tiktoken' in sys.modules or 'splintr' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def marked(text: str, model: str | None) -> Prompt:
    """A request to a model with an explicit marker behind a system text."""
    return replace(prompt(system(text, marker=CacheMarker())), call=call(model))


@pytest.mark.parametrize(
    ("words", "model", "reported"),
    [
        (20, "claude-haiku-4-5", True),
        (900, "claude-sonnet-4-5", False),
        (3000, "claude-haiku-4-5", False),
        (20, "house-model", False),
        (20, None, False),
    ],
)
def test_a_marker_below_the_minimum(words: int, model: str | None, reported: bool) -> None:  # noqa: FBT001 (a case)
    """Told where the model is known and the text far too short, an estimate leaving room."""
    context = RuleContext(NoOptions(), {})
    assert bool(list(PrefixBelowMinimum().check(marked(" a" * words, model), context))) is reported


def test_a_prefix_of_unknown_length_is_left_alone() -> None:
    """A conversation or a value ahead of the marker may be as long as it likes."""
    short = marked(" a" * 20, "claude-haiku-4-5")
    context = RuleContext(NoOptions(), {})
    grown = replace(short, messages=(History("parameter"), *short.messages))
    assert list(PrefixBelowMinimum().check(grown, context)) == []
    assert list(PrefixBelowMinimum().check(replace(short, tools=ToolList()), context)) == []


def test_the_place_of_part_of_a_text() -> None:
    """Exact where characters correspond, the whole piece where they do not, unknown elsewhere."""
    exact = Segment(0, 5, Location("app.py", Span(10, 15)))
    escaped = Segment(5, 5, Location("app.py", Span(20, 26)))
    text = Text("0123456789abc", (exact, escaped))
    assert place_in(text, 1, 3) == Location("app.py", Span(11, 13))
    assert place_in(text, 3, 9) == Location("app.py", Span(13, 15))
    assert place_in(text, 6, 7) == escaped.location
    assert place_in(text, 11, 12) is None


def test_a_text_with_values_begins_at_its_first_piece() -> None:
    """Pieces between which a value stands belong together; a longer text elsewhere comes first."""
    head = Text("  You are", (Segment(0, 9, Location("app.py", Span(10, 19))),))
    rest = Text("a clerk. " * 9, (Segment(0, 81, Location("app.py", Span(40, 121))),))
    apart = Text("Rules. " * 5, (Segment(0, 35, Location("app.py", Span(900, 935))),))
    assert largest([apart, rest, head]) == Location("app.py", Span(12, 19))
    assert largest([head, apart]) == apart.map[0].location
    assert largest([Text("unmapped")]) is None
