"""The text that stands for what was cut from a conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable, iscoroutine
from typing import Any, Final

from promptopt.errors import TrimError
from promptopt.trim.messages import message_text, read_message

Summarizer = Callable[[Sequence[Any]], str | Awaitable[str]]

_REMEMBERED: Final = 256  # conversations that are being served at the same time
_HEADING: Final = "Summary of the conversation so far:\n"


class SummaryWriter:
    """Asks for a summary once for the same messages, and makes a message of it.

    Args:
        summarizer: is given messages and returns their summary.
        tokens: longest message that the summary may make.
    """

    def __init__(self, summarizer: Summarizer, tokens: int) -> None:
        self.tokens = tokens
        self._summarizer = summarizer
        self._written: dict[bytes, str] = {}

    def write(self, messages: Sequence[Any]) -> str:
        """The summary of messages.

        Raises:
            TrimError: the summarizer is asynchronous, or returns something else than a text.
        """
        digest = _digest(messages)
        return self._written.get(digest) or self._remember(digest, self._summarizer(messages))

    async def awrite(self, messages: Sequence[Any]) -> str:
        """As `write`, for a summarizer that returns a text or an awaitable."""
        digest = _digest(messages)
        if digest in self._written:
            return self._written[digest]
        answer = self._summarizer(messages)
        return self._remember(digest, await answer if isawaitable(answer) else answer)

    def message(self, summary: str, like: object, tokens: Callable[[Any], int]) -> Any:
        """A user message with the summary, in the shape of another; None where there is nothing to say.

        Args:
            summary: the text; words that do not fit are left out from its end.
            like: a user message of the conversation: a mapping, or an object made with `content`.
            tokens: the length of a message.
        """
        words = summary.split(" ")
        least, most = 0, len(words)
        while least < most:
            middle = (least + most + 1) // 2
            if tokens(_user_message(" ".join(words[:middle]), like)) <= self.tokens:
                least = middle
            else:
                most = middle - 1
        text = " ".join(words[:least]).strip()
        return _user_message(text, like) if text else None

    def _remember(self, digest: bytes, answer: object) -> str:
        if iscoroutine(answer):
            answer.close()
            raise TrimError("the summarizer is asynchronous: call atrim instead of trim")
        if not isinstance(answer, str):
            raise TrimError(f"the summarizer returned {type(answer).__name__}: a text is needed")
        self._written[digest] = answer
        if len(self._written) > _REMEMBERED:
            self._written.pop(next(iter(self._written)), None)
        return answer


def _user_message(text: str, like: object) -> Any:
    if isinstance(like, Mapping) or like is None:
        return {"role": "user", "content": _HEADING + text}
    return type(like)(content=_HEADING + text)  # type: ignore[call-arg]  # LangChain's messages take it


def _digest(messages: Sequence[Any]) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 (loads OpenSSL)

    digest = blake2b(digest_size=16)
    for index, message in enumerate(messages):
        facts = read_message(message, index)
        digest.update(
            repr((facts.role.value, facts.calls, facts.results, message_text(message))).encode("utf-8", "surrogatepass")
        )
    return digest.digest()
