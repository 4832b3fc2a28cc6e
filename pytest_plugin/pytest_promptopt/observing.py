"""Recording what clients really send, without sending anything.

Two places are watched: where clients hand whole requests down, above whatever mock or recording answers them; and SDK
methods that a test has replaced, or that answer by themselves. What a method was called with counts until a request is
seen that it sends: that takes its place. `observed.toml` lists the places.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib import resources
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from promptopt.errors import TokenError
from promptopt.wire import Endpoint, find_endpoint, operations, plain, read_request, request_keys
from pytest_promptopt.arrivals import Arrivals
from pytest_promptopt.calls import LlmCall, LlmCalls, Times
from pytest_promptopt.redaction import redacted
from pytest_promptopt.timing import timed
from pytest_promptopt.watching import Wrap, watch_class, watch_global, watch_module

_MOST_OTHERS: Final = 5


class _Method:
    """A call of a method that may send a request, and what was recorded of it until then."""

    def __init__(self, call: LlmCall | None) -> None:
        self.call = call
        self.sent = False


_INSIDE: Final[ContextVar[_Method | None]] = ContextVar("promptopt_inside", default=None)


class Observed:
    """A function or mock that is handed out in the place of the real one, and is taken for it."""

    def __init__(self, value: Any, call: Callable[..., Any]) -> None:
        vars(self).update(_value=value, _call=call)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Record, then call the real one."""
        return vars(self)["_call"](*arguments, **named)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(vars(self)["_value"])

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_value"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_value"], name, value)

    def __eq__(self, other: object) -> bool:
        return bool(vars(self)["_value"] == other)

    def __hash__(self) -> int:
        return hash(vars(self)["_value"])

    def __repr__(self) -> str:
        return repr(vars(self)["_value"])


class Recorder:
    """Records LLM requests while it is open; `calls` are those so far."""

    def __init__(self) -> None:
        self.calls: list[LlmCall] = []
        self._others: dict[str, None] = {}
        self._lock = Lock()
        self._open = False
        self._ends: list[Callable[[], None]] = []

    @contextmanager
    def watching(self) -> Iterator[LlmCalls]:
        """Record for a while."""
        modules = {entry["module"] for entries in (observed("clients"), observed("methods")) for entry in entries}
        arrivals = Arrivals(modules, self._watch)
        self._open = True
        try:
            arrivals.open()
            yield LlmCalls(recorder=self)
        finally:
            self._open = False
            arrivals.close()
            while self._ends:
                self._ends.pop()()

    def hints(self) -> list[str]:
        """What else was seen, for those who expected requests."""
        others = list(self._others)
        more = [f"  and {len(others) - _MOST_OTHERS} more"] if len(others) > _MOST_OTHERS else []
        seen = [f"  seen, but no LLM request that promptopt knows: {other}" for other in others[:_MOST_OTHERS]]
        watched = ", ".join(dict.fromkeys(entry["module"].partition(".")[0] for entry in observed("clients")))
        return [
            *seen,
            *more,
            f"  watched: {watched}, and SDK methods that were replaced; for others see llm_calls.wrap",
        ]

    def recording(self, function: Callable[..., Any]) -> Any:
        """The function, recording what it is called with."""
        return self._observed_method({"endpoint": "stand-in"}, None, "", function)

    def _watch(self, module: ModuleType) -> None:
        for entry in observed("clients"):
            if entry["module"] == module.__name__:
                wraps: dict[str, Wrap] = {entry["method"]: _CLIENTS[entry["form"]](self)}
                owners = (getattr(module, name) for name in entry["classes"] if hasattr(module, name))
                self._ends += [watch_class(owner, wraps) for owner in owners]
        for entry in observed("methods"):
            if entry["module"] == module.__name__:
                self._ends += self._watch_methods(module, entry)

    def _watch_methods(self, module: ModuleType, entry: Mapping[str, Any]) -> Iterator[Callable[[], None]]:
        wrap = partial(self._replaced_method, entry, _folder(module))
        names = dict.fromkeys(entry["methods"], wrap)
        for owner in entry.get("classes", ()):
            if hasattr(module, owner):
                yield watch_class(getattr(module, owner), names)
        if "classes" not in entry and entry.get("always"):
            yield from (watch_global(module, name, wrap) for name in names if name in vars(module))
        elif "classes" not in entry:
            yield watch_module(module, names)

    def _replaced_method(self, entry: Mapping[str, Any], folder: str, owner: Any, name: str, value: Any) -> Any:
        """What is handed out for an SDK's method: itself, where it is the SDK's own and sends what it is given."""
        if not entry.get("always") and _is_own(value, folder):
            return value
        return self._observed_method(entry, owner, name, value)

    def _observed_method(self, entry: Mapping[str, Any], owner: Any, name: str, value: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if not self._open or _INSIDE.get() is not None:
                return value(*arguments, **named)
            own = {field: getattr(owner, field, None) for field in entry.get("own", ())}
            given = own | dict(zip(entry.get("positional", ()), arguments, strict=False)) | named
            known = {key: member for key, member in given.items() if key in request_keys() and member is not None}
            endpoint = Endpoint(entry["endpoint"], stream=name in _streams())
            where = name or getattr(value, "__name__", type(value).__name__)
            return _within(_Method(self._record(endpoint, known, where)), value, *arguments, **named)

        return value if type(value) is Observed else Observed(value, call)

    def _sent_request(self, owner: Any, name: str, value: Any) -> Any:
        """`send(request, ...)` of httpx and requests."""

        def call(request: Any, *arguments: Any, **named: Any) -> Any:
            times = Times(time.perf_counter())
            self._record_sent(request.method, str(request.url), lambda: _content(request), times)
            return timed(value(request, *arguments, **named), times)

        return self._unless_closed(value, call)

    def _sent_arguments(self, owner: Any, name: str, value: Any) -> Any:
        """`_request(method, url, json=, data=)` of aiohttp."""

        def call(method: str, url: Any, *arguments: Any, **named: Any) -> Any:
            body = named["data"] if named.get("json") is None and "data" in named else named.get("json")
            self._record_sent(method, str(url), lambda: body)
            return value(method, url, *arguments, **named)

        return self._unless_closed(value, call)

    def _called_operation(self, owner: Any, name: str, value: Any) -> Any:
        """`_make_api_call(operation, parameters)` of AWS clients."""

        def call(operation: str, parameters: Mapping[str, Any]) -> Any:
            known = operations().get(operation)
            if known is None:
                return value(operation, parameters)
            body = parameters if known.body is None else _decoded(parameters.get(known.body))
            model = parameters.get("modelId")
            endpoint = Endpoint(known.endpoint, model if isinstance(model, str) else None, known.stream)
            return _within(_Method(self._record(endpoint, body, operation)), value, operation, parameters)

        return self._unless_closed(value, call)

    def _unless_closed(self, value: Any, call: Callable[..., Any]) -> Any:
        """What is handed out may be kept, by monkeypatch for one, and called when nothing is recorded any more."""
        if type(value) is Observed:
            return value

        def open_or_not(*arguments: Any, **named: Any) -> Any:
            return (call if self._open else value)(*arguments, **named)

        return Observed(value, open_or_not)

    def _record_sent(self, method: str, url: str, body: Callable[[], Any], times: Times | None = None) -> None:
        address = urlsplit(url)
        endpoint = find_endpoint(address.path) if method.upper() == "POST" else None
        port = f":{address.port}" if address.port else ""
        place = f"{address.scheme}://{address.hostname or ''}{port}{address.path}"
        if endpoint is not None:
            call = self._record(endpoint, _decoded(body()), place, times)
            inside = _INSIDE.get()
            if inside is not None and call is not None:
                self._replace(inside, call)
        elif method.upper() == "POST":
            self._others[f"POST {place}"] = None

    def _record(self, endpoint: Endpoint, body: object, place: str, times: Times | None = None) -> LlmCall | None:
        """A request that is not understood must not fail where it is sent: it is told where one was expected."""
        if not isinstance(body, Mapping):
            self._others[f"{place} (its body is no JSON object)"] = None
            return None
        try:
            request = redacted(plain(body))
            read = read_request(request, endpoint.model, stream=endpoint.stream)
        except (TokenError, ValueError) as error:
            self._others[f"{place} ({error})"] = None
            return None
        if not read.prompt.messages:  # another service's address that looks alike
            self._others[f"{place} (it has no messages)"] = None
            return None
        call = LlmCall(endpoint.name, read.model, read.prompt, read.cap, read.stream, request, place, times)
        with self._lock:
            self.calls.append(call)
        return call

    def _replace(self, inside: _Method, call: LlmCall) -> None:
        with self._lock:
            if not inside.sent and inside.call is not None:
                del self.calls[_index(self.calls, call)]
                self.calls[_index(self.calls, inside.call)] = call
            inside.sent = True


_CLIENTS: Final[Mapping[str, Callable[[Recorder], Wrap]]] = {
    "request": lambda recorder: recorder._sent_request,  # noqa: SLF001
    "arguments": lambda recorder: recorder._sent_arguments,  # noqa: SLF001
    "operation": lambda recorder: recorder._called_operation,  # noqa: SLF001
}


def _index(calls: Sequence[LlmCall], call: LlmCall) -> int:
    return next(index for index, one in enumerate(calls) if one is call)


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("observed.toml").read_text("utf-8"))


def observed(kind: str) -> list[dict[str, Any]]:
    """The places of a kind, `clients` or `methods`, that are watched."""
    entries: list[dict[str, Any]] = _document()[kind]
    return entries


def _streams() -> list[str]:
    methods: list[str] = _document()["streams"]["methods"]
    return methods


def _folder(module: ModuleType) -> str:
    """Where the SDK's own code lies: the outermost package with a file of its own (`google` has none)."""
    names = module.__name__.split(".")
    packages = (sys.modules.get(".".join(names[: depth + 1])) for depth in range(len(names)))
    files = (getattr(package, "__file__", None) for package in packages)
    return str(Path(next((file for file in files if file), str(module.__file__))).parent)


def _is_own(value: Any, folder: str) -> bool:
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return str(getattr(code, "co_filename", "")).startswith(folder)


def _content(request: Any) -> object:
    """The body of a request of httpx or requests; None where it is a stream that can be read once only."""
    if hasattr(request, "body"):
        return request.body
    try:
        return request.content
    except RuntimeError:  # httpx.RequestNotRead
        return None


def _decoded(body: object) -> object:
    if callable(getattr(body, "read", None)) and callable(getattr(body, "seek", None)):
        place = body.tell()  # type: ignore[attr-defined]
        content = body.read()  # type: ignore[attr-defined]
        body.seek(place)  # type: ignore[attr-defined]
        return _decoded(content)
    if isinstance(body, str | bytes | bytearray):
        try:
            return json.loads(body)
        except ValueError:
            return None
    return body


def _within(method: _Method, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What the function returns; requests that it sends now, or while its result is awaited or iterated, are its."""
    result = _step(method, partial(function, *arguments, **named))
    if inspect.iscoroutine(result):
        return _awaited(method, result)
    if inspect.isgenerator(result):
        return _iterated(method, result)
    return _aiterated(method, result) if inspect.isasyncgen(result) else result


def _step(method: _Method, step: Callable[[], Any]) -> Any:
    token = _INSIDE.set(method)
    try:
        return step()
    finally:
        _INSIDE.reset(token)


async def _awaited(method: _Method, result: Awaitable[Any]) -> Any:
    token = _INSIDE.set(method)
    try:
        return await result
    finally:
        _INSIDE.reset(token)


def _iterated(method: _Method, result: Iterator[Any]) -> Iterator[Any]:
    end = object()
    while (element := _step(method, lambda: next(result, end))) is not end:
        yield element


async def _aiterated(method: _Method, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (element := await _awaited(method, anext(result, end))) is not end:
        yield element
