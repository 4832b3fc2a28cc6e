"""llm_calls in real runs beside what answers requests in tests: respx, pytest-httpx, VCR; and beside pytest-asyncio and
pytest-xdist. Skipped where these are not installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Run

pytest_plugins = ["pytester"]

REQUEST = """\
import pytest

URL = "https://llm.example/v1/chat/completions"
BODY = {"model": "gpt-4o", "max_tokens": 5, "stream": True, "messages": [{"role": "user", "content": "Where is it?"}]}


def check(llm_calls, number=1):
    assert [call.text for call in llm_calls] == ["Where is it?"] * number
    llm_calls.assert_within(input_tokens=20, max_tokens=5)
    llm_calls.assert_streamed()

"""


@pytest.fixture(autouse=True)
def _settings(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\nasyncio_mode = auto\n")


def test_respx(pytester: pytest.Pytester, run: Run) -> None:
    """As decorator and as fixture, synchronous and asynchronous, whichever comes first."""
    pytest.importorskip("respx")
    pytest.importorskip("pytest_asyncio")
    pytester.makepyfile(
        REQUEST
        + """
import httpx
import respx


@respx.mock
def test_decorator(llm_calls):
    respx.post(URL).respond(json={})
    httpx.post(URL, json=BODY)
    check(llm_calls)


async def test_fixture_before(respx_mock, llm_calls):
    respx_mock.post(URL).respond(json={})
    async with httpx.AsyncClient() as client:
        await client.post(URL, json=BODY)
    check(llm_calls)


async def test_fixture_after(llm_calls, respx_mock):
    respx_mock.post(URL).respond(json={})
    async with httpx.AsyncClient() as client, client.stream("POST", URL, json=BODY) as response:
        assert [chunk async for chunk in response.aiter_text()] == ["{}"]
    check(llm_calls)
    assert llm_calls[0].total > 0


@pytest.mark.token_budget(5)
async def test_over(respx_mock):
    respx_mock.post(URL).respond(json={})
    async with httpx.AsyncClient() as client:
        await client.post(URL, json=BODY)


@pytest.mark.token_budget(5)
async def test_nothing(respx_mock):
    pass
"""
    )
    result = run(plugins=("respx.plugin", "pytest_asyncio.plugin", "anyio.pytest_plugin"))
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "request 0 (chat.completions) has 11 tokens, 6 over its budget of 5",
            "marker token_budget: the test has rendered and sent no prompt, so that its budget holds for nothing",
        ]
    )


def test_pytest_httpx(pytester: pytest.Pytester, run: Run) -> None:
    """Beside its fixture."""
    pytest.importorskip("pytest_httpx")
    pytester.makepyfile(
        REQUEST
        + """
import httpx


def test_it(httpx_mock, llm_calls):
    httpx_mock.add_response(url=URL, json={})
    httpx.post(URL, json=BODY)
    check(llm_calls)


def test_other_way_round(llm_calls, httpx_mock):
    httpx_mock.add_response(url=URL, json={}, is_reusable=True)
    with httpx.Client() as client:
        client.post(URL, json=BODY)
        client.post(URL, json=BODY)
    check(llm_calls, 2)
"""
    )
    run(plugins=("pytest_httpx",)).assert_outcomes(passed=2)


def test_vcr(pytester: pytest.Pytester, run: Run) -> None:
    """A recorded answer of OpenAI's; the key stands in no record."""
    pytest.importorskip("vcr")
    pytest.importorskip("openai")
    pytest.importorskip("httpx2")
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Here."}, "finish_reason": "stop"}],
    }
    tape = {
        "version": 1,
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "uri": "https://api.openai.com/v1/chat/completions",
                    "body": "",
                    "headers": {},
                },
                "response": {
                    "status": {"code": 200, "message": "OK"},
                    "headers": {"content-type": ["application/json"]},
                    "body": {"string": json.dumps(answer)},
                },
            }
        ],
    }
    (pytester.path / "tape.yaml").write_text(json.dumps(tape))
    pytester.makepyfile(
        REQUEST
        + """
import openai
import vcr


@vcr.use_cassette("tape.yaml", record_mode="none", match_on=["method", "uri"])
def test_it(llm_calls):
    client = openai.OpenAI(api_key="sk-abcdefghijklmnopqrstuvwxyz")
    asked = {**BODY, "stream": False}
    assert client.chat.completions.create(**asked).choices[0].message.content == "Here."
    assert [call.text for call in llm_calls] == ["Where is it?"]
    assert "sk-abc" not in repr(llm_calls) + repr([call.request for call in llm_calls])
"""
    )
    run().assert_outcomes(passed=1)


def test_workers_record_each_their_own(pytester: pytest.Pytester, run: Run) -> None:
    """Under pytest-xdist, with asynchronous tests."""
    pytest.importorskip("xdist")
    pytest.importorskip("pytest_asyncio")
    pytest.importorskip("httpx")
    pytester.makepyfile(
        REQUEST
        + """
import httpx


@pytest.mark.parametrize("number", range(4))
async def test_it(llm_calls, number):
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={}))
    async with httpx.AsyncClient(transport=transport) as client:
        for _ in range(number + 1):
            await client.post(URL, json=BODY)
    check(llm_calls, number + 1)
"""
    )
    run("-n", "2", plugins=("xdist", "pytest_asyncio.plugin")).assert_outcomes(passed=4)


def test_unittest_classes(pytester: pytest.Pytester, run: Run) -> None:
    """The marker holds for their methods, too."""
    pytest.importorskip("httpx")
    pytester.makepyfile(
        REQUEST
        + """
import unittest

import httpx

CLIENT = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, json={})))


class TestRequests(unittest.TestCase):
    @pytest.mark.token_budget(50)
    def test_within(self):
        CLIENT.post(URL, json=BODY)

    @pytest.mark.token_budget(5)
    def test_over(self):
        CLIENT.post(URL, json=BODY)
"""
    )
    run().assert_outcomes(passed=1, failed=1)
