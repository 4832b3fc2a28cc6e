"""llm_calls with the real SDKs, skipped where they are not installed: what each sends, through every way of mocking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from pytest_promptopt import LlmCallError, PromptPrefixError
from pytest_promptopt.calls import LlmCall, LlmCalls
from pytest_promptopt.observing import Recorder, observed

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.filterwarnings("default")  # the SDKs' own

SYSTEM = "Answer from the handbook only. " * 10
KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
CHAT = {"model": "gpt-5", "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Where?"}]}
ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Here."}, "finish_reason": "stop"}],
}
CHUNK = {
    "id": "x",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "gpt-5",
    "choices": [{"index": 0, "delta": {"content": "Here."}, "finish_reason": None}],
}
EVENTS = f"data: {json.dumps(CHUNK)}\n\n".encode() * 3 + b"data: [DONE]\n\n"


@pytest.fixture
def llm_calls() -> Iterator[LlmCalls]:
    """As the plugin's, without the plugin."""
    with Recorder().watching() as calls:
        yield calls


def only(calls: LlmCalls) -> LlmCall:
    """The one request that was recorded."""
    assert len(calls) == 1
    return calls[0]


def texts(call: LlmCall) -> list[str]:
    """The texts of its messages."""
    return [piece.text for piece in call.prompt.pieces()]


def openai_client(respond: Callable[..., Any] | None = None, *, asynchronous: bool = False) -> Any:
    """A client whose transport is a mock: nothing leaves the process."""
    openai, httpx2 = pytest.importorskip("openai"), pytest.importorskip("httpx2")

    def answer(request: Any) -> Any:
        if json.loads(request.content).get("stream"):
            return httpx2.Response(200, content=EVENTS, headers={"content-type": "text/event-stream"})
        return httpx2.Response(200, json=ANSWER)

    transport = httpx2.MockTransport(respond or answer)
    if asynchronous:
        return openai.AsyncOpenAI(
            api_key=KEY, http_client=httpx2.AsyncClient(transport=transport), max_retries=0, base_url="http://llm/v1"
        )
    return openai.OpenAI(
        api_key=KEY, http_client=httpx2.Client(transport=transport), max_retries=0, base_url="http://llm/v1"
    )


def test_openai_chat(llm_calls: LlmCalls) -> None:
    """What is sent, and nothing that is secret."""
    openai_client().chat.completions.create(**CHAT, max_completion_tokens=50)
    call = only(llm_calls)
    assert (call.endpoint, call.model, call.cap, call.stream) == ("chat.completions", "gpt-5", 50, False)
    assert texts(call) == [SYSTEM, "Where?"]
    assert call.address == "http://llm/v1/chat/completions"
    assert KEY not in repr(vars(type(call))) + repr(call) + repr(call.request) + repr(call.prompt)
    assert call.total is not None
    assert call.ttft == call.total
    llm_calls.assert_within(input_tokens=90, max_tokens=50)
    llm_calls.assert_capped()
    with pytest.raises(
        LlmCallError, match=r"1 of 1 LLM requests: no stream asked for\n  request 0 \(chat\.completions"
    ):
        llm_calls.assert_streamed()
    with pytest.raises(LlmCallError, match=r"request 0 .* has about \d+ input tokens, \d+ over 10\n  0: system +\d+"):
        llm_calls.assert_within(input_tokens=10)
    with pytest.raises(LlmCallError, match="more than 49 tokens allowed for the answer"):
        llm_calls.assert_within(max_tokens=49)


def test_openai_streams(llm_calls: LlmCalls) -> None:
    """Synchronous and asynchronous; times of chunks are taken while they are read."""
    chunks = list(openai_client().chat.completions.create(**CHAT, stream=True))
    assert len(chunks) == 3

    async def read() -> int:
        client = openai_client(asynchronous=True)
        return len([chunk async for chunk in await client.chat.completions.create(**CHAT, stream=True)])

    assert asyncio.run(read()) == 3
    assert len(llm_calls) == 2
    llm_calls.assert_streamed()
    llm_calls.assert_stable_prefix(min_ratio=1)
    for call in llm_calls:
        assert call.ttft is not None
        assert call.total is not None
        assert 0 < call.ttft <= call.total
    with pytest.raises(LlmCallError, match="2 of 2 LLM requests: no limit on the answer's tokens"):
        llm_calls.assert_capped()


def test_openai_responses(llm_calls: LlmCalls) -> None:
    """Instructions come first."""
    httpx2 = pytest.importorskip("httpx2")
    openai = pytest.importorskip("openai")
    client = openai_client(lambda _: httpx2.Response(500))
    for question in ("Where?", "When?"):
        with pytest.raises(openai.InternalServerError):
            client.responses.create(model="gpt-5", instructions=SYSTEM, input=question, max_output_tokens=9)
    assert texts(llm_calls[1]) == [SYSTEM, "When?"]
    assert llm_calls[1].cap == 9
    llm_calls.assert_stable_prefix(min_tokens=50)
    with pytest.raises(PromptPrefixError, match=r"they part in 1: user, line 1\n +request 0  Where"):
        llm_calls.assert_stable_prefix(min_ratio=1)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["class", "object", "function"])
def test_openai_methods_that_are_replaced(where: str, monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
    """By mocks or functions, in the class or in one client, before or after recording began; once each."""
    completions = pytest.importorskip("openai.resources.chat.completions").Completions
    client = openai_client()
    double: Any = mock.MagicMock(return_value="Here.")

    def replace() -> None:
        if where == "object":
            monkeypatch.setattr(client.chat.completions, "create", double)
        elif where == "class":
            monkeypatch.setattr(completions, "create", double)
        else:
            monkeypatch.setattr(completions, "create", lambda _, **named: double(**named))

    if not late:
        replace()
    with Recorder().watching() as calls:
        if late:
            replace()
        assert client.chat.completions.create(**CHAT, max_tokens=7, stream=True) == "Here."
        if where == "object":
            client.chat.completions.create.assert_called_once()
            assert isinstance(client.chat.completions.create, mock.MagicMock)
    call = only(calls)
    assert (call.endpoint, call.model, call.cap, call.stream) == ("chat.completions", "gpt-5", 7, True)
    assert texts(call) == [SYSTEM, "Where?"]
    client.chat.completions.create(**CHAT)
    assert len(calls) == 1
    monkeypatch.undo()
    assert client.chat.completions.create(**CHAT).choices
    assert len(calls) == 1


def test_openai_spies_count_once(llm_calls: LlmCalls) -> None:
    """A replaced method that calls the real one has sent one request, and that is what is kept."""
    client = openai_client()
    create = client.chat.completions.create
    with mock.patch.object(client.chat.completions, "create", side_effect=create) as spy:
        client.chat.completions.create(**CHAT)
    spy.assert_called_once()
    assert only(llm_calls).address == "http://llm/v1/chat/completions"


def test_openai_ways_to_call(llm_calls: LlmCalls) -> None:
    """Raw responses, copies with other options, mocks with the signature: each request once; retries are requests."""
    httpx2 = pytest.importorskip("httpx2")
    client = openai_client()
    assert client.chat.completions.with_raw_response.create(**CHAT).parse().choices
    assert client.with_options(timeout=3).chat.completions.create(**CHAT).choices
    assert len(llm_calls) == 2
    with mock.patch("openai.resources.chat.completions.Completions.create", autospec=True) as double:
        client.chat.completions.create(**CHAT, max_tokens=4)
        assert double.call_args.kwargs["max_tokens"] == 4
    assert (len(llm_calls), llm_calls[-1].cap) == (3, 4)
    failing = openai_client(lambda _: httpx2.Response(500)).with_options(max_retries=1)
    with pytest.raises(pytest.importorskip("openai").InternalServerError):
        failing.chat.completions.create(**CHAT)
    assert len(llm_calls) == 5


def test_openai_side_by_side(llm_calls: LlmCalls) -> None:
    """Coroutines of one loop do not take each other's requests."""
    client = openai_client(asynchronous=True)

    async def ask() -> None:
        each = ({**CHAT, "messages": [{"role": "user", "content": f"{n}"}]} for n in range(20))
        await asyncio.gather(*(client.chat.completions.create(**one) for one in each))

    asyncio.run(ask())
    assert sorted(int(call.text) for call in llm_calls) == list(range(20))


def test_openai_asynchronous_mocks(llm_calls: LlmCalls) -> None:
    """AsyncMock in the class."""
    completions = pytest.importorskip("openai.resources.chat.completions")

    async def ask() -> Any:
        return await openai_client(asynchronous=True).chat.completions.create(**CHAT)

    with mock.patch.object(completions.AsyncCompletions, "create", new=mock.AsyncMock(return_value="Here.")):
        assert asyncio.run(ask()) == "Here."
    assert texts(only(llm_calls)) == [SYSTEM, "Where?"]


def test_anthropic(llm_calls: LlmCalls) -> None:
    """Messages, and streams through the context manager that sends late."""
    anthropic, httpx2 = pytest.importorskip("anthropic"), pytest.importorskip("httpx2")
    transport = httpx2.MockTransport(lambda _: httpx2.Response(500))
    client = anthropic.Anthropic(api_key=KEY, http_client=httpx2.Client(transport=transport), max_retries=0)
    tool = {"name": "find", "description": "Finds.", "input_schema": {"type": "object"}}
    asked = {"model": "claude-opus-5", "max_tokens": 20, "messages": [{"role": "user", "content": "Where?"}]}
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    with pytest.raises(anthropic.InternalServerError):
        client.messages.create(**asked, system=system, tools=[tool])
    with pytest.raises(anthropic.InternalServerError), client.messages.stream(**asked, system=SYSTEM):
        pass
    assert [call.stream for call in llm_calls] == [False, True]
    assert texts(llm_calls[0]) == [json.dumps(tool), SYSTEM, "Where?"]
    assert texts(llm_calls[1]) == [SYSTEM, "Where?"]
    with pytest.raises(PromptPrefixError, match="they part in tool 0: find"):
        llm_calls.assert_stable_prefix(min_tokens=50)
    with pytest.raises(
        LlmCallError, match=r"1 of 2 LLM requests: no stream.*\n  request 0 \(messages to claude-opus-5"
    ):
        llm_calls.assert_streamed()


def test_google(llm_calls: LlmCalls) -> None:
    """Contents of every form, system instruction, cap; the stream is in the address, the key in no place."""
    genai, httpx2 = pytest.importorskip("google.genai"), pytest.importorskip("httpx2")
    transport = httpx2.MockTransport(lambda _: httpx2.Response(400, json={}))
    options = genai.types.HttpOptions(httpx_client=httpx2.Client(transport=transport))
    client = genai.Client(api_key="AIza" + "x" * 35, http_options=options)
    config = genai.types.GenerateContentConfig(system_instruction=SYSTEM, max_output_tokens=7)
    content = genai.types.Content(role="user", parts=[genai.types.Part(text="Where?")])
    with pytest.raises(genai.errors.ClientError):
        client.models.generate_content(model="gemini-2.5-pro", contents=[content], config=config)
    with pytest.raises(genai.errors.ClientError):
        list(client.models.generate_content_stream(model="gemini-2.5-pro", contents="Where?", config=config))
    assert [(call.model, call.cap, call.stream) for call in llm_calls] == [
        ("gemini-2.5-pro", 7, False),
        ("gemini-2.5-pro", 7, True),
    ]
    llm_calls.assert_stable_prefix(min_ratio=1)
    assert texts(llm_calls[0]) == [SYSTEM, "Where?"]
    with mock.patch.object(client.models, "generate_content", return_value="Here."):
        client.models.generate_content(model="gemini-2.5-pro", contents=[content], config=config)
    llm_calls.assert_stable_prefix(min_ratio=1)
    assert len(llm_calls) == 3
    assert "AIzax" not in repr([(call, call.request, call.prompt) for call in llm_calls])


def test_google_with_aiohttp(llm_calls: LlmCalls) -> None:
    """The asynchronous client sends through aiohttp where that is installed."""
    genai, aiohttp = pytest.importorskip("google.genai"), pytest.importorskip("aiohttp")

    async def ask() -> None:
        client = genai.Client(api_key="AIza" + "x" * 35)
        with mock.patch.object(aiohttp.ClientSession, "_request", new=mock.AsyncMock(side_effect=ZeroDivisionError)):
            await client.aio.models.generate_content(model="gemini-2.5-pro", contents="Where?")

    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask())
    assert texts(only(llm_calls)) == ["Where?"]
    assert only(llm_calls).address.startswith("https://generativelanguage.googleapis.com/")


def test_aiohttp(llm_calls: LlmCalls) -> None:
    """Requests of a project's own client."""
    aiohttp = pytest.importorskip("aiohttp")

    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            await session.post("http://127.0.0.1:9/v1/chat/completions?key=secret", json=CHAT)

    with pytest.raises(aiohttp.ClientConnectionError):
        asyncio.run(ask())
    assert texts(only(llm_calls)) == [SYSTEM, "Where?"]
    assert only(llm_calls).address == "http://127.0.0.1:9/v1/chat/completions"


def test_requests(llm_calls: LlmCalls) -> None:
    """Those of a project's own client, whatever its adapter does with them."""
    requests = pytest.importorskip("requests")
    session = requests.Session()
    session.mount("http://", mock.MagicMock(send=mock.MagicMock(side_effect=requests.ConnectionError)))
    with pytest.raises(requests.ConnectionError):
        session.post("http://llm/v1/chat/completions", json=CHAT, headers={"Authorization": KEY})
    assert texts(only(llm_calls)) == [SYSTEM, "Where?"]
    assert KEY not in repr(only(llm_calls).request)


def bedrock() -> Any:
    """A client with made-up credentials."""
    boto3 = pytest.importorskip("boto3")
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="AKIAEXAMPLEEXAMPLE",
        aws_secret_access_key="s",  # noqa: S106
    )


CONVERSE = {
    "modelId": "anthropic.claude-x",
    "system": [{"text": SYSTEM}],
    "messages": [{"role": "user", "content": [{"text": "Where?"}]}],
    "inferenceConfig": {"maxTokens": 5},
}


def test_bedrock(llm_calls: LlmCalls) -> None:
    """Converse and InvokeModel, answered by botocore's own stubber; other services are passed by."""
    client = bedrock()
    with pytest.importorskip("botocore.stub").Stubber(client) as stub:
        for operation in ("converse", "converse_stream", "invoke_model"):
            stub.add_client_error(operation)
        with pytest.raises(client.exceptions.ClientError):
            client.converse(**CONVERSE)
        with pytest.raises(client.exceptions.ClientError):
            client.converse_stream(**CONVERSE)
        body = {"system": SYSTEM, "messages": [{"role": "user", "content": "Where?"}], "max_tokens": 5}
        with pytest.raises(client.exceptions.ClientError):
            client.invoke_model(modelId="anthropic.claude-x", body=json.dumps(body))
    assert [(call.endpoint, call.model, call.cap, call.stream) for call in llm_calls] == [
        ("converse", "anthropic.claude-x", 5, False),
        ("converse", "anthropic.claude-x", 5, True),
        ("invoke", "anthropic.claude-x", 5, False),
    ]
    assert [texts(call) for call in llm_calls] == [[SYSTEM, "Where?"]] * 3
    llm_calls.assert_stable_prefix(min_ratio=1)


def test_bedrock_replaced(llm_calls: LlmCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that moto's pages tell for services which it does not have."""
    client = bedrock()
    base = pytest.importorskip("botocore.client").BaseClient
    monkeypatch.setattr(base, "_make_api_call", lambda _, operation, __: {"operation": operation})
    assert client.converse(**CONVERSE) == {"operation": "Converse"}
    assert texts(only(llm_calls)) == [SYSTEM, "Where?"]


def test_langchain_models_for_tests(llm_calls: LlmCalls) -> None:
    """They send nothing: their messages are what is recorded, streams too."""
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    from langchain_core.messages import HumanMessage, SystemMessage  # noqa: PLC0415

    model = models.GenericFakeChatModel(messages=iter(["Here."] * 4))
    asked = [SystemMessage(SYSTEM), HumanMessage("Where?")]
    model.invoke(asked)
    list(model.stream(asked))
    asyncio.run(model.ainvoke(asked))
    assert [texts(call) for call in llm_calls] == [[SYSTEM, "Where?"]] * 3
    assert [call.stream for call in llm_calls] == [False, True, False]
    llm_calls.assert_within(input_tokens=100)


def test_langchain_openai(llm_calls: LlmCalls) -> None:
    """What the SDK below sends takes the place of LangChain's messages: one request each."""
    chat = pytest.importorskip("langchain_openai")
    client = openai_client()
    model = chat.ChatOpenAI(model="gpt-5", api_key=KEY, max_tokens=50)
    model.client = client.chat.completions
    model.root_client = client
    model.invoke("Where?")
    assert (only(llm_calls).endpoint, only(llm_calls).cap) == ("chat.completions", 50)
    assert texts(only(llm_calls)) == ["Where?"]
    list(model.stream("Where?"))
    assert len(llm_calls) == 2
    assert llm_calls[1].stream


LITELLM = """\
import asyncio

import httpx
import litellm

CHAT = {"model": "anthropic/claude-opus-5", "messages": [{"role": "user", "content": "Where?"}]}


def texts(llm_calls):
    return [[piece.text for piece in call.prompt.pieces()] for call in llm_calls]


def test_answers_given_in_advance(llm_calls):
    assert litellm.completion(**CHAT, max_tokens=9, mock_response="Here.").choices
    asyncio.run(litellm.acompletion(**CHAT, mock_response="Here."))
    list(litellm.completion(**CHAT, mock_response="Here.", stream=True))
    assert texts(llm_calls) == [["Where?"]] * 3
    assert [call.stream for call in llm_calls] == [False, False, True]


def test_replaced(llm_calls, monkeypatch):
    monkeypatch.setattr(litellm, "completion", lambda **named: "Here.")
    assert litellm.completion(**CHAT, max_tokens=9, api_key="sk-abcdefghijklmnopqrstuvwxyz") == "Here."
    assert (texts(llm_calls), llm_calls[0].cap) == ([["Where?"]], 9)
    assert "sk-abc" not in repr(llm_calls[0].request)


def test_sent(llm_calls, monkeypatch):
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_reason": "end_turn",
              "content": [{"type": "text", "text": "Here."}], "usage": {"input_tokens": 1, "output_tokens": 1}}
    respond = lambda self, request: httpx.Response(200, json=answer)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", respond)
    assert litellm.completion(**CHAT, max_tokens=9, api_key="none").choices[0].message.content == "Here."
    assert [(call.endpoint, call.model, call.cap) for call in llm_calls] == [("messages", "claude-opus-5", 9)]
    assert texts(llm_calls) == [["Where?"]]
"""


def test_litellm(pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers given in advance, a replaced function, and what it sends; loaded in a process of its own."""
    if not find_spec("litellm"):
        pytest.skip("litellm is not installed")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pytester.makepyfile(LITELLM)
    run().assert_outcomes(passed=3)


PLACES = [(kind, entry) for kind in ("clients", "methods") for entry in observed(kind)]


@pytest.mark.parametrize(("kind", "entry"), PLACES, ids=[entry["module"] for _, entry in PLACES])
def test_what_is_watched_is_there(kind: str, entry: dict[str, Any]) -> None:
    """Each class and method that `observed.toml` names is in the package as it is installed."""
    if entry["module"].startswith("litellm"):
        pytest.skip("litellm takes seconds to load; the test of LiteLLM runs it")
    module = pytest.importorskip(entry["module"])
    methods = [entry["method"]] if kind == "clients" else entry["methods"]
    for owner in entry["classes"]:
        missing = [name for name in methods if not hasattr(getattr(module, owner), name)]
        assert missing in ([], ["parse"]), owner


def test_stand_ins_of_the_projects_own(llm_calls: LlmCalls) -> None:
    """A client that is replaced as a whole is seen where its function is wrapped."""
    create = llm_calls.wrap(lambda **_: "Here.")
    assert create(**CHAT, max_tokens=3) == "Here."
    assert texts(only(llm_calls)) == [SYSTEM, "Where?"]
    with pytest.raises(ValueError, match="only the fixture llm_calls itself records"):
        llm_calls[:1].wrap(create)
