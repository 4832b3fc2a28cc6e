"""The cache rules on prompts built by hand: every threshold and every entry under "Silent on"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from promptopt import (
    Block,
    CacheMarker,
    Call,
    Cause,
    Choice,
    Finding,
    History,
    Interpolation,
    Location,
    Message,
    Parameter,
    Prompt,
    Repeat,
    RuleContext,
    Severity,
    SourceFile,
    Span,
    Text,
    Tool,
    ToolList,
    Volatility,
)
from promptopt.prompt import Absent, Part
from promptopt.rule import AnyRule
from promptopt_rules.cache.unstable_order import UnstableOrder
from promptopt_rules.cache.unstable_tools import UnstableTools
from promptopt_rules.cache.volatile_cache_breakpoint import VolatileCacheBreakpoint
from promptopt_rules.cache.volatile_cache_key import VolatileCacheKey
from promptopt_rules.cache.volatile_prefix import VolatilePrefix

W, INFO = Severity.WARNING, Severity.INFO
CALL, REQUEST, SESSION, USER = Volatility.CALL, Volatility.REQUEST, Volatility.SESSION, Volatility.USER
DAY, PROCESS, DEPLOYMENT, UNKNOWN = Volatility.DAY, Volatility.PROCESS, Volatility.DEPLOYMENT, Volatility.UNKNOWN
SOURCE = SourceFile("app.py", "line\n" * 200)
MARK = CacheMarker("5m", Location("app.py", Span(900, 905)))
TURNS = History("parameter", expression="history")
LARGE = 1024


def at(offset: int, path: str = "app.py") -> Location:
    """A place of five characters."""
    return Location(path, Span(offset, offset + 5))


def text(tokens: int) -> Text:
    """Constant text of so many tokens, estimated or counted."""
    return Text(" abc" * tokens)


def value(
    level: Volatility,
    kind: str = "time-of-day",
    *,
    offset: int = 10,
    expression: str = "datetime.now()",
    by_name: bool = False,
    also: tuple[Cause, ...] = (),
) -> Interpolation:
    """An interpolation with one cause, or `also` further ones."""
    cause = Cause(kind, "the time of day", level, expression, (at(offset),), by_name=by_name)
    return Interpolation(expression, level, (cause, *also), at(offset))


def message(role: str, *parts: Part, certain: bool = True, marker: CacheMarker | None = None) -> Message:
    """A message of one block."""
    return Message(role, (Block(parts, marker),), at(0), certain)


def system(*parts: Part, marker: CacheMarker | None = None) -> Message:
    """A system message of one block."""
    return message("system", *parts, marker=marker)


QUESTION = message("user", value(REQUEST, "user-words", offset=800, expression="question"))


def call(provider: str | None = "openai", **params: Parameter) -> Call:
    """A request site."""
    return Call("openai", "chat", provider, at(700), "ask", params=params)


def prompt(*messages: Message | History, tools: ToolList | None = None, sent_by: Call | None = None) -> Prompt:
    """A prompt of these messages."""
    return Prompt("app.py::ask", sent_by or call(), at(0), tools, messages)


def found(rule: type[AnyRule], subject: object, **options: Any) -> list[Finding]:
    """What a rule says about a subject."""
    sources: Mapping[str, SourceFile] = {"app.py": SOURCE, "other.py": SourceFile("other.py", SOURCE.text)}
    return list(rule().check(subject, RuleContext(rule.Options(**options), sources)))


def levels(rule: type[AnyRule], subject: object, **options: Any) -> list[Severity]:
    """Severities of what a rule says about a subject."""
    return [one.severity for one in found(rule, subject, **options)]


class TestVolatilePrefix:
    """PO101."""

    @pytest.mark.parametrize(
        ("level", "behind", "expected"),
        [
            *[(level, 256, [W]) for level in (CALL, REQUEST, SESSION, USER)],
            *[(level, 255, [INFO]) for level in (CALL, REQUEST, SESSION, USER)],
            *[(level, 64, [INFO]) for level in (CALL, REQUEST, SESSION, USER)],
            *[(level, 63, []) for level in (REQUEST, SESSION, USER)],
            *[(CALL, 63, [INFO]), (CALL, 32, [INFO]), (CALL, 31, [])],
            *[(level, 256, [INFO]) for level in (DAY, PROCESS)],
            *[(level, 255, []) for level in (DAY, PROCESS)],
            *[(level, 2000, []) for level in (DEPLOYMENT, Volatility.CONSTANT, UNKNOWN)],
        ],
    )
    def test_what_follows_decides(self, level: Volatility, behind: int, expected: list[Severity]) -> None:
        """Constant tokens behind the value, in a prompt that is large enough to be cached."""
        assert levels(VolatilePrefix, prompt(system(text(LARGE), value(level), text(behind)), QUESTION)) == expected

    @pytest.mark.parametrize(("ahead", "expected"), [(LARGE - 300, W), (LARGE - 301, INFO)])
    def test_prompt_below_the_cacheable_minimum_is_info(self, ahead: int, expected: Severity) -> None:
        """1,024 constant tokens are the least that hosted providers cache."""
        subject = prompt(system(text(ahead), value(CALL), text(300)), QUESTION)
        assert levels(VolatilePrefix, subject) == [expected]

    @pytest.mark.parametrize(
        ("model", "tokens", "expected"),
        [
            ("claude-opus-5", 512, W),
            ("claude-opus-5", 511, INFO),
            ("gpt-5", 1024, W),
            ("gemini-2.5-pro", 2047, INFO),
            ("gemini-2.5-pro", 2048, W),
            ("anthropic/claude-haiku-4-5", 4095, INFO),
            ("anthropic:claude-haiku-4-5", 4096, W),
            ("gpt-3.5-turbo", 5000, INFO),
            ("house-model", 1024, W),
        ],
    )
    def test_minimum_of_the_model(self, model: str, tokens: int, expected: Severity) -> None:
        """Where it is known; a model that is not cached has none to reach."""
        sent_by = replace(call(), model=Parameter(model))
        subject = prompt(system(text(tokens - 300), value(CALL), text(300)), QUESTION, sent_by=sent_by)
        assert levels(VolatilePrefix, subject) == [expected]

    @pytest.mark.parametrize("provider", ["vllm", "sglang", "ollama"])
    def test_self_hosted_engines_cache_from_the_first_block(self, provider: str) -> None:
        """No minimum there."""
        subject = prompt(system(value(CALL), text(300)), QUESTION, sent_by=call(provider))
        assert levels(VolatilePrefix, subject) == [W]

    def test_unknown_provider_has_the_usual_minimum(self) -> None:
        """Nothing provider-specific is claimed."""
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(300)), QUESTION, sent_by=call(None))) == [INFO]

    @pytest.mark.parametrize("level", [UNKNOWN, DEPLOYMENT, Volatility.CONSTANT])
    def test_text_of_unknown_length_may_reach_the_minimum(self, level: Volatility) -> None:
        """Text that stays the same, of a length that is not known, is taken to be no longer than what is known."""
        unsized = Interpolation("handbook()", level)
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(512), unsized), QUESTION)) == [W]
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(511), unsized), QUESTION)) == [INFO]

    @pytest.mark.parametrize(
        ("expression", "expected"), [("notes[:2896]", W), ("notes[:2892]", INFO), ("notes[:n]", INFO), ("notes", INFO)]
    )
    def test_text_that_is_cut_counts_with_its_length(self, expression: str, expected: Severity) -> None:
        """300 tokens and 724 that are four characters each."""
        notes = Interpolation(expression, UNKNOWN)
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(300), notes), QUESTION)) == [expected]

    def test_unknown_text_in_the_newest_message_does_not_count(self) -> None:
        """It is not part of the prefix."""
        newest = message("user", Interpolation("notes()", UNKNOWN))
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(300)), newest)) == [INFO]

    @pytest.mark.parametrize(("complete", "expected"), [(False, W), (True, INFO)])
    def test_incomplete_tools_may_reach_the_minimum(self, complete: bool, expected: Severity) -> None:  # noqa: FBT001
        """Schemas that are not known may be long."""
        subject = prompt(system(value(CALL), text(300)), QUESTION, tools=ToolList((), complete, location=at(5)))
        assert levels(VolatilePrefix, subject) == [expected]

    @pytest.mark.parametrize(("tokens", "expected"), [(512, W), (511, INFO)])
    def test_tools_of_which_nothing_is_known(self, tokens: int, expected: Severity) -> None:
        """There may be none."""
        subject = prompt(system(value(CALL), text(tokens)), QUESTION, tools=ToolList((), complete=False))
        assert levels(VolatilePrefix, subject) == [expected]

    @pytest.mark.parametrize(
        ("level", "expected"),
        [
            *[(level, [W]) for level in (CALL, REQUEST)],
            (DAY, [INFO]),
            *[(level, []) for level in (SESSION, USER, PROCESS, DEPLOYMENT, UNKNOWN)],
        ],
    )
    def test_conversation_behind_the_value(self, level: Volatility, expected: list[Severity]) -> None:
        """What changes per turn un-caches all earlier turns; nobody else shares the conversation anyway."""
        assert levels(VolatilePrefix, prompt(system(text(5), value(level)), TURNS, QUESTION)) == expected

    def test_list_that_is_not_known_to_be_a_conversation(self) -> None:
        """It is not held against the value."""
        unclear = History("unknown", known=False)
        assert levels(VolatilePrefix, prompt(system(text(5), value(CALL)), unclear, QUESTION)) == []

    @pytest.mark.parametrize(("level", "expected"), [(CALL, W), (REQUEST, INFO)])
    def test_loop_of_an_agent_belongs_to_one_request(self, level: Volatility, expected: Severity) -> None:
        """What the user asked stays the same in it."""
        subject = prompt(system(text(5), value(level)), QUESTION, History("agent"))
        assert levels(VolatilePrefix, subject) == [expected]

    def test_newest_user_message_is_silent(self) -> None:
        """Whatever stands in it."""
        newest = message("user", value(CALL), text(2000))
        assert levels(VolatilePrefix, prompt(system(text(LARGE)), newest)) == []

    def test_text_in_the_newest_user_message_does_not_count(self) -> None:
        """Behind a value of the system prompt."""
        newest = message("user", text(2000))
        assert levels(VolatilePrefix, prompt(system(text(LARGE), value(CALL), text(31)), newest)) == []

    @pytest.mark.parametrize(("behind", "expected"), [(256, [W]), (255, [])])
    def test_lone_user_message_is_the_prompt(self, behind: int, expected: list[Severity]) -> None:
        """Without system text and with enough constant text behind the value."""
        assert levels(VolatilePrefix, prompt(message("user", text(LARGE), value(REQUEST), text(behind)))) == expected

    def test_lone_user_message_behind_a_system_message_without_constant_text(self) -> None:
        """A role that was generated is no system text."""
        role = system(Interpolation("role", UNKNOWN))
        assert levels(VolatilePrefix, prompt(role, message("user", value(REQUEST), text(LARGE)))) == [W]

    @pytest.mark.parametrize(
        ("ahead", "expected"),
        [
            ((text(5), Interpolation("score", UNKNOWN), text(5)), INFO),
            ((text(5), Interpolation("score", DEPLOYMENT), text(5)), W),
            ((Interpolation("role", UNKNOWN), text(5)), W),
        ],
    )
    def test_lone_user_message_with_an_unknown_value_ahead(self, ahead: tuple[Part, ...], expected: Severity) -> None:
        """It may change as well; what opens the message is taken for instructions."""
        subject = prompt(message("user", *ahead, value(REQUEST), text(LARGE)))
        assert levels(VolatilePrefix, subject) == [expected]

    def test_lone_user_message_with_an_unknown_value_behind(self) -> None:
        """That does not matter."""
        subject = prompt(message("user", value(REQUEST), text(LARGE), Interpolation("score", UNKNOWN), text(5)))
        assert levels(VolatilePrefix, subject) == [W]

    def test_lone_user_message_behind_a_conversation_is_silent(self) -> None:
        """It is new in every turn."""
        assert levels(VolatilePrefix, prompt(TURNS, message("user", value(REQUEST), text(LARGE)))) == []

    def test_behind_the_conversation_it_is_silent(self) -> None:
        """A reminder at the end."""
        subject = prompt(system(text(LARGE)), TURNS, system(value(CALL), text(500)), QUESTION)
        assert levels(VolatilePrefix, subject) == []

    def test_text_behind_the_conversation_does_not_count(self) -> None:
        """It is read again in every turn anyway."""
        subject = prompt(system(value(USER)), TURNS, system(text(2000)), QUESTION)
        assert levels(VolatilePrefix, subject) == []

    @pytest.mark.parametrize(("kind", "expected"), [("agent-state", [INFO]), ("user-identity", [])])
    def test_state_may_change_while_the_conversation_goes_on(self, kind: str, expected: list[Severity]) -> None:
        """A name does not."""
        state = value(SESSION, kind)
        assert levels(VolatilePrefix, prompt(system(text(5), state), TURNS, QUESTION)) == expected

    def test_run_whose_instructions_are_made_once(self) -> None:
        """Its own loop never sees them change."""
        assert levels(VolatilePrefix, prompt(system(text(5), value(CALL)), History("run"), QUESTION)) == []

    def test_volatile_end_of_the_system_prompt_is_silent(self) -> None:
        """In a single request."""
        assert levels(VolatilePrefix, prompt(system(text(LARGE), value(CALL)), QUESTION)) == []

    def test_message_that_is_sent_on_a_branch_only_does_not_count(self) -> None:
        """Its text is not certain to follow."""
        branch = message("assistant", text(2000), certain=False)
        assert levels(VolatilePrefix, prompt(system(value(CALL)), branch, QUESTION)) == []

    def test_other_alternatives_do_not_follow(self) -> None:
        """A value in one branch is not ahead of the text of another."""
        choice = Choice("debug", ((value(CALL), text(10)), (text(2000),)))
        assert levels(VolatilePrefix, prompt(system(choice), QUESTION)) == []

    def test_longest_alternative_follows(self) -> None:
        """Behind a value ahead of the choice."""
        choice = Choice("long", ((text(10),), (text(LARGE),)))
        assert levels(VolatilePrefix, prompt(system(value(CALL), choice), QUESTION)) == [W]

    def test_value_in_a_repeated_body(self) -> None:
        """What stands behind the repetition follows."""
        loop = Repeat("docs", "doc", (value(REQUEST), Text("\n")))
        assert levels(VolatilePrefix, prompt(system(loop, text(LARGE)), QUESTION)) == [W]

    @pytest.mark.parametrize(
        "kind", ["set-order", "directory-order", "random-order", "json-key-order", "object-address"]
    )
    def test_order_is_told_by_another_rule(self, kind: str) -> None:
        """Where nothing but the order changes."""
        assert levels(VolatilePrefix, prompt(system(value(CALL, kind), text(2000)), QUESTION)) == []

    def test_content_counts_beside_order(self) -> None:
        """A set of what the user said."""
        order = Cause("set-order", "the order of a set", PROCESS, "set(words)")
        subject = prompt(system(value(REQUEST, "user-words", also=(order,)), text(2000)), QUESTION)
        assert levels(VolatilePrefix, subject) == [W]

    @pytest.mark.parametrize("explicit", [Block((text(500),), MARK), Block((value(USER), text(500)), MARK)])
    def test_explicit_marker_takes_over(self, explicit: Block) -> None:
        """Up to a marker another rule speaks, behind the last one nothing is cached."""
        rest = Block((value(CALL), text(2000)))
        assert levels(VolatilePrefix, prompt(Message("system", (explicit, rest)), TURNS, QUESTION)) == []

    def test_automatic_marker_behind_an_explicit_one(self) -> None:
        """The provider also caches up to the end."""
        blocks = (Block((text(500),), MARK), Block((value(CALL), text(10))))
        sent_by = call("anthropic", auto_cache=Parameter(Absent.UNKNOWN))
        subject = prompt(Message("system", blocks), TURNS, QUESTION, sent_by=sent_by)
        assert levels(VolatilePrefix, subject) == [W]

    def test_marker_on_a_tool_takes_over(self) -> None:
        """Only tools are cached then."""
        tools = ToolList((Tool("search", (text(500),), MARK),))
        assert levels(VolatilePrefix, prompt(system(value(CALL), text(2000)), QUESTION, tools=tools)) == []

    def test_value_in_a_tool_definition(self) -> None:
        """Tools stand ahead of everything."""
        tools = ToolList((Tool("search", (Text("Search as of "), value(CALL))),))
        [finding] = found(VolatilePrefix, prompt(system(text(LARGE)), QUESTION, tools=tools))
        assert finding.severity is W
        assert "from the tool definitions" in finding.message

    def test_most_volatile_value_is_named(self) -> None:
        """A day ahead of a user's name ahead of a clock is not the story."""
        parts = (
            value(DAY, "date", offset=10, expression="date.today()"),
            value(USER, "user-identity", offset=30, expression="user.name"),
            value(CALL, offset=50),
            text(LARGE),
        )
        [finding] = found(VolatilePrefix, prompt(system(*parts), QUESTION))
        assert finding.location == at(50)
        assert [one.location for one in finding.related] == [at(700), at(10), at(30)]
        assert "from user to user" in finding.related[-1].message

    def test_value_that_costs_more_is_named_first(self) -> None:
        """A clock that little stands behind does not hide a name ahead of long rules."""
        parts = (value(USER, "user-identity", offset=30, expression="user.name"), text(LARGE), value(CALL), text(40))
        [finding] = found(VolatilePrefix, prompt(system(*parts), QUESTION))
        assert (finding.severity, finding.location) == (W, at(30))

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            ("a", "`a`, which changes as well."),
            ("abc", "`a`, `b` and `c`, which change as well."),
            ("abcd", "`a`, `b`, `c` and `d`, which change as well."),
            ("abcde", "`a`, `b`, `c` and 2 more values that change."),
            ("aa", "`a`, which changes as well."),
        ],
    )
    def test_what_else_must_move_is_named(self, names: str, words: str) -> None:
        """Where another value that changes stays ahead, moving one gains nothing."""
        others = [value(USER, "user-identity", offset=10 * n, expression=one) for n, one in enumerate(names)]
        [finding] = found(VolatilePrefix, prompt(system(*others, value(CALL, offset=90), text(LARGE)), QUESTION))
        assert finding.location == at(90)
        assert finding.message.endswith(f"behind the constant text, together with {words}")

    def test_value_ahead_of_which_nothing_is_known_is_pointed_at(self) -> None:
        """It may change as well; one behind the finding's place does not matter."""
        open_value = Interpolation("persona", UNKNOWN, (), at(40))
        parts = (open_value, value(CALL, offset=90), Interpolation("tone", UNKNOWN, (), at(120)), text(LARGE))
        [finding] = found(VolatilePrefix, prompt(system(*parts), QUESTION))
        assert [one.location for one in finding.related if "not resolved" in one.message] == [at(40)]
        assert "together" not in finding.message

    def test_message_tells_what_how_much_and_what_to_do(self) -> None:
        """As on the screens."""
        newest = message("user", text(52), value(REQUEST))
        [finding] = found(VolatilePrefix, prompt(system(text(4), value(CALL), text(1846)), newest))
        assert finding.message == (
            "datetime.now() changes on every call and stands ahead of about 1,846 of the prompt's 1,902 constant "
            "tokens: none of them can be cached. Move it to the end of the system prompt, behind the constant text."
        )
        assert [one.name for one in finding.remedies] == ["move-to-end-of-system"]

    def test_message_ahead_of_a_conversation(self) -> None:
        """The advice says that the text must stay where it was sent."""
        [finding] = found(VolatilePrefix, prompt(system(text(4), value(CALL)), TURNS, QUESTION))
        assert finding.message == (
            "datetime.now() changes on every call and stands ahead of the conversation: none of it can be cached. "
            "Move it to the end of the newest user message, and keep it there on later turns."
        )

    def test_message_for_a_day_names_the_trade_off(self) -> None:
        """A frozen date makes models believe that it is yesterday."""
        [finding] = found(VolatilePrefix, prompt(system(value(DAY, "date"), text(LARGE)), QUESTION))
        assert "once a day" in finding.message
        assert "end of the system prompt" in finding.message
        assert "goes stale" in finding.message

    @pytest.mark.parametrize("level", [REQUEST, DAY])
    def test_message_at_the_end_of_the_system_prompt(self, level: Volatility) -> None:
        """Nothing is gained by moving a value to where it stands."""
        [finding] = found(VolatilePrefix, prompt(system(text(LARGE), value(level), text(1)), TURNS, QUESTION))
        assert "stands ahead of the conversation:" in finding.message
        assert [one.name for one in finding.remedies] == ["move-to-last-user-message"]

    def test_message_for_a_guess_says_so(self) -> None:
        """A name is weaker evidence than a call."""
        guess = value(USER, "user-identity", expression="user_name", by_name=True)
        [finding] = found(VolatilePrefix, prompt(system(guess, text(LARGE)), QUESTION))
        assert finding.message.startswith("`user_name` (by its name the time of day) changes from user to user")

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("{now:%a %d}", "`now` changes"),
            ("{now!r}", "`now` changes"),
            ("{clock.now}", "clock.now changes"),
            ("stamp(\n    zone\n)", "stamp( zone ) changes"),
            ("x(" + "y" * 80 + ")", "x(" + "y" * 55 + "... changes"),
        ],
    )
    def test_message_shows_source_text_on_one_line(self, expression: str, expected: str) -> None:
        """Fields without their braces, long expressions cut."""
        [finding] = found(VolatilePrefix, prompt(system(value(CALL, expression=expression), text(LARGE)), QUESTION))
        assert finding.message.startswith(expected)

    def test_message_across_files_says_where_the_value_comes_from(self) -> None:
        """A template's variable alone tells little."""
        cause = Cause("time-of-day", "the time of day", CALL, "datetime.now()", (at(10, "other.py"), at(20)))
        clock = Interpolation("clock", CALL, (cause,), at(20))
        [finding] = found(VolatilePrefix, prompt(system(clock, text(LARGE)), QUESTION))
        assert finding.message.startswith("`clock`, which is datetime.now() at other.py:3, changes on every call")
        assert [one.location for one in finding.related] == [at(10, "other.py"), at(700)]

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [("seen", "`seen` (what was seen) changes"), ("while", "what was seen changes")],
    )
    def test_message_names_what_grows(self, expression: str, expected: str) -> None:
        """A loop without a variable has no name."""
        cause = Cause("loop-growth", "what was seen", REQUEST, "", (at(10),))
        growing = Interpolation(expression, REQUEST, (cause,), at(20))
        [finding] = found(VolatilePrefix, prompt(system(growing, text(LARGE)), QUESTION))
        assert finding.message.startswith(f"{expected} whenever it grows")

    def test_message_says_an_expression_once(self) -> None:
        """A value composed in another file under no name of its own."""
        cause = Cause("time-of-day", "the time of day", CALL, "datetime.now()", (at(10, "other.py"),))
        clock = Interpolation("datetime.now()", CALL, (cause,), at(20))
        [finding] = found(VolatilePrefix, prompt(system(clock, text(LARGE)), QUESTION))
        assert finding.message.startswith("datetime.now() at other.py:3 changes on every call")

    def test_thresholds_are_options(self) -> None:
        """In tokens."""
        subject = prompt(system(value(CALL), text(100)), QUESTION)
        assert levels(VolatilePrefix, subject, min_static_tokens=100, min_cacheable_tokens=100) == [W]
        assert levels(VolatilePrefix, subject, min_hint_tokens_per_call=101) == []
        named = prompt(system(value(USER), text(100)), QUESTION)
        assert levels(VolatilePrefix, named, min_hint_tokens=101) == []

    def test_configured_level_replaces_the_main_one_only(self) -> None:
        """Infos stay infos."""
        rule = VolatilePrefix(Severity.ERROR)
        context = RuleContext(VolatilePrefix.Options(), {"app.py": SOURCE})
        [loud] = rule.check(prompt(system(value(CALL), text(LARGE)), QUESTION), context)
        [mild] = rule.check(prompt(system(value(CALL), text(64)), QUESTION), context)
        assert (loud.severity, mild.severity) == (Severity.ERROR, INFO)

    def test_prompt_without_messages(self) -> None:
        """Nothing to say."""
        assert found(VolatilePrefix, prompt()) == []


class TestUnstableOrder:
    """PO102."""

    @pytest.mark.parametrize(
        ("kind", "level", "expected"),
        [
            *[(kind, PROCESS, W) for kind in ("set-order", "directory-order", "object-address")],
            *[("random-order", CALL, W), ("completion-order", CALL, INFO), ("json-key-order", PROCESS, INFO)],
        ],
    )
    def test_kinds(self, kind: str, level: Volatility, expected: Severity) -> None:
        """JSON of a mapping from outside and results as they come are milder."""
        assert levels(UnstableOrder, prompt(system(value(level, kind), text(LARGE)), QUESTION)) == [expected]

    @pytest.mark.parametrize(
        ("kind", "model", "tokens", "expected"),
        [
            ("set-order", None, LARGE, W),
            ("set-order", None, LARGE - 1, INFO),
            ("set-order", "claude-haiku-4-5", LARGE, INFO),
            ("set-order", "claude-haiku-4-5", 4 * LARGE, W),
            ("set-order", "gpt-4", 4 * LARGE, INFO),
            ("directory-order", None, 10, W),
        ],
    )
    def test_prompt_that_is_not_cached(self, kind: str, model: str | None, tokens: int, expected: Severity) -> None:
        """Its order loses nothing; what the files of a folder hold may be long."""
        sent_by = replace(call(), model=Parameter(model))
        subject = prompt(system(text(tokens), value(PROCESS, kind)), QUESTION, sent_by=sent_by)
        assert levels(UnstableOrder, subject) == [expected]

    def test_value_whose_elements_are_not_known(self) -> None:
        """The order is known to differ whatever they are."""
        order = Cause("set-order", "the order of a set", PROCESS, "set(names)")
        unknown = Interpolation("', '.join(set(names))", UNKNOWN, (order,), at(10))
        assert levels(UnstableOrder, prompt(system(unknown, text(LARGE)), QUESTION)) == [W]

    @pytest.mark.parametrize("level", [REQUEST, CALL])
    def test_value_that_says_something_else_anyway(self, level: Volatility) -> None:
        """Its order loses nothing."""
        order = Cause("set-order", "the order of a set", PROCESS, "set(words)")
        assert (
            levels(UnstableOrder, prompt(system(value(level, "user-words", also=(order,)), text(10)), QUESTION)) == []
        )

    def test_value_that_is_the_same_for_a_user(self) -> None:
        """Its order loses what is cached for that user."""
        order = Cause("set-order", "the order of a set", PROCESS, "set(roles)")
        subject = prompt(system(value(USER, "user-identity", also=(order,)), text(LARGE)), QUESTION)
        assert levels(UnstableOrder, subject) == [W]

    @pytest.mark.parametrize(("ahead", "expected"), [(CALL, INFO), (REQUEST, INFO), (SESSION, W), (UNKNOWN, W)])
    def test_behind_a_value_that_is_new_in_every_request(self, ahead: Volatility, expected: Severity) -> None:
        """The order matters once that has been moved."""
        subject = prompt(system(value(ahead), text(100), value(PROCESS, "set-order"), text(LARGE)), QUESTION)
        assert levels(UnstableOrder, subject) == [expected]

    @pytest.mark.parametrize("behind", [(), (text(1),)])
    def test_end_of_the_system_prompt(self, behind: tuple[Part, ...]) -> None:
        """Nothing needs to follow there."""
        [finding] = found(UnstableOrder, prompt(system(text(10), value(PROCESS, "set-order"), *behind), QUESTION))
        assert "cached up to it only" in finding.message

    def test_end_of_the_system_prompt_ahead_of_a_conversation(self) -> None:
        """The conversation is named."""
        [finding] = found(UnstableOrder, prompt(system(text(10), value(PROCESS, "set-order")), TURNS, QUESTION))
        assert "the conversation stands behind it" in finding.message

    @pytest.mark.parametrize(
        ("behind", "expected"), [((text(40),), [INFO]), ((text(LARGE),), [W]), ((text(1),), []), ((), [])]
    )
    def test_elsewhere_something_must_follow(self, behind: tuple[Part, ...], expected: list[Severity]) -> None:
        """The last part of a prompt un-caches nothing."""
        last = message("assistant", value(PROCESS, "set-order"), *behind)
        assert levels(UnstableOrder, prompt(last)) == expected

    def test_newest_user_message_is_silent(self) -> None:
        """It is new anyway."""
        newest = message("user", value(PROCESS, "set-order"), text(2000))
        assert levels(UnstableOrder, prompt(system(text(10)), newest)) == []

    @pytest.mark.parametrize(("behind", "expected"), [(256, [W]), (255, [])])
    def test_lone_user_message_is_the_prompt(self, behind: int, expected: list[Severity]) -> None:
        """As for volatile values."""
        subject = prompt(message("user", text(LARGE), value(PROCESS, "set-order"), text(behind)))
        assert levels(UnstableOrder, subject) == expected

    def test_behind_the_conversation_it_is_silent(self) -> None:
        """It is new anyway."""
        subject = prompt(system(text(10)), TURNS, system(value(PROCESS, "set-order"), text(10)), QUESTION)
        assert levels(UnstableOrder, subject) == []

    def test_explicit_marker(self) -> None:
        """Ahead of it the order matters, behind the last one it does not."""
        unordered, rest = value(PROCESS, "set-order"), text(LARGE)
        assert levels(UnstableOrder, prompt(system(unordered, rest, marker=MARK), QUESTION)) == [W]
        behind = Message("system", (Block((rest,), MARK), Block((unordered, rest))))
        assert levels(UnstableOrder, prompt(behind, QUESTION)) == []
        automatic = call("anthropic", auto_cache=Parameter(Absent.UNKNOWN))
        assert levels(UnstableOrder, prompt(behind, QUESTION, sent_by=automatic)) == [W]

    def test_one_finding_for_each_cause(self) -> None:
        """Two sets are two findings, one set in two places of the text is one."""
        first, again = value(PROCESS, "set-order", offset=10), value(PROCESS, "set-order", offset=10)
        second = value(PROCESS, "set-order", offset=40)
        assert len(found(UnstableOrder, prompt(system(first, again, second), QUESTION))) == 2

    @pytest.mark.parametrize("level", [CALL, USER, DAY, UNKNOWN])
    def test_other_causes_are_silent(self, level: Volatility) -> None:
        """They belong to another rule."""
        assert levels(UnstableOrder, prompt(system(value(level), text(2000)), QUESTION)) == []


class TestUnstableTools:
    """PO103."""

    TWO = (Tool("search"), Tool("refund"))

    @pytest.mark.parametrize(
        ("kind", "level", "expected"),
        [
            *[(kind, PROCESS, [W]) for kind in ("set-order", "directory-order")],
            *[("random-order", CALL, [W]), ("user-words", REQUEST, [W])],
            *[("user-identity", USER, []), ("session-id", SESSION, []), ("environment", DEPLOYMENT, [])],
            *[("host-name", PROCESS, []), ("unknown", UNKNOWN, [])],
        ],
    )
    def test_causes(self, kind: str, level: Volatility, expected: list[Severity]) -> None:
        """Order, and membership that changes per request."""
        cause = Cause(kind, kind, level, "names")
        assert levels(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO, cause=cause))) == expected

    def test_stable_tools_are_silent(self) -> None:
        """No cause, no finding."""
        assert levels(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO))) == []
        assert levels(UnstableTools, prompt(QUESTION)) == []

    def test_single_tool_is_silent(self) -> None:
        """One tool has no order; of an incomplete list more may be sent."""
        cause = Cause("set-order", "the order of a set", PROCESS, "names")
        assert levels(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO[:1], cause=cause))) == []
        assert levels(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO[:1], complete=False, cause=cause))) == [W]

    def test_finding_stands_at_the_list(self) -> None:
        """Or at the call where its place is not known."""
        cause = Cause("set-order", "the order of a set", PROCESS, "names", (at(5),))
        [finding] = found(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO, cause=cause, location=at(60))))
        assert finding.location == at(60)
        assert [one.location for one in finding.related] == [at(5), at(700)]
        [finding] = found(UnstableTools, prompt(QUESTION, tools=ToolList(self.TWO, cause=cause)))
        assert finding.location == at(700)


class TestVolatileCacheBreakpoint:
    """PO104."""

    @pytest.mark.parametrize(
        ("level", "expected"),
        [
            *[(level, [W]) for level in (CALL, REQUEST, SESSION, USER)],
            (DAY, [INFO]),
            *[(level, []) for level in (PROCESS, DEPLOYMENT, UNKNOWN)],
        ],
    )
    def test_marker_on_the_block(self, level: Volatility, expected: list[Severity]) -> None:
        """That also holds a value that changes."""
        subject = prompt(system(text(LARGE), value(level), marker=MARK), QUESTION)
        assert levels(VolatileCacheBreakpoint, subject) == expected

    def test_marker_behind_the_block(self) -> None:
        """The prefix up to the marker is never found again."""
        blocks = Message("system", (Block((value(CALL),)), Block((text(LARGE),), MARK)))
        [finding] = found(VolatileCacheBreakpoint, prompt(blocks, QUESTION))
        assert (finding.severity, finding.location) == (W, at(10))
        assert [one.location for one in finding.related] == [MARK.location, at(700)]
        assert "about 1,024 constant tokens" in finding.message

    @pytest.mark.parametrize(("tokens", "expected"), [(64, [W]), (63, [])])
    def test_least_text(self, tokens: int, expected: list[Severity]) -> None:
        """Too little to store is not told."""
        subject = prompt(system(text(tokens), value(CALL), marker=MARK), QUESTION)
        assert levels(VolatileCacheBreakpoint, subject, min_cacheable_tokens=0) == expected
        assert levels(VolatileCacheBreakpoint, subject, min_cacheable_tokens=0, min_static_tokens=1) == [W]

    @pytest.mark.parametrize(("tokens", "expected"), [(1024, W), (1023, INFO)])
    def test_prompt_below_the_cacheable_minimum_is_info(self, tokens: int, expected: Severity) -> None:
        """Providers ignore its marker."""
        assert levels(VolatileCacheBreakpoint, prompt(system(text(tokens), value(CALL), marker=MARK), QUESTION)) == [
            expected
        ]

    def test_text_of_unknown_length_may_be_long(self) -> None:
        """Rules from elsewhere."""
        subject = prompt(system(Interpolation("RULES", UNKNOWN), value(CALL), marker=MARK), QUESTION)
        assert levels(VolatileCacheBreakpoint, subject) == [W]

    def test_value_behind_the_marker(self) -> None:
        """As it should be."""
        blocks = Message("system", (Block((text(LARGE),), MARK), Block((value(CALL),))))
        assert levels(VolatileCacheBreakpoint, prompt(blocks, QUESTION)) == []

    def test_without_a_marker(self) -> None:
        """Another rule speaks."""
        assert levels(VolatileCacheBreakpoint, prompt(system(value(CALL), text(2000)), TURNS, QUESTION)) == []

    def test_marker_in_the_newest_user_message(self) -> None:
        """A moving marker: what it stores is found in the next turn."""
        newest = message("user", value(REQUEST), value(CALL, offset=90), marker=MARK)
        assert levels(VolatileCacheBreakpoint, prompt(system(text(LARGE)), TURNS, newest)) == []
        assert levels(VolatileCacheBreakpoint, prompt(system(text(LARGE)), newest)) == []

    def test_value_ahead_of_a_moving_marker(self) -> None:
        """Then the conversation is stored again in every turn."""
        newest = message("user", value(REQUEST), marker=MARK)
        assert levels(VolatileCacheBreakpoint, prompt(system(text(10), value(CALL, offset=30)), TURNS, newest)) == [W]

    def test_marker_on_a_lone_user_message_that_is_the_prompt(self) -> None:
        """It is written anew for every question."""
        assert levels(VolatileCacheBreakpoint, prompt(message("user", value(REQUEST), text(LARGE), marker=MARK))) == [W]
        assert levels(VolatileCacheBreakpoint, prompt(message("user", value(REQUEST), text(200), marker=MARK))) == []

    @pytest.mark.parametrize(("level", "expected"), [(CALL, [W]), (REQUEST, []), (SESSION, [])])
    def test_document_in_an_earlier_message(self, level: Volatility, expected: list[Severity]) -> None:
        """A conversation's own words are kept; a clock among them is not."""
        document = message("user", value(level), text(LARGE), marker=MARK)
        subject = prompt(system(text(LARGE)), document, message("assistant", text(5)), QUESTION)
        assert levels(VolatileCacheBreakpoint, subject) == expected

    @pytest.mark.parametrize(
        ("level", "later", "expected"),
        [
            *[(level, 200, []) for level in (USER, SESSION, DAY)],
            *[(level, 64, [W]) for level in (REQUEST, CALL)],
            *[(level, 63, []) for level in (REQUEST, CALL)],
        ],
    )
    def test_earlier_marker_ahead_of_the_value(self, level: Volatility, later: int, expected: list[Severity]) -> None:
        """A layer for each user is a good arrangement, one for each request stores in vain."""
        blocks = (Block((text(LARGE),), MARK), Block((value(level), text(later)), MARK))
        assert levels(VolatileCacheBreakpoint, prompt(Message("system", blocks), QUESTION)) == expected

    @pytest.mark.parametrize(("level", "expected"), [(USER, []), (REQUEST, [W]), (CALL, [W])])
    def test_earlier_marker_and_a_conversation(self, level: Volatility, expected: list[Severity]) -> None:
        """What changes per turn keeps the conversation from being found."""
        blocks = (Block((text(LARGE),), MARK), Block((value(level),)))
        newest = message("user", value(REQUEST, offset=300), marker=MARK)
        assert levels(VolatileCacheBreakpoint, prompt(Message("system", blocks), TURNS, newest)) == expected

    def test_marker_on_a_tool(self) -> None:
        """Tools stand ahead of the value."""
        tools = ToolList((Tool("search", (text(LARGE),), MARK),))
        assert levels(VolatileCacheBreakpoint, prompt(system(value(CALL), text(LARGE)), QUESTION, tools=tools)) == []

    def test_most_volatile_value_is_named(self) -> None:
        """The others are listed with it."""
        parts = (value(DAY, "date", offset=10), value(CALL, offset=50), text(LARGE))
        [finding] = found(VolatileCacheBreakpoint, prompt(system(*parts, marker=MARK), QUESTION))
        assert (finding.severity, finding.location) == (W, at(50))
        assert finding.related[-1].location == at(10)

    def test_order_is_told_by_another_rule(self) -> None:
        """A set in a marked block."""
        subject = prompt(system(value(CALL, "random-order"), text(LARGE), marker=MARK), QUESTION)
        assert levels(VolatileCacheBreakpoint, subject) == []


class TestVolatileCacheKey:
    """PO109."""

    @staticmethod
    def key(*causes: Cause) -> Call:
        """A call with a cache key that these make change."""
        return call(cache_key=Parameter(Absent.UNKNOWN, at(60), UNKNOWN, causes))

    @pytest.mark.parametrize(
        ("level", "expected"),
        [(CALL, [W]), *[(level, []) for level in (REQUEST, SESSION, USER, DAY, PROCESS, DEPLOYMENT)]],
    )
    def test_levels(self, level: Volatility, expected: list[Severity]) -> None:
        """Only what differs on every call."""
        assert levels(VolatileCacheKey, self.key(Cause("random-id", "a random id", level, "uuid4()"))) == expected

    def test_one_cause_among_others(self) -> None:
        """A user's id with a random end is random."""
        causes = (
            Cause("user-identity", "who the user is", USER, "user_id"),
            Cause("random-id", "a random id", CALL, "uuid4()"),
        )
        [finding] = found(VolatileCacheKey, self.key(*causes))
        assert finding.location == at(60)
        assert finding.message.startswith("uuid4() makes the cache key different on every call")

    def test_guess_from_a_name_is_silent(self) -> None:
        """`request_id` may be anything."""
        cause = Cause("random-id", "a random id", CALL, "request_id", by_name=True)
        assert found(VolatileCacheKey, self.key(cause)) == []

    @pytest.mark.parametrize(
        "subject", [call(), call(cache_key=Parameter("handbook")), call(cache_key=Parameter(Absent.UNKNOWN))]
    )
    def test_constant_missing_and_unresolved_keys_are_silent(self, subject: Call) -> None:
        """Nothing is known to change."""
        assert found(VolatileCacheKey, subject) == []


class TestGroups:
    """At most one finding for each cause and prompt: rules agree on the key of a cause."""

    def test_rules_share_the_key(self) -> None:
        """A shuffled list in a marked block, a clock in a marked block."""
        subject = prompt(system(value(CALL), text(2000)), QUESTION)
        marked = prompt(system(value(CALL), text(2000), marker=MARK), QUESTION)
        [one], [other] = found(VolatilePrefix, subject), found(VolatileCacheBreakpoint, marked)
        assert one.group == other.group == "time-of-day@app.py:10"

    def test_key_names_the_source(self) -> None:
        """The same clock put into two places is one cause."""
        cause = Cause("time-of-day", "the time of day", CALL, "datetime.now()", (at(10), at(40)))
        subject = prompt(system(Interpolation("stamp", CALL, (cause,), at(40)), text(2000)), QUESTION)
        assert found(VolatilePrefix, subject)[0].group == "time-of-day@app.py:10"
