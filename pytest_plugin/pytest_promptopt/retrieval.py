"""What a retriever hands on, against a number of tokens and passages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from promptopt.errors import TrimError
from promptopt.tokens import token_counter
from promptopt.trim.passages import read_passage
from pytest_promptopt.budgets import check_limit
from pytest_promptopt.errors import PromptBudgetError
from pytest_promptopt.notes import Note, note

_MOST: Final = 10
"""Passages that a failure lists."""
_SHOWN: Final = 40
"""Characters of a passage that a failure shows."""


def assert_retrieval_budget(
    passages: Iterable[object],
    max_tokens: int | None = None,
    max_passages: int | None = None,
    *,
    repeats: bool = False,
    model: str | None = None,
    encoding: str | None = None,
) -> None:
    """Fail where retrieved passages are too many, too long or the same.

    Args:
        passages: strings, mappings with `text`, `page_content`, `content` or `body`, documents of LangChain or
            Haystack, or nodes of LlamaIndex.
        max_tokens: tokens of all of them, titles included, at least 1.
        max_passages: how many of them, at least 1.
        repeats: whether a text may come more than once.
        model: what is counted for; see `assert_token_budget`.
        encoding: what is counted with.

    Raises:
        PromptBudgetError: one of these does not hold, or there is no passage, so that nothing was judged.
        ValueError: no bound, or one that cannot be.
        TokenError: an unknown model or encoding.
        TrimError: something that is no passage.
    """
    __tracebackhide__ = True
    if max_tokens is None and max_passages is None:
        raise ValueError("give max_tokens, max_passages or both")
    for name, limit in (("max_tokens", max_tokens), ("max_passages", max_passages)):
        if limit is not None:
            check_limit(name, limit)
    if isinstance(passages, str):
        raise TrimError("passages is a string: give a list of passages")
    counter = token_counter(model, encoding)
    read = [read_passage(passage, index) for index, passage in enumerate(passages)]
    texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in read]
    sizes = [counter.text(text) for text in texts]
    total = sum(sizes)
    again = [index for index, text in enumerate(texts) if texts.index(text) < index]
    faults = []
    if not texts:
        faults.append("no passage was retrieved: a budget holds for nothing")
    if max_tokens is not None and total > max_tokens:
        word = "about " if counter.estimate else ""
        over = f"{total - max_tokens:,} over their budget of {max_tokens:,}"
        faults.append(f"{len(texts)} passages have {word}{total:,} tokens, {over}")
    if max_passages is not None and len(texts) > max_passages:
        faults.append(f"{len(texts)} passages were retrieved, {len(texts) - max_passages} more than {max_passages}")
    if again and not repeats:
        faults.append(
            f"{len(again)} of {len(texts)} passages repeat another one, {sum(sizes[i] for i in again):,} tokens"
        )
    note(Note("passages", tokens=total, budget=max_tokens, failed=bool(faults)))
    if faults:
        raise PromptBudgetError("\n".join([faults[0], *_lines(texts, sizes), *faults[1:]]))


def _lines(texts: list[str], sizes: list[int]) -> list[str]:
    """The passages with their tokens, the largest first; one that repeats another is marked."""
    order = sorted(range(len(texts)), key=lambda index: -sizes[index])
    width = max((len(f"{size:,}") for size in sizes), default=0)
    places = len(str(len(texts)))
    lines = []
    for index in order[:_MOST]:
        first = texts.index(texts[index])
        repeats = f"  repeats {first}" if first < index else ""
        shown = " ".join(texts[index].split())
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        lines.append(f"  {index:>{places}}  {sizes[index]:>{width},}  {shown}{repeats}")
    return [*lines, *([f"  and {len(texts) - _MOST} more"] if len(texts) > _MOST else [])]
