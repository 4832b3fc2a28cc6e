"""The trimmers inside the frameworks that they are for: the real packages, where they are installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import jinja2
import pytest

from promptopt import ContextTrimmer, HistoryTrimmer, TrimError

pytestmark = pytest.mark.filterwarnings("default")  # the frameworks' own

QUESTION = "When did the opera house in Oslo open?"
TEXT = "Oslo is the capital of Norway. Its opera house opened in 2008. Trams run there."
OTHER = "It rains often."
ANSWER = "Its opera house opened in 2008."
TRIMMER = ContextTrimmer(45, count=len)
HISTORY = HistoryTrimmer(3, step=0, count=len)


def framework(name: str) -> Any:
    """A module of a framework, or a skipped test."""
    return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed: pip install '.[adapters]'")


def test_no_framework_is_loaded_before_its_adapter() -> None:
    """The trimmers alone import none of them, and Jinja's filter needs no Jinja."""
    code = "import sys, promptopt.trim, promptopt.trim.adapters.jinja; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"langchain_core", "langchain", "llama_index", "haystack", "pydantic", "jinja2"} & set(loaded)


def test_jinja_filter() -> None:
    """The filter's text stands in the prompt; a budget in the template goes before the trimmer's."""
    from promptopt.trim.adapters.jinja import context_filter  # noqa: PLC0415

    environment = jinja2.Environment(autoescape=False)  # noqa: S701 (prompts are no HTML)
    environment.filters["trim_context"] = context_filter(ContextTrimmer(200, count=len))
    template = environment.from_string("{{ passages | trim_context(question, 45) }}\n\n{{ question }}")
    passages = [{"title": "Oslo", "text": TEXT}, OTHER]
    assert template.render(passages=passages, question=QUESTION) == f"Oslo\n{ANSWER}\n\n{QUESTION}"
    wide = environment.from_string("{{ passages | trim_context(question) }}")
    assert wide.render(passages=passages, question=QUESTION) == f"Oslo\n{TEXT}\n\n{OTHER}"
    with pytest.raises(TrimError, match="the query is Undefined"):
        wide.render(passages=passages)


def test_langchain_compressor() -> None:
    """Documents come back shorter, with id and metadata, from both of its methods and inside a chain."""
    documents = framework("langchain_core.documents")
    runnables = framework("langchain_core.runnables")
    from promptopt.trim.adapters.langchain import DocumentTrimmer  # noqa: PLC0415

    given = [
        documents.Document(page_content=TEXT, metadata={"title": "Oslo", "source": "a"}, id="1"),
        documents.Document(page_content=OTHER, id="2"),
    ]
    expected = [documents.Document(page_content=ANSWER, metadata={"title": "Oslo", "source": "a"}, id="1")]
    compressor = DocumentTrimmer(trimmer=TRIMMER)
    assert isinstance(compressor, documents.BaseDocumentCompressor)
    assert compressor.compress_documents(given, QUESTION) == expected
    assert asyncio.run(compressor.acompress_documents(given, QUESTION)) == expected
    chain = runnables.RunnableLambda(lambda question: compressor.compress_documents(given, question))
    assert chain.invoke(QUESTION) == expected
    assert given[0].page_content == TEXT
    with pytest.raises(ValueError, match="trimmer"):
        DocumentTrimmer(trimmer=800)


def conversation() -> tuple[list[Any], list[Any]]:
    """LangChain messages with a tool call, and what three messages of room leave of them."""
    messages = framework("langchain_core.messages")
    call = {"name": "find", "args": {}, "id": "c1", "type": "tool_call"}
    system, last = messages.SystemMessage("Be brief."), messages.HumanMessage("And now?")
    between = [
        messages.HumanMessage("Look it up."),
        messages.AIMessage("", tool_calls=[call]),
        messages.ToolMessage("found", tool_call_id="c1"),
    ]
    return [system, *between, last], [system, last]


def test_langchain_runnable() -> None:
    """It takes lists, tuples and prompt values, and is awaited in asynchronous chains."""
    prompts = framework("langchain_core.prompts")
    from promptopt.trim.adapters.langchain import message_trimmer  # noqa: PLC0415

    messages, expected = conversation()
    runnable = message_trimmer(HISTORY)
    assert runnable.invoke(messages) == expected
    assert asyncio.run(runnable.ainvoke(messages)) == expected
    prompt = prompts.ChatPromptTemplate([("system", "Be brief."), prompts.MessagesPlaceholder("history")])
    assert (prompt | runnable).invoke({"history": messages[1:]}) == expected
    assert [message.content for message in runnable.invoke([("system", "a"), ("human", "b")])] == ["a", "b"]

    async def summarizer(messages: Any) -> str:
        return f"{len(messages)} before"

    summarizing = HistoryTrimmer(3, step=0, count=len, summarizer=summarizer, summary_tokens=1)
    sent = asyncio.run(message_trimmer(summarizing).ainvoke(messages))
    assert [message.type for message in sent] == ["system", "human", "human"]
    assert "3 before" in sent[1].content


def test_langchain_middleware() -> None:
    """The agent's model is sent a legal part of the conversation, its state keeps all of it."""
    agents = framework("langchain.agents")
    models = framework("langchain_core.language_models.fake_chat_models")
    messages = framework("langchain_core.messages")
    from promptopt.trim.adapters.langchain_agents import HistoryMiddleware  # noqa: PLC0415

    sent: list[list[Any]] = []

    class Model(models.GenericFakeChatModel):  # type: ignore[misc, name-defined]  # where LangChain is not installed
        """A model that remembers what it was sent."""

        def _generate(self, messages: Any, *others: Any, **options: Any) -> Any:
            sent.append(messages)
            return super()._generate(messages, *others, **options)

    given, expected = conversation()
    model = Model(messages=iter([messages.AIMessage("one"), messages.AIMessage("two")]))
    agent = agents.create_agent(model, system_prompt="Be brief.", middleware=[HistoryMiddleware(HISTORY)])
    state = agent.invoke({"messages": given[1:]})
    assert [(message.type, message.content) for message in sent[0]] == [(m.type, m.content) for m in expected]
    assert len(state["messages"]) == len(given)
    asyncio.run(agent.ainvoke({"messages": given[1:]}))
    assert [message.content for message in sent[1]] == [message.content for message in expected]


def test_llama_index_postprocessor() -> None:
    """Nodes come back shorter, with id, score and metadata; the index's own nodes stay as they are."""
    schema = framework("llama_index.core.schema")
    types = framework("llama_index.core.postprocessor.types")
    from promptopt.trim.adapters.llama_index import NodeTrimmer  # noqa: PLC0415

    node = schema.TextNode(text=TEXT, metadata={"title": "Oslo", "source": "a"}, id_="1")
    nodes = [
        schema.NodeWithScore(node=node, score=0.5),
        schema.NodeWithScore(node=schema.TextNode(text=OTHER), score=0.9),
    ]
    trimmer = NodeTrimmer(TRIMMER)
    assert isinstance(trimmer, types.BaseNodePostprocessor)
    for trimmed in (
        trimmer.postprocess_nodes(nodes, query_str=QUESTION),
        asyncio.run(trimmer.apostprocess_nodes(nodes, query_bundle=schema.QueryBundle(QUESTION))),
    ):
        assert [(one.text, one.score, one.node_id, one.metadata) for one in trimmed] == [
            (ANSWER, 0.5, "1", {"title": "Oslo", "source": "a"})
        ]
    assert node.text == TEXT
    with pytest.raises(TrimError, match="give query_str"):
        trimmer.postprocess_nodes(nodes)


def test_haystack_component(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in a pipeline that was written to YAML and read again, and feeds a prompt builder."""
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    haystack = framework("haystack")
    builders = framework("haystack.components.builders")
    from promptopt.trim.adapters.haystack import DocumentTrimmer  # noqa: PLC0415

    pipeline = haystack.Pipeline()
    pipeline.add_component("trimmer", DocumentTrimmer(15, order="relevance"))
    pipeline.add_component("prompt", builders.PromptBuilder("{{ context }}", required_variables=["context"]))
    pipeline.connect("trimmer.text", "prompt.context")
    copy = haystack.Pipeline.loads(pipeline.dumps(), unsafe=True)
    documents = [haystack.Document(content=TEXT, meta={"title": "Oslo"}, id="1"), haystack.Document(content=OTHER)]
    for one in (pipeline, copy):
        one.warm_up()
        result = one.run({"trimmer": {"query": QUESTION, "documents": documents}}, include_outputs_from={"trimmer"})
        assert result["prompt"]["prompt"] == f"Oslo\n{ANSWER}"
        assert result["trimmer"]["documents"] == [haystack.Document(content=ANSWER, meta={"title": "Oslo"}, id="1")]
    with pytest.raises(TrimError, match="budget is 0"):
        DocumentTrimmer(0)
    with pytest.raises(TrimError, match="ranker is 'magic'"):
        DocumentTrimmer(9, ranker="magic").warm_up()  # type: ignore[arg-type]
