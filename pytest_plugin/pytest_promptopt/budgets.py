"""Prompts as tests have them before them, against a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from promptopt.tokens import TokenCounter, token_counter
from promptopt.wire import SentPrompt, read_prompt
from pytest_promptopt.errors import PromptBudgetError
from pytest_promptopt.notes import Note, note

THE_PROMPT: Final = "the prompt"


def assert_token_budget(prompt: object, max_tokens: int, model: str | None = None, encoding: str | None = None) -> None:
    """Fail where a prompt has more than `max_tokens` tokens.

    Args:
        prompt: a text; a message or a list of them, as mappings or as any SDK's objects; a request: a mapping or object
            with `messages`, `input` or `contents`, and perhaps system text and tools; or a recorded call.
        max_tokens: at least 1. Messages count with what frames them in OpenAI's chat requests; images and files count
            nothing.
        model: what the request calls it. Where its tokenizer, or how its provider frames messages, is not public,
            the count is an estimate, and the failure says so.
        encoding: `o200k_base` (the default), `cl100k_base` or the path of a `tokenizer.json`.

    Raises:
        PromptBudgetError: it is longer.
        ValueError: `max_tokens` is no positive number.
        TokenError: an unknown model or encoding, or something that is no prompt.
    """
    __tracebackhide__ = True
    check_limit("max_tokens", max_tokens)
    check_budget(sent(prompt), max_tokens, token_counter(model, encoding), prompt)


def check_budget(prompt: SentPrompt, max_tokens: int, counter: TokenCounter, given: object = None) -> None:
    """Fail with what the prompt is made of where it is over budget; where it was rendered (`given`) also with what it
    has gained since it was accepted."""
    __tracebackhide__ = True
    sizes = prompt.sizes(counter)
    total = sum(tokens for _, tokens in sizes)
    failed = total > max_tokens
    note(Note(prompt.name or THE_PROMPT, tokens=total, budget=max_tokens, failed=failed))
    if failed:
        over = f"{total - max_tokens:,} over its budget of {max_tokens:,}"
        summary = f"{prompt.name or THE_PROMPT} has {about(prompt, counter)}{total:,} tokens, {over}"
        raise PromptBudgetError("\n".join([summary, *_gained(given, sizes, counter)]))


def _gained(given: object, sizes: Sequence[tuple[str, int]], counter: TokenCounter) -> Iterator[str]:
    accepted = getattr(given, "accepted", None)
    before: Any = accepted() if callable(accepted) else None
    if before is None:
        yield from table(sizes)
        return
    from pytest_promptopt.snapshots import largest_new_part  # noqa: PLC0415 (loads the readers and the linker)

    old = dict(before.prompt.sizes(counter))
    for line, (name, tokens) in zip(table(sizes), sorted(sizes, key=lambda size: -size[1]), strict=True):
        change = tokens - old.get(name, 0)
        yield f"{line}  ({change:+,} since promptopt.lock)" if change else line
    file = getattr(given, "file", None)
    sources = [(before.prompt.name, file.read_text("utf-8-sig"))] if isinstance(file, Path) else []
    yield from largest_new_part(str(before), str(given), counter.text, sources)


def sent(prompt: object) -> SentPrompt:
    """What a test means by a prompt; a recorded call or a rendered prompt knows it itself."""
    known = getattr(prompt, "prompt", None)
    return known if isinstance(known, SentPrompt) else read_prompt(prompt)


def about(prompt: SentPrompt, counter: TokenCounter) -> str:
    """The word before a figure that is an estimate."""
    return "about " if counter.estimate or (not prompt.is_text and counter.framing_estimate) else ""


def check_limit(name: str, value: object, least: int = 1) -> None:
    """Raise `ValueError` where an argument is no number of tokens."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}: give a number of tokens, at least {least}")


def table(sizes: Sequence[tuple[str, int]]) -> list[str]:
    """The parts, the largest first."""
    ordered = sorted(sizes, key=lambda size: -size[1])
    names = max((len(name) for name, _ in sizes), default=0)
    width = max((len(f"{tokens:,}") for _, tokens in sizes), default=0)
    return [f"  {name:{names}}  {tokens:>{width},}" for name, tokens in ordered]
