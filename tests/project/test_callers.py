"""Who calls a function, and how sure that is."""

from __future__ import annotations

from typing import Any

import pytest

from promptopt.project.callers import Callers, Confidence


def confidences(sources: Any, function: str, main: str, **files: str) -> list[tuple[str, Confidence]]:
    """The calling scopes of a function of `main.py` and the confidence in each."""
    made = sources(main, **files)
    sites = Callers(made.ev).of(made.scope(function))
    return [(made.ev.scope(site.scope).name, site.confidence) for site in sites]


def test_a_plain_call_is_exact(sources: Any) -> None:
    """By name in the same module, through an import, and through the module."""
    main = "def ask(text): ...\ndef one(): ask('a')\n"
    other = "import main\nfrom main import ask\ndef two(): ask('b')\ndef three(): main.ask('c')\n"
    found = confidences(sources, "ask", main, other=other)
    assert sorted(found) == [(name, Confidence.EXACT) for name in ("one", "three", "two")]


def test_another_function_of_the_name_is_no_caller(sources: Any) -> None:
    """A module's own function hides one that is called the same elsewhere."""
    other = "def summarize_ticket(text): ...\ndef two(): summarize_ticket('b')\n"
    assert confidences(sources, "summarize_ticket", "def summarize_ticket(text): ...\n", other=other) == []


def test_a_method_of_a_known_object_is_exact(sources: Any) -> None:
    """The object's class is known where it is made."""
    main = "class Desk:\n    def answer(self, text): ...\ndef one():\n    desk = Desk()\n    desk.answer('a')\n"
    assert confidences(sources, "Desk.answer", main) == [("one", Confidence.EXACT)]


def test_a_call_of_the_base_reaches_an_override(sources: Any) -> None:
    """An annotation names the base class; the method is the subclass's."""
    main = (
        "class Desk:\n    def answer(self, text): return text\n"
        "class Loud(Desk):\n    def answer(self, text): ...\n"
        "def one(desk: Desk):\n    desk.answer('a')\n"
    )
    assert confidences(sources, "Loud.answer", main) == [("one", Confidence.HIERARCHY)]


def test_a_sibling_does_not_reach_an_override(sources: Any) -> None:
    """What another subclass calls on itself or on `super()` is its own or the base's method."""
    main = (
        "class Desk:\n    def answer(self, text): return text\n"
        "class Loud(Desk):\n    def answer(self, text): ...\n"
        "class Calm(Desk):\n    def above(self): super().answer('a')\n    def own(self): self.answer('b')\n"
        "def made(): Calm().answer('c')\n"
    )
    assert confidences(sources, "Loud.answer", main) == []
    found = confidences(sources, "Desk.answer", main)
    assert sorted(found) == [(name, Confidence.EXACT) for name in ("Calm.above", "Calm.own", "made")]


def test_what_the_base_calls_on_itself_reaches_an_override(sources: Any) -> None:
    """Its objects may be of any subclass."""
    main = (
        "class Desk:\n    def answer(self, text): return text\n    def serve(self): self.answer('a')\n"
        "class Loud(Desk):\n    def answer(self, text): ...\n"
    )
    assert confidences(sources, "Loud.answer", main) == [("Desk.serve", Confidence.HIERARCHY)]


def test_an_unusual_name_of_two_classes_is_a_guess(sources: Any) -> None:
    """Where one hierarchy has the name it is that one; where several have it, only the name speaks for it."""
    desk = "class Desk:\n    def answer_ticket(self, text): ...\n"
    call = "def one(desk):\n    desk.answer_ticket('a')\n"
    rival = "class Shop:\n    def answer_ticket(self, text): ...\n"
    assert confidences(sources, "Desk.answer_ticket", desk + call) == [("one", Confidence.HIERARCHY)]
    assert confidences(sources, "Desk.answer_ticket", desk + rival + call) == [("one", Confidence.NAME)]


def test_a_guess_must_fit_the_parameters(sources: Any) -> None:
    """A call by name alone with other arguments is somebody else's."""
    classes = "".join(f"class {name}:\n    def answer_ticket(self, text): ...\n" for name in ("Desk", "Shop"))
    assert confidences(sources, "Desk.answer_ticket", classes + "def one(d):\n    d.answer_ticket(1, 2)\n") == []


def test_common_names_are_not_guessed(sources: Any) -> None:
    """`run` on an object of unknown type may be anybody's."""
    main = "class Desk:\n    def run(self, text): ...\ndef one(desk):\n    desk.run('a')\n"
    assert confidences(sources, "Desk.run", main) == []


def test_constructors_are_called_by_their_class(sources: Any) -> None:
    """Making an object, of a subclass too, calls the constructor it has."""
    classes = "class Desk:\n    def __init__(self, text): ...\nclass Loud(Desk): ...\n"
    found = confidences(sources, "Desk.__init__", f"{classes}def one(): Desk('a')\ndef two(): Loud('b')\n")
    assert sorted(found) == [("one", Confidence.EXACT), ("two", Confidence.EXACT)]


def test_functions_handed_on_are_called_with_the_rest(sources: Any) -> None:
    """`partial(ask, "a")` and `submit(ask, "a")` pass what follows the function."""
    calls = "    partial(ask, 'a')\n    pool.submit(ask, 'b')\n"
    made = sources(f"from functools import partial\ndef ask(text): ...\ndef one(pool):\n{calls}")
    callers = Callers(made.ev)
    sites = callers.of(made.scope("ask"))
    given = [callers.arguments(site, made.ev.open_frame(site.scope)).positional for site in sites]
    assert [site.shift for site in sites] == [1, 1]
    assert [len(one) for one in given] == [1, 1]


def test_tests_come_last(sources: Any) -> None:
    """What a project's tests pass matters less than what the project does."""
    files = {"test_a": "from main import ask\ndef a(): ask('t')\n", "z": "from main import ask\ndef z(): ask('u')\n"}
    found = confidences(sources, "ask", "def ask(text): ...\n", **files)
    assert [name for name, _ in found] == ["z", "a"]


def test_subclasses_go_by_the_name_that_their_base_was_imported_under(sources: Any) -> None:
    """Renamed, subscripted, through a module, and at any depth; another class of the name has none of them."""
    main = "class Desk: ...\nclass Loud(Desk): ...\n"
    other = (
        "import main\nfrom main import Desk as Table\n"
        "class Near(Table): ...\nclass Far(Near): ...\nclass Typed(main.Desk[int]): ...\nclass Own: ...\n"
    )
    third = "class Desk: ...\nclass Third(Desk): ...\n"
    made = sources(main, other=other, third=third)
    found = made.ev.world.subclasses(made.scope("Desk"), made.ev)
    assert [made.ev.scope(one).name for one in found] == ["Loud", "Near", "Far", "Typed"]


def test_the_search_for_callers_ends(sources: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not been looked at when the steps are spent is no caller, and that is counted."""
    monkeypatch.setattr("promptopt.project.callers.FIND_STEPS", 20)
    calls = "".join(f"def ask{n}(desk):\n    desk.inner.answer_ticket('a')\n" for n in range(50))
    made = sources("class Desk:\n    def answer_ticket(self, text): ...\n" + calls)
    found = Callers(made.ev).of(made.scope("Desk.answer_ticket"))
    assert 0 < len(found) < 32
    assert made.ev.bounds_hit == 1
