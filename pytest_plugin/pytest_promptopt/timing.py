"""When the chunks of an answer come, for answers of httpx."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache
from typing import Any

from pytest_promptopt.calls import Times


def timed(response: Any, times: Times) -> Any:
    """The response, or the awaitable of one, whose times are taken while it is read."""
    if inspect.iscoroutine(response):
        return _awaited(response, times)
    library: Any = sys.modules.get(type(response).__module__.partition(".")[0])
    if not hasattr(library, "SyncByteStream"):
        return response
    if response.is_closed:
        times.done = time.perf_counter()
    elif isinstance(response.stream, library.SyncByteStream | library.AsyncByteStream):
        response.stream = _streams(library.SyncByteStream, library.AsyncByteStream)(response.stream, times)
    return response


async def _awaited(response: Awaitable[Any], times: Times) -> Any:
    return timed(await response, times)


@cache
def _streams(synchronous: type, asynchronous: type) -> Callable[[Any, Times], Any]:
    """A stream of the library that hands on another one's chunks."""

    class Timed(synchronous, asynchronous):  # type: ignore[misc]
        def __init__(self, stream: Any, times: Times) -> None:
            self._stream = stream
            self._times = times

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._stream:
                self._times.chunks.append(time.perf_counter())
                yield chunk
            self._end()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                self._times.chunks.append(time.perf_counter())
                yield chunk
            self._end()

        def close(self) -> None:
            self._end()
            self._stream.close()

        async def aclose(self) -> None:
            self._end()
            await self._stream.aclose()

        def _end(self) -> None:
            """Streams of events end with one that says so, and are closed without being read any further."""
            if self._times.done is None:
                self._times.done = time.perf_counter()

    return Timed
