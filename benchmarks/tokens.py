"""How fast tokens are counted, beside bare tiktoken, and whether the counts are the same.

    python benchmarks/tokens.py [--strings 20000]

Prints seconds of the best of three runs per input of about 1 MB; the encodings are loaded before. tiktoken reads
the ranks that the package carries, and is not asked for a megabyte of spaces: it panics there.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import promptopt
from promptopt import token_counter
from promptopt.tokens.encodings import _tiktoken  # the reference, built from the same ranks

MEGABYTE = 1_000_000
PIECES = (
    *(" ", "  ", "\n", "\r\n", "\t", "a", "the ", "Hello", "WORLD", "'s", "123", "4567", ".", "!?", "//", "中文"),
    *("\U0001f600", "é", "e\u0301", "<|endoftext|>", "\xa0", "\u3000", "ß", "_", "{}", "def f(x):", "\x85", "\x1c"),
)
"""What random strings are made of."""


def inputs(draw: random.Random) -> dict[str, str]:
    """About a megabyte of each kind of text."""
    package = Path(promptopt.__file__).parent
    python = "".join(file.read_text("utf-8") for file in sorted(package.rglob("*.py")))
    prose = "".join(file.read_text("utf-8") for file in sorted(package.parent.glob("**/*.md")))
    wide = "".join(draw.choices("的一是不了人我在有他这中大来上国。，日本語テスト\U0001f600\U0001f680", k=4000))
    return {
        "prose": (prose * (MEGABYTE // len(prose) + 1))[:MEGABYTE],
        "Python": (python * (MEGABYTE // len(python) + 1))[:MEGABYTE],
        "CJK and emoji": (wide * 100)[: MEGABYTE // 3],
        "one letter": "a" * MEGABYTE,
        "spaces": " " * MEGABYTE,
        "spaces, then text": " " * MEGABYTE + "text",
        "random letters": "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=MEGABYTE)),
    }


def seconds(count: Callable[[str], int], text: str) -> float:
    """The best of three runs."""
    return min(_timed(count, text) for _ in range(3))


def _timed(count: Callable[[str], int], text: str) -> float:
    start = time.perf_counter()
    count(text)
    return time.perf_counter() - start


def _bare(encode: Callable[[str], list[int]]) -> Callable[[str], int]:
    return lambda text: len(encode(text))


def main() -> int:
    """Print the table; 1 where a count differs or takes more than 5 seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=20_000, help="random strings to compare [20000]")
    strings = parser.parse_args().strings
    draw = random.Random(7)  # noqa: S311 (test inputs)
    failed = False
    for name in ("cl100k_base", "o200k_base"):
        reference = _tiktoken(name)
        ours = token_counter(encoding=name)
        bare = _bare(reference.encode_ordinary)
        ours("")
        for label, text in inputs(draw).items():
            taken = seconds(ours, text)
            other = "-" if label.startswith("spaces") else f"{seconds(bare, text):.2f}"
            print(f"{name:12} {label:18} ours {taken:.2f}  tiktoken {other}")
            failed = failed or taken > 5
        drawn = ("".join(draw.choices(PIECES, k=draw.randrange(60))) for _ in range(strings))
        different = sum(ours(text) != bare(text) for text in drawn)
        print(f"{name:12} {strings:,} random strings, {different} counts differ")
        failed = failed or different > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
