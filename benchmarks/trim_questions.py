"""Questions with marked evidence, for benchmarks/trim.py: question sets, conversations, documentation pages."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from promptopt.trim.units import split_units

_CHUNK: Final = 1200
"""Characters of a passage of a documentation page, cut between paragraphs."""
_PER_PAGE: Final = 4
_PASSAGES: Final = 20
_OWN: Final = 9
_HEADING: Final = re.compile(
    r"^#{1,4} +(?P<text>.+?)[ #]*$|^(?P<lined>[^\n]{3,70})\n(?:=|-|~|\^){3,}[ \t]*$", re.MULTILINE
)
_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MARKUP: Final = re.compile(r"[`*_\[\]]|\(http[^)]*\)")
_RELEASE: Final = re.compile(r"v?\d|\(\d{4}")

Span = tuple[int, int, int]
Passage = dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its passages, and per gold sentence the places any of which will do: passage, start, end."""

    text: str
    passages: list[Passage]
    gold: list[list[Span]]


def read(folder: Path) -> Iterator[Question]:
    """The questions of one set that have gold sentences."""
    readers = {
        "hotpotqa_distractor": read_hops,
        "2wikimultihopqa": read_hops,
        "musique": read_musique,
        "mtrag_rewrites": read_histories,
        "docs": read_pages,
    }
    for question in readers.get(folder.name, read_pool)(folder):
        if question.gold:
            yield question


def lines(file: Path) -> Iterator[Any]:
    """The records of a JSON Lines file."""
    with file.open(encoding="utf-8") as opened:
        for line in opened:
            yield json.loads(line)


def read_hops(folder: Path) -> Iterator[Question]:
    """HotpotQA and 2WikiMultihopQA: supporting facts are sentences."""
    joint = "" if folder.name.startswith("hotpot") else " "
    for record in lines(folder / "dev.jsonl"):
        passages = [
            {"title": passage["title"], "text": joint.join(passage["sentences"])} for passage in record["context"]
        ]
        titles = [passage["title"] for passage in record["context"]]
        gold = []
        for title, number in record["supporting_facts"]:
            sentences = record["context"][titles.index(title)]["sentences"] if title in titles else []
            if number < len(sentences):
                gold.append([sentence_span(titles.index(title), sentences, number, joint)])
        yield Question(record["question"], passages, gold)


def sentence_span(passage: int, sentences: Sequence[str], number: int, joint: str) -> Span:
    """Where a sentence stands in the text that joins them."""
    start = sum(len(sentence) + len(joint) for sentence in sentences[:number])
    sentence = sentences[number]
    return passage, start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip())


def read_musique(folder: Path) -> Iterator[Question]:
    """MuSiQue: of each hop's paragraph, the sentences with the hop's answer."""
    for record in lines(folder / "dev.jsonl"):
        passages = [{"title": passage["title"], "text": passage["text"]} for passage in record["paragraphs"]]
        gold = [
            places
            for hop in record["question_decomposition"]
            if (places := answering(passages, hop["paragraph_support_idx"], [hop["answer"]]))
        ]
        yield Question(record["question"], passages, gold)


def read_pool(folder: Path) -> Iterator[Question]:
    """NQ, CLAP NQ and XQuAD: twenty passages out of a pool, one of them gold."""
    pool = {record["pid"]: record for record in lines(folder / "dev_passages.jsonl")}
    for record in lines(folder / "dev_questions.jsonl"):
        chosen = [pool[pid] for pid in record["ctx_pids"]]
        texts = [passage["text"] if "text" in passage else " ".join(passage["sentences"]) for passage in chosen]
        # XQuAD's titles are names of articles, the same for five paragraphs, and only in one language
        titles = [passage["title"] if folder.name.endswith("nq20") else "" for passage in chosen]
        passages = [{"title": title, "text": text} for title, text in zip(titles, texts, strict=True)]
        at = record["gold_index"]
        if "gold_sentences" in record:
            sentences = chosen[at]["sentences"]
            numbers = record["gold_sentences"][0] if record["gold_sentences"] else []
            gold = [[sentence_span(at, sentences, number, " ")] for number in numbers]
        elif "answer_start" in record:
            gold = [[(at, record["answer_start"], record["answer_start"] + len(record["answers"][0]))]]
        else:
            places = answering(passages, at, record["answers"])
            gold = [places] if places else []
        yield Question(record["question"], passages, gold)


def answering(passages: Sequence[Passage], at: int | None, answers: Sequence[str]) -> list[Span]:
    """The sentences of a passage that have one of the answers in them."""
    if at is None:
        return []
    wanted = [answer.lower() for answer in answers]
    return [
        (at, unit.end - len(unit.text), unit.end)
        for unit in split_units(passages[at]["text"].rstrip())
        if any(answer in unit.text.lower() for answer in wanted)
    ]


def read_histories(folder: Path) -> Iterator[Question]:
    """MTRAG: earlier user turns that hold the words which make the last one stand alone; a weak label."""
    for record in lines(folder / "dev.jsonl"):
        turns = record["user_turns"][:-1]
        gold = [
            places
            for word in record["history_tokens_in_rewrite"]
            if (places := [(at, *m.span()) for at, turn in enumerate(turns) for m in word_in(word, turn)])
        ]
        if len(turns) >= 3:
            yield Question(record["last_turn"], [{"title": "", "text": turn} for turn in turns], gold)


def word_in(word: str, text: str) -> Iterator[re.Match[str]]:
    """Where a word stands in a text."""
    return re.finditer(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)


def read_pages(folder: Path) -> Iterator[Question]:
    """Descriptions of the installed packages: which sentences stand first under a heading?

    The question is the heading with the package's name; the passages are the chunks that hold the answer, nine
    others of the page, and some of other pages. What is drawn depends on the packages alone.
    """
    pages = {name: chunks(text) for name, text in descriptions()}
    pool = [(name, at) for name, parts in pages.items() for at in range(len(parts))]
    draw = random.Random(7)  # noqa: S311 (a sample)
    for name, parts in pages.items():
        text = "".join(parts)
        sections = list(headings(text))
        for title, start, end in draw.sample(sections, min(_PER_PAGE, len(sections))):
            wanted = [unit for unit in split_units(text[start:end]) if not unit.heading and len(unit.text) > 15][:3]
            spans = [span for unit in wanted if (span := chunk_span(parts, unit.text, text.find(unit.text, start)))]
            needed = sorted({at for at, _, _ in spans})
            own = [at for at in range(len(parts)) if at not in needed]
            chosen = [(name, at) for at in (*needed, *draw.sample(own, min(_OWN, len(own))))]
            chosen += draw.sample([place for place in pool if place[0] != name], _PASSAGES - len(chosen))
            draw.shuffle(chosen)
            passages = [{"title": "", "text": pages[page][at]} for page, at in chosen]
            gold = [[(chosen.index((name, at)), first, last)] for at, first, last in spans]
            yield Question(f"{title} ({name})", passages, gold)


def descriptions() -> Iterator[tuple[str, str]]:
    """Name and description of each installed package that has a long one."""
    found = {distribution.metadata["Name"]: distribution for distribution in metadata.distributions()}
    for name in sorted(found, key=str.lower):
        text = str(found[name].metadata.get_payload() or found[name].metadata.get("Description") or "")  # type: ignore[attr-defined]  # an email message
        if len(text) > 3000 and not name.startswith("promptopt"):
            yield name, text


def chunks(text: str) -> list[str]:
    """A text cut between paragraphs."""
    parts = [""]
    for paragraph in re.findall(r".+?(?:\n\s*\n|\Z)", text, re.DOTALL):
        if parts[-1] and len(parts[-1]) + len(paragraph) > _CHUNK:
            parts.append("")
        parts[-1] += paragraph
    return parts


def headings(text: str) -> Iterator[tuple[str, int, int]]:
    """Sections of some length: heading, and where what stands under it begins and ends."""
    fences = [fence.span() for fence in _FENCE.finditer(text)]
    found = [m for m in _HEADING.finditer(text) if not any(start <= m.start() < end for start, end in fences)]
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        title = _MARKUP.sub("", match["text"] or match["lined"]).strip()
        if end - match.end() > 200 and re.search(r"\w", title) and not _RELEASE.match(title):
            yield title, match.end(), end


def chunk_span(parts: Sequence[str], text: str, at: int) -> Span | None:
    """Where a text that begins at an offset of the page stands in one of its chunks, if it is in one."""
    for number, part in enumerate(parts):
        if at >= 0 and at + len(text) <= len(part):
            return number, at, at + len(text)
        at -= len(part)
    return None
