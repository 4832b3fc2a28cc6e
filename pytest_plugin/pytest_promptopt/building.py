"""Calling what builds a prompt, be it a plain function or a coroutine function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from promptopt.errors import TokenError
from promptopt.wire import SentPrompt
from pytest_promptopt.budgets import sent


def built(build: Callable[..., Any], value: object, what: str) -> SentPrompt:
    """The prompt that `build` makes of a value.

    Raises:
        TokenError: what it returns is no prompt.
        Exception: whatever it raises, with a note that says for which value.
    """
    try:
        made = build(value)
        if inspect.isawaitable(made):
            made = _awaited(made)
    except Exception as error:
        error.add_note(f"raised by build for {what}")
        raise
    try:
        return sent(made)
    except TokenError as error:
        raise TokenError(f"what build returns for {what} is no prompt: {error}") from error


def _awaited(made: Awaitable[Any]) -> Any:
    async def result() -> Any:
        return await made

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(result())
    with ThreadPoolExecutor(1) as thread:  # the test's own loop waits for this very call
        return thread.submit(copy_context().run, asyncio.run, result()).result()
