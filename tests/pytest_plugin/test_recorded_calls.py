"""LlmCalls: what tests promise of recorded requests, how they are recorded, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_promptopt import LlmCallError, PromptPrefixError, assert_token_budget
from pytest_promptopt.calls import LlmCalls, Times
from pytest_promptopt.observing import Observed, Recorder
from pytest_promptopt.redaction import redacted

SYSTEM = {"role": "system", "content": "Answer from the handbook only. " * 10}


def request(question: str = "Where?", **named: Any) -> dict[str, Any]:
    """The arguments of a chat request."""
    return {"model": "gpt-4o", "messages": [SYSTEM, {"role": "user", "content": question}], **named}


def recorded(*requests: dict[str, Any]) -> LlmCalls:
    """Requests as a stand-in of the project's own receives them."""
    with Recorder().watching() as calls:
        create = calls.wrap(lambda **_: "Here.")
        for one in requests:
            assert create(**one) == "Here."
    return calls


def test_every_assertion_fails_when_nothing_was_recorded() -> None:
    """An assertion about nothing would hold for ever."""
    calls = recorded()
    for check in (
        lambda: calls.assert_within(input_tokens=10),
        lambda: calls.assert_within(max_tokens=10),
        lambda: calls.assert_stable_prefix(min_tokens=10),
        calls.assert_streamed,
        calls.assert_capped,
        lambda: calls[0],
        lambda: calls.where(model="gpt-4o").assert_capped(),
    ):
        with pytest.raises(LlmCallError, match=r"^no LLM request was recorded"):
            check()
    with pytest.raises(LlmCallError, match=r"\n  watched: httpx, httpx2, requests, aiohttp, botocore, and SDK methods"):
        calls.assert_capped()


def test_input_tokens() -> None:
    """The bound itself is allowed; the request that is over is named, with its parts."""
    calls = recorded(request(), request("Where, " * 20))
    calls.assert_within(input_tokens=113)
    with pytest.raises(LlmCallError) as caught:
        calls.assert_within(input_tokens=100)
    lines = str(caught.value).splitlines()
    assert lines[0] == "request 1 (stand-in to gpt-4o, <lambda>) has 113 input tokens, 13 over 100"
    assert [line.split()[:2] for line in lines[1:]] == [["0:", "system"], ["1:", "user"], ["reply", "3"]]
    with pytest.raises(LlmCallError, match="has about 113 input tokens"):
        calls.assert_within(input_tokens=100, model="gpt-5", encoding="o200k_base")


def test_caps() -> None:
    """A request without a limit of its own fails as one that allows too much does."""
    recorded(request(max_tokens=50), request(max_completion_tokens=60)).assert_capped(60)
    with pytest.raises(LlmCallError, match=r"^1 of 2 LLM requests: no limit on the answer's tokens\n  request 1 "):
        recorded(request(max_tokens=50), request(max_tokens=None)).assert_capped()
    with pytest.raises(
        LlmCallError, match=r"^1 of 1 LLM requests: more than 50 tokens allowed .*\n  request 0 .*: 60$"
    ):
        recorded(request(max_tokens=60)).assert_within(max_tokens=50)
    many = recorded(*[request() for _ in range(12)])
    with pytest.raises(LlmCallError, match=r"^12 of 12 LLM requests.*\n(  request .*\n){8}  and 4 more$"):
        many.assert_capped()


def test_streams() -> None:
    """All of them must ask for one."""
    recorded(request(stream=True)).assert_streamed()
    with pytest.raises(LlmCallError, match=r"^1 of 2 LLM requests: no stream asked for\n  request 1 "):
        recorded(request(stream=True), request()).assert_streamed()


def test_prefixes() -> None:
    """Two requests at least, compared with each other."""
    calls = recorded(request("Where?"), request("When?"))
    calls.assert_stable_prefix(min_tokens=60)
    with pytest.raises(
        PromptPrefixError, match=r"they part in 1: user, line 1\n    request 0  Where\?\n    request 1  When"
    ):
        calls.assert_stable_prefix(min_ratio=1)
    with pytest.raises(LlmCallError, match="one LLM request was recorded in that slice: a prefix is shared by two"):
        calls[:1].assert_stable_prefix(min_tokens=60)


def test_some_of_them() -> None:
    """By slice, model and words; what is asked for stands in the failure."""
    calls = recorded(request("Where?"), request("When?", model="gpt-5"))
    assert [call.model for call in calls.where(containing="When")] == ["gpt-5"]
    assert [call.text.splitlines()[-1] for call in calls.where(model="gpt-4o")] == ["Where?"]
    assert len(calls[1:]) == 1
    assert calls[-1].model == "gpt-5"
    with pytest.raises(LlmCallError, match="no LLM request was recorded with model 'gpt-3', containing 'x'"):
        calls.where(model="gpt-3", containing="x").assert_streamed()
    assert_token_budget(calls[0], 200)
    with pytest.raises(AssertionError, match="over its budget of 20"):
        assert_token_budget(calls[0], 20)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda calls: calls.assert_within(), "give input_tokens, max_tokens or both"),
        (lambda calls: calls.assert_within(input_tokens=0), "input_tokens is 0: give a number of tokens, at least 1"),
        (lambda calls: calls.assert_capped(-1), "max_tokens is -1"),
        (lambda calls: calls.assert_stable_prefix(), "give min_tokens or min_ratio"),
        (lambda calls: calls.assert_within(input_tokens=9, model="gpt-4o-minni"), "did you mean 'gpt-4o-mini'"),
    ],
)
def test_misuse_is_told(check: Any, message: str) -> None:
    """On one line, also where nothing was recorded."""
    with pytest.raises(ValueError, match=message):
        check(recorded(request()))


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnopqrstuvwxyz",
        "AIza" + "x" * 35,
        "AKIAABCDEFGHIJKLMNOP",
        "Bearer abcdefghijklmnopqrstuv",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
    ],
)
def test_secrets_are_not_kept(secret: str) -> None:
    """Neither under their names nor in texts; two different ones stay different."""
    kept = recorded(
        {
            **request(f"Use {secret} now."),
            "api_key": secret,
            "extra_headers": {"X": secret},
            "metadata": [{"t": secret}],
        }
    )
    assert secret not in repr([(call.prompt, call.request, call.text) for call in kept])
    assert kept[0].text.endswith(" now.")
    other = recorded(request(f"Use {secret[:-4]}wxyz now."))
    assert kept[0].text != other[0].text or secret.endswith(("wxyz", "-----"))


def test_what_is_no_secret_is_kept() -> None:
    """Names that only sound like one."""
    plain = {"max_tokens": 5, "authors": ["Ada"], "tokens": 7, "text": "sk-short and tokens", "key": "value"}
    assert redacted(plain) == plain
    assert redacted({"api_key": "x", "Authorization": "y", "token": "z"}).keys() == {
        "api_key",
        "Authorization",
        "token",
    }
    assert all(
        v.startswith("[redacted ") for v in redacted({"api_key": "x", "Authorization": "y", "token": "z"}).values()
    )


HTTPX = """
class SyncByteStream: ...
class AsyncByteStream: ...
class Url(str): ...

class Request:
    def __init__(self, method, url, content=b""):
        self.method, self.url, self.content = method, url, content

class Response:
    is_closed = True

class Client:
    def post(self, url, content):
        return self.send(Request("POST", url, content))

    def send(self, request):
        return Response()

class AsyncClient:
    async def send(self, request):
        return Response()
"""
"""A stand-in for httpx, so that what is done to its classes is tested where httpx is not installed."""


@pytest.fixture
def httpx_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `httpx` that can be imported and is not yet."""
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "httpx"}
    (tmp_path / "httpx.py").write_text(HTTPX)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("httpx", None)
    sys.modules.update(saved)


BODY = json.dumps(request()).encode()
URL = "https://user:pass@llm.example:8443/v1/chat/completions?key=secret"


@pytest.mark.usefixtures("httpx_later")
def test_a_client_that_is_imported_later_is_seen() -> None:
    """Lazily, in the test itself; and its class is as it was in the end."""
    with Recorder().watching() as calls:
        httpx: Any = importlib.import_module("httpx")
        assert type(httpx.__loader__).__name__ == type(httpx.__spec__.loader).__name__ == "SourceFileLoader"
        httpx.Client().post(URL, BODY)
        asyncio.run(httpx.AsyncClient().send(httpx.Request("POST", URL, BODY)))
        httpx.Client().post("https://llm.example/v1/embeddings", BODY)
        httpx.Client().post("https://llm.example/v1/chat/completions", b"no JSON")
        httpx.Client().post("https://survey.example/responses", b'{"answers": [1, 2]}')
        httpx.Client().send(httpx.Request("GET", URL))
    httpx.Client().post(URL, BODY)
    assert len(calls) == 2
    assert calls[0].address == "https://llm.example:8443/v1/chat/completions"
    assert calls[0].total is not None
    assert not any("__getattribute__" in vars(owner) for owner in (httpx.Client, httpx.AsyncClient))
    assert not any("Arrivals" in type(finder).__name__ for finder in sys.meta_path)
    assert calls.hints()[:3] == [
        "  seen, but no LLM request that promptopt knows: POST https://llm.example/v1/embeddings",
        (
            "  seen, but no LLM request that promptopt knows: https://llm.example/v1/chat/completions "
            "(its body is no JSON object)"
        ),
        "  seen, but no LLM request that promptopt knows: https://survey.example/responses (it has no messages)",
    ]


@pytest.mark.usefixtures("httpx_later")
def test_a_method_of_a_client_that_a_test_replaces_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before or after recording began; what monkeypatch keeps and puts back records nothing afterwards."""
    httpx: Any = importlib.import_module("httpx")
    client = httpx.Client()
    with Recorder().watching() as calls:
        monkeypatch.setattr(client, "send", lambda _: "replaced")
        assert client.post(URL, BODY) == "replaced"
        monkeypatch.setattr(httpx.Client, "send", lambda *_: "in the class")
        assert httpx.Client().post(URL, BODY) == "in the class"
        monkeypatch.undo()
        client.post(URL, BODY)
    assert len(calls) == 3
    client.post(URL, BODY)
    assert len(calls) == 3


@pytest.mark.usefixtures("httpx_later")
def test_threads_record_side_by_side() -> None:
    """Each request once."""
    httpx: Any = importlib.import_module("httpx")
    with Recorder().watching() as calls:
        threads = [
            threading.Thread(target=lambda: [httpx.Client().post(URL, BODY) for _ in range(50)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(calls) == 200


def test_streams_of_generators_are_handed_on() -> None:
    """What a stand-in yields, raises and returns is its own."""

    async def chunks() -> Any:
        yield 1
        yield 2

    def broken(**_: Any) -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    with Recorder().watching() as calls:
        assert list(calls.wrap(lambda **_: iter([1, 2]))(**request())) == [1, 2]
        with pytest.raises(ZeroDivisionError):
            list(calls.wrap(broken)(**request()))

        async def read() -> list[int]:
            return [chunk async for chunk in calls.wrap(lambda **_: chunks())(**request())]

        assert asyncio.run(read()) == [1, 2]
    assert len(calls) == 3


def test_a_stand_in_passes_for_what_it_stands_for() -> None:
    """Attributes are read and set on the real one."""
    real = types.SimpleNamespace(count=1)
    double: Any = Observed(real, lambda: 7)
    double.count += 1
    assert (real.count, double(), isinstance(double, types.SimpleNamespace)) == (2, 7, True)
    assert double == real
    assert repr(double) == repr(real)


def test_times() -> None:
    """From the request to the first chunk, from chunk to chunk, to the end."""
    call = recorded(request())[0]
    assert (call.ttft, call.itl, call.total) == (None, (), None)
    object.__setattr__(call, "times", Times(10.0, [10.5, 10.75, 11.5], 12.0))
    assert (call.ttft, call.itl, call.total) == (0.5, (0.25, 0.75), 2.0)
    object.__setattr__(call, "times", Times(10.0, [], 12.0))
    assert (call.ttft, call.itl, call.total) == (2.0, (), 2.0)
    object.__setattr__(call, "times", Times(10.0))
    assert (call.ttft, call.itl, call.total) == (None, (), None)
