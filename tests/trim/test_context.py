"""ContextTrimmer: what it keeps, and what it never does."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from promptopt import ContextTrimmer, TrimError, count_tokens
from promptopt.trim import Fate, Trimmed
from promptopt.trim.blocks import indivisible

PASSAGES = [
    {"title": "Oslo", "text": "Oslo is the capital of Norway. Its opera house opened in 2008. Trams run there."},
    {"title": "Bergen", "text": "Bergen is a city on the west coast. It rains often. The funicular opened in 1918."},
    {
        "title": "Tarald Lundevall",
        "text": "Tarald Lundevall is an architect. He led the work on the opera house in Oslo.",
    },
]
QUESTION = "When did the opera house in Oslo open?"


def characters(text: str) -> int:
    """A counter for which each character is a token."""
    return len(text)


def trimmer(budget: int, **options: Any) -> ContextTrimmer:
    """A trimmer that counts characters."""
    return ContextTrimmer(budget, count=characters, **options)


def kept_texts(trimmed: Trimmed[Any]) -> list[str]:
    """The kept parts."""
    return [PASSAGES[part.passage]["text"][part.start : part.end].strip() for part in trimmed.kept]


def test_keeps_what_answers() -> None:
    """The sentence with the answer comes first, with its title."""
    trimmed = trimmer(45).trim(QUESTION, PASSAGES)
    assert trimmed.text == "Oslo\nIts opera house opened in 2008."
    assert trimmed.tokens == len(trimmed.text)
    assert trimmed.passages == [{"title": "Oslo", "text": "Its opera house opened in 2008."}]
    assert [part.reason for part in trimmed.dropped] == [Fate.OVER_BUDGET] * 7


def test_all_that_fits_stays_as_it_was() -> None:
    """With room for everything the passages come back whole, in their order."""
    trimmed = trimmer(1000).trim(QUESTION, PASSAGES)
    assert trimmed.passages == PASSAGES
    assert not trimmed.dropped
    assert trimmed.text == "\n\n".join(f"{passage['title']}\n{passage['text']}" for passage in PASSAGES)


def test_whole_passages() -> None:
    """`unit="passage"` keeps or drops passages whole."""
    trimmed = trimmer(110, unit="passage").trim(QUESTION, PASSAGES)
    assert trimmed.passages == [PASSAGES[0]]


@pytest.mark.parametrize(
    ("order", "titles"),
    [
        ("original", ["Oslo", "Bergen", "Tarald Lundevall"]),
        ("relevance", ["Bergen", "Oslo", "Tarald Lundevall"]),
        ("edges", ["Bergen", "Tarald Lundevall", "Oslo"]),
    ],
)
def test_order_of_passages(order: Any, titles: list[str]) -> None:
    """Passages stand as they were given, best first, or best at both ends."""
    trimmed = trimmer(1000, order=order).trim("Where does the funicular of Bergen leave?", PASSAGES)
    assert [passage["title"] for passage in trimmed.passages] == titles


def test_default_counter_is_exact() -> None:
    """Without a counter tokens are those of the default encoding, which making a trimmer does not load."""
    trimmed = ContextTrimmer(25).trim(QUESTION, PASSAGES)
    assert 0 < trimmed.tokens == count_tokens(trimmed.text) <= 25
    code = "import sys, promptopt; promptopt.ContextTrimmer(9), promptopt.HistoryTrimmer(9); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"tiktoken", "splintr", "numpy"} & set(loaded)


def test_second_hop() -> None:
    """A passage that the best sentence names is taken ahead of one that shares as little with the question."""
    passages = [
        {"title": "Dune", "text": "The film Dune was directed by Denis Villeneuve."},
        {"title": "Ridley Scott", "text": "He was born in South Shields in 1937."},
        {"title": "Denis Villeneuve", "text": "He was born in Gentilly in 1967."},
    ]
    trimmed = trimmer(120).trim("Where does the man who made the film Dune come from?", passages)
    assert [passage["title"] for passage in trimmed.passages] == ["Dune", "Denis Villeneuve"]


def test_one_passage_answers_where_none_has_a_title() -> None:
    """Without titles the best passage is filled up first, not the first sentences of all of them."""
    answer = "The refund of a ticket is paid to the card. It takes five working days. Banks may add two."
    others = [
        "A ticket is valid on the day of travel. Keep it until the end.",
        "Trains are paid for by the state. They are green.",
        "The card of the month shows a bridge. It is old.",
        "Bought bread is fresh. It smells.",
    ]
    question = "How is a refund of a ticket bought by card paid?"
    assert trimmer(100).trim(question, [*others, answer]).passages == [answer]
    titled = [{"title": f"Page {number}", "text": text} for number, text in enumerate([*others, answer])]
    assert len(trimmer(110).trim(question, titled).passages) > 1


def test_what_is_said_twice_is_kept_once() -> None:
    """A second copy of a sentence is dropped, and the reason is told."""
    said = "The refund takes five working days after the parcel has come back to us."
    trimmed = trimmer(1000).trim("How long does a refund take?", [said, said])
    assert trimmed.passages == [said]
    assert [part.reason for part in trimmed.dropped] == [Fate.DUPLICATE]


def test_table_rows_keep_their_header_and_list_items_their_opening() -> None:
    """What cannot stand alone brings what it needs."""
    table = "| plan | price |\n|---|---|\n| basic | 3 |\n| gold | 9 |\n| silver | 6 |"
    trimmed = trimmer(45).trim("price of the gold plan", [table])
    assert trimmed.text == "| plan | price |\n|---|---|\n| gold | 9 |"
    listed = "Before you start:\n\n- charge the battery\n- remove the foil\n\nThen wait."
    assert trimmer(40).trim("foil", [listed]).text == "Before you start:\n- remove the foil"


def test_headings_come_with_what_stands_under_them() -> None:
    """A heading helps to find its section and is kept with it."""
    page = "# Proxy\n\nSet the address first.\n\n# Logging\n\nSet the level first.\n"
    assert trimmer(40).trim("How is logging set up?", [page]).text == "# Logging\n\nSet the level first."


@dataclass
class PageContent:
    """A passage as LangChain has it."""

    page_content: str
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass
class Content:
    """A passage as Haystack has it."""

    content: str | None
    meta: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    "passage",
    [
        "Trams run there. Its opera house opened in 2008.",
        {"page_content": "Trams run there. Its opera house opened in 2008.", "metadata": {"source": "a"}},
        PageContent("Trams run there. Its opera house opened in 2008.", {"source": "a"}),
        Content("Trams run there. Its opera house opened in 2008.", {"source": "a"}),
    ],
)
def test_passages_come_back_as_they_were(passage: Any) -> None:
    """Same type, same metadata, shorter text; what was given is left alone."""
    before = repr(passage)
    trimmed = trimmer(40).trim(QUESTION, [passage])
    assert repr(passage) == before
    assert repr(trimmed.passages[0]) == before.replace("Trams run there. ", "")


def test_async_and_batch_give_the_same() -> None:
    """`atrim` and `trim_batch` answer as `trim` does."""
    expected = trimmer(80).trim(QUESTION, PASSAGES)
    assert asyncio.run(trimmer(80).atrim(QUESTION, PASSAGES)) == expected
    assert trimmer(80).trim_batch([(QUESTION, PASSAGES)]) == [expected]


def test_nothing_to_keep() -> None:
    """No passages, empty ones, and ones that are too long give an empty text."""
    assert trimmer(10).trim(QUESTION, []) == Trimmed("", [], 0, (), ())
    empty = trimmer(10).trim(QUESTION, ["", "  "])
    assert (empty.text, empty.passages) == ("", [])
    assert {part.reason for part in empty.dropped} == {Fate.EMPTY}
    assert trimmer(10).trim(QUESTION, PASSAGES).text == ""


def test_query_without_words_keeps_beginnings() -> None:
    """Nothing to look for: the first sentences stay."""
    kept = kept_texts(trimmer(100).trim("?!", PASSAGES))
    assert {"Oslo is the capital of Norway.", "Bergen is a city on the west coast."} <= set(kept)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: trimmer(0), "budget is 0"),
        (lambda: trimmer(5, unit="word"), "unit is 'word': give one of sentence, passage"),
        (lambda: trimmer(5, order="random"), "order is 'random'"),
        (lambda: trimmer(5, ranker="magic").trim("a", ["b"]), "ranker is 'magic'"),
        (lambda: trimmer(5).trim("a", "b"), "give a list of passages"),
        (lambda: trimmer(5).trim("a", [3]), "passage 0 is of type int"),
        (lambda: trimmer(5).trim("a", [{"answer": "b"}]), "passage 0 is a mapping with the keys answer"),
        (lambda: trimmer(5).trim("a", [{"text": 3}]), "the text of passage 0 is int"),
        (lambda: trimmer(5).trim(cast("Any", None), ["b"]), "the query is NoneType"),
    ],
)
def test_errors_say_what_to_do(call: Any, said: str) -> None:
    """Each bad argument has a line of its own."""
    with pytest.raises(TrimError, match=said):
        call()


FRAGMENTS = st.sampled_from(
    [
        *("Oslo opened it in 2008.", " He left. ", "Dr. No said so! ", "\n\n", "\n", " ", "- item one\n", "# Head\n"),
        *("| a | b |\n", "|---|---|\n", "```\nx = 1.\n\ny. Z\n```\n", '{"a": "B. C", "d": [1, 2]}', "第一句。第二句！"),
        *("e\u0301. \u0301A", "\ud800", "👩\u200d👧. ", "\u200b", "    code\n", "a" * 90, "\r\n", "…", "नमस्ते। "),
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join)
CASES = st.lists(st.tuples(st.sampled_from(["", "Oslo", "Dr. No"]), TEXTS), max_size=6)


@settings(max_examples=150, deadline=None)
@given(CASES, st.integers(1, 200), st.sampled_from(["Oslo 2008", "", "first item", "第二句"]), st.randoms())
def test_invariants(case: list[tuple[str, str]], budget: int, query: str, random: Any) -> None:
    """Never over budget; parts tile the passages; fences and JSON stay whole; order given does not matter."""
    passages = [{"title": title, "text": text} for title, text in case]
    trimmed = trimmer(budget).trim(query, passages)
    assert trimmed.tokens == len(trimmed.text) <= budget
    assert trimmed == trimmer(budget).trim(query, passages)
    parts = sorted([*trimmed.kept, *trimmed.dropped], key=lambda part: (part.passage, part.start))
    for index, passage in enumerate(passages):
        own = [part for part in parts if part.passage == index]
        assert "".join(passage["text"][part.start : part.end] for part in own) == passage["text"]
        spans = indivisible(passage["text"])
        assert not [part for part in own for start, end in spans if start < part.start < end or start < part.end < end]
    for part in trimmed.kept:
        assert passages[part.passage]["text"][part.start : part.end].strip() in trimmed.text
    shuffled = random.sample(passages, len(passages))
    again = trimmer(budget).trim(query, shuffled)

    def contents(found: Trimmed[Any], given: list[dict[str, str]]) -> list[Any]:
        return sorted((*given[part.passage].values(), part.start, part.end, part.score) for part in found.kept)

    assert contents(again, shuffled) == contents(trimmed, passages)


HARD = st.sampled_from(
    [
        *(
            "a",
            "B",
            ". ",
            "! ",
            "。",
            "？",
            "；",
            "，",
            ", ",
            "; ",
            " ",
            "\r\n",
            "\n",
            "\u0301",
            "\u200d",
            "\ufe0f",
            "🏽",
        ),
        *("🏽", "👩", "🇩", "🇪", "ᄒ", "ᅡ", "ᆫ", "क", "्", "ि", "\u0e33", "ก", "x" * 400, "y " * 200, "\u20e3"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(HARD, max_size=24).map("".join))
def test_graphemes_stay_whole(text: str) -> None:
    """No part begins or ends inside what a reader sees as one character (UAX 29)."""
    whole = set(itertools.accumulate(map(len, regex.findall(r"\X", text)), initial=0))
    trimmed = trimmer(1 << 20).trim("a", [text])
    assert {at for part in (*trimmed.kept, *trimmed.dropped) for at in (part.start, part.end)} <= whole


def test_import_loads_no_library() -> None:
    """Importing the trimmers loads neither numpy nor a model's library nor a tokenizer."""
    code = "import sys, promptopt.trim; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "promptopt.trim" in loaded
    assert not {"numpy", "rank_bm25", "snowballstemmer", "tiktoken", "torch", "sentence_transformers"} & set(loaded)
