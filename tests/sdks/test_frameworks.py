"""Look-ups in the shipped files of frameworks, by names as code resolves them."""

from __future__ import annotations

import pytest

from promptopt.sdks import load_catalogue
from promptopt.sdks.schema import CallShape
from promptopt.sources import load_sources


def constructor(name: str) -> CallShape:
    """The request of the agent or chain that calling `name` makes."""
    found = load_catalogue().constructor(name)
    assert found is not None, name
    return found[1]


@pytest.mark.parametrize(
    ("name", "sdk", "provider"),
    [
        ("langchain_openai.ChatOpenAI", "langchain", "openai"),
        ("langchain.chat_models.ChatOpenAI", "langchain", "openai"),
        ("langchain_community.chat_models.ChatOpenAI", "langchain", "openai"),
        ("langchain_openai.chat_models.azure.AzureChatOpenAI", "langchain", "azure"),
        ("langchain_openai.OpenAI", "langchain", "openai"),
        ("langchain_anthropic.ChatAnthropic", "langchain", "anthropic"),
        ("langchain_google_genai.ChatGoogleGenerativeAI", "langchain", "google"),
        ("langchain_google_vertexai.model_garden.ChatAnthropicVertex", "langchain", "vertex"),
        ("langchain_aws.ChatBedrockConverse", "langchain", "bedrock"),
        ("langchain_ollama.ChatOllama", "langchain", "ollama"),
        ("langchain.llms.ollama.Ollama", "langchain", "ollama"),
        ("langchain_community.chat_models.litellm.ChatLiteLLM", "langchain", None),
        ("langchain.chat_models.init_chat_model", "langchain", None),
        ("llama_index.llms.openai.OpenAI", "llama-index", "openai"),
        ("llama_index.llms.OpenAI", "llama-index", "openai"),
        ("llama_index.llms.anthropic.Anthropic", "llama-index", "anthropic"),
        ("llama_index.llms.google_genai.GoogleGenAI", "llama-index", "google"),
        ("llama_index.llms.openai_like.OpenAILike", "llama-index", None),
        ("crewai.LLM", "crewai", None),
        ("openai.OpenAI", "openai", "openai"),
        ("langchain_openai.OpenAIEmbeddings", None, None),
        ("langchain_openai.chat_models", None, None),
        ("langchain_chroma.Chroma", None, None),
        ("llama_index.embeddings.openai.OpenAIEmbedding", None, None),
        ("gpt_researcher.llm_provider.ChatOpenAI", None, None),
        ("agno.models.openai.OpenAIChat", None, None),
        ("crewai.Agent", None, None),
    ],
)
def test_clients(name: str, sdk: str | None, provider: str | None) -> None:
    """A model class is known by its last name under its framework's root, and by nothing less."""
    found = load_catalogue().client(name)
    assert (found[0].name if found else None) == sdk
    assert (found[1].provider if found else None) == provider


@pytest.mark.parametrize(
    ("name", "sdk"),
    [
        ("langchain_core.language_models.BaseChatModel", "langchain"),
        ("langchain.chat_models.base.BaseChatModel", "langchain"),
        ("langchain_core.language_models.LanguageModelLike", "langchain"),
        ("langchain_anthropic.ChatAnthropic", "langchain"),
        ("llama_index.core.llms.LLM", "llama-index"),
        ("llama_index.llms.base.LLM", "llama-index"),
        ("crewai.llms.base_llm.BaseLLM", "crewai"),
        ("langchain_core.runnables.Runnable", None),
        ("langchain_core.retrievers.BaseRetriever", None),
        ("langchain_core.tools.BaseTool", None),
        ("llama_index.core.base.base_query_engine.BaseQueryEngine", None),
    ],
)
def test_annotations(name: str, sdk: str | None) -> None:
    """A parameter holds a model where its annotation can be nothing else."""
    found = load_catalogue().client_annotation(name)
    assert (found[0].name if found else None) == sdk


@pytest.mark.parametrize(
    ("client", "path", "endpoint"),
    [
        ("langchain_openai.ChatOpenAI", "invoke", "invoke"),
        ("langchain_openai.ChatOpenAI", "ainvoke", "invoke"),
        ("langchain_openai.OpenAI", "__call__", "invoke"),
        ("langchain_anthropic.ChatAnthropic", "astream", "stream"),
        ("langchain_anthropic.ChatAnthropic", "abatch", "batch"),
        ("langchain_anthropic.ChatAnthropic", "bind_tools", None),
        ("langchain_anthropic.ChatAnthropic", "get_num_tokens_from_messages", None),
        ("llama_index.llms.openai.OpenAI", "chat", "chat"),
        ("llama_index.llms.openai.OpenAI", "astream_complete", "complete"),
        ("llama_index.llms.openai.OpenAI", "apredict", "predict"),
        ("llama_index.llms.openai.OpenAI", "structured_predict", "structured_predict"),
        ("llama_index.llms.openai.OpenAI", "predict_and_call", "chat_with_tools"),
        ("llama_index.llms.openai.OpenAI", "invoke", None),
        ("crewai.LLM", "acall", "llm"),
        ("crewai.LLM", "get_context_window_size", None),
    ],
)
def test_methods(client: str, path: str, endpoint: str | None) -> None:
    """What sends a request is told from what only configures or counts."""
    catalogue = load_catalogue()
    found = catalogue.client(client)
    assert found is not None
    call = catalogue.method(found[1], path)
    assert (call[1].endpoint if call else None) == endpoint


def test_no_runnable_method_is_taken_for_a_request_on_an_unknown_receiver() -> None:
    """Retrievers, tools and graphs have methods of these names as well."""
    catalogue = load_catalogue()
    for path in ("invoke", "ainvoke", "stream", "batch", "chat", "complete", "predict", "call"):
        assert catalogue.unmistakable(path) is None, path


def test_a_query_engine_is_known_by_its_method_alone() -> None:
    """Indices come from many factories; the method's name is unlike any other."""
    found = load_catalogue().unmistakable("index.as_query_engine")
    assert found is not None
    assert found[1].messages == ("text_qa_template",)


def test_the_global_model_of_llama_index_is_called_like_a_function() -> None:
    """`Settings.llm` is a model that no constructor in sight made."""
    found = load_catalogue().function("llama_index.core.Settings.llm.complete")
    assert found is not None
    assert found[1].messages == ("prompt", 0)
    assert load_catalogue().function("llama_index.core.Settings.embed_model.complete") is None


def test_a_batch_sends_each_element_of_its_list_alone() -> None:
    """The list of a batch is not one conversation."""
    catalogue = load_catalogue()
    found = catalogue.client("langchain_openai.ChatOpenAI")
    assert found is not None
    batches = {
        path: call[1].batch for path in ("batch", "generate", "invoke") if (call := catalogue.method(found[1], path))
    }
    assert batches == {"batch": True, "generate": True, "invoke": False}


def test_every_chat_model_of_langchain_composes_and_stays_itself_when_configured() -> None:
    """`prompt | model.bind_tools(tools)` is a request whatever the model."""
    (langchain,) = (sdk for sdk in load_catalogue().sdks if sdk.name == "langchain")
    for client in langchain.clients:
        assert client.runnable, client.symbols
        assert {"bind", "with_config", "with_retry", "with_structured_output"} <= set(client.passthrough), (
            client.symbols
        )
        assert "bind_tools" in client.tools_methods, client.symbols


@pytest.mark.parametrize(
    ("name", "system", "messages", "tools"),
    [
        ("langchain.agents.create_agent", "system_prompt", None, "tools"),
        ("deepagents.create_deep_agent", "system_prompt", None, "tools"),
        ("langgraph.prebuilt.create_react_agent", "prompt", None, "tools"),
        ("langgraph_supervisor.create_supervisor", "prompt", None, "tools"),
        ("langchain.agents.create_tool_calling_agent", None, "prompt", "tools"),
        ("langchain.agents.create_openai_tools_agent", None, "prompt", "tools"),
        ("langchain.agents.create_react_agent", None, "prompt", None),
        ("agents.Agent", "instructions", None, "tools"),
        ("agents.agent.Agent", "instructions", None, "tools"),
        ("agents.sandbox.SandboxAgent", "base_instructions", None, "tools"),
        ("agents.realtime.RealtimeAgent", "instructions", None, "tools"),
        ("pydantic_ai.Agent", "system_prompt", None, "tools"),
        ("crewai.Agent", "system_template", None, "tools"),
        ("agno.agent.Agent", "system_message", None, "tools"),
        ("agno.team.Team", "system_message", None, "tools"),
        ("phi.agent.Agent", "system_prompt", None, "tools"),
        ("llama_index.core.agent.workflow.FunctionAgent", "system_prompt", "prefix_messages", "tools"),
        ("llama_index.core.agent.ReActAgent.from_tools", "context", None, "tools"),
        (
            "llama_index.core.agent.workflow.AgentWorkflow.from_tools_or_functions",
            "system_prompt",
            None,
            "tools_or_functions",
        ),
    ],
)
def test_agents_carry_their_prompt_and_go_on_in_turns(
    name: str, system: str | None, messages: str | None, tools: str | None
) -> None:
    """An agent's system text is sent again ahead of turns that only grow."""
    call = constructor(name)
    assert next(iter(call.system), None) == system
    assert next(iter(call.messages), None) == messages
    assert next(iter(call.tools), None) == tools
    assert call.history == "agent"


@pytest.mark.parametrize(
    "name",
    [
        "acme.agents.Agent",
        "livekit.agents.Agent",
        "langchain.agents.AgentExecutor",
        "langgraph.graph.StateGraph",
        "llama_index.core.chat_engine.ContextChatEngine.from_defaults",
        "pydantic_ai.RunContext",
        "crewai.Crew",
        "browser_use.Agent",
    ],
)
def test_what_is_no_agent(name: str) -> None:
    """Namesakes in other packages and objects without a prompt of their own are not agents."""
    assert load_catalogue().constructor(name) is None


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("langchain.chains.LLMChain", ("prompt",)),
        ("langchain.chains.llm.LLMChain", ("prompt",)),
        ("langchain.chains.RetrievalQA.from_chain_type", ("chain_type_kwargs.prompt",)),
        ("langchain.chains.combine_documents.create_stuff_documents_chain", ("prompt", 1)),
    ],
)
def test_a_chain_runs_one_prompt_without_history(name: str, messages: tuple[str | int, ...]) -> None:
    """A chain's prompt is all that it sends."""
    call = constructor(name)
    assert call.messages == messages
    assert call.history is None


def test_system_text_comes_in_the_order_in_which_the_framework_joins_it() -> None:
    """What stands before what decides what a volatile value costs."""
    assert constructor("crewai.Agent").system[1:] == ("role", "backstory", "goal")
    agno = constructor("agno.agent.Agent").system
    assert agno[1:] == ("description", "goal", "role", "instructions", "expected_output", "additional_context")
    assert constructor("pydantic_ai.Agent").system == ("system_prompt", "instructions")


def test_flags_put_a_day_or_a_time_into_the_prompt() -> None:
    """A crewAI flag writes a day, an agno flag a time to the microsecond, unless a format says otherwise."""
    flags = {
        (name, flag.argument): (flag.cause, flag.format)
        for name in ("crewai.Agent", "agno.agent.Agent", "agno.team.Team", "phi.agent.Agent")
        for flag in constructor(name).flags
    }
    assert flags == {
        ("crewai.Agent", "inject_date"): ("date", "date_format"),
        ("agno.agent.Agent", "add_datetime_to_context"): ("time-of-day", "datetime_format"),
        ("agno.agent.Agent", "add_datetime_to_instructions"): ("time-of-day", None),
        ("agno.team.Team", "add_datetime_to_context"): ("time-of-day", "datetime_format"),
        ("agno.team.Team", "add_datetime_to_instructions"): ("time-of-day", None),
        ("phi.agent.Agent", "add_datetime_to_instructions"): ("time-of-day", None),
    }
    assert {cause for cause, _ in flags.values()} <= load_sources().kinds.keys()


def test_hooks_add_system_text_for_each_request() -> None:
    """Functions under these decorators are evaluated anew for each request."""
    catalogue = load_catalogue()
    assert catalogue.hook("langchain.agents.middleware.dynamic_prompt") is not None
    assert catalogue.hook("langchain.agents.middleware.before_model") is None
    assert catalogue.hook("langchain_core.tools.tool") is None
    assert set(constructor("pydantic_ai.Agent").hooks) == {"instructions", "system_prompt"}
    assert constructor("pydantic_ai.Agent").hooks_once == ("system_prompt",)


@pytest.mark.parametrize(
    ("name", "role", "template"),
    [
        ("langchain_core.messages.SystemMessage", "system", False),
        ("langchain.schema.SystemMessage", "system", False),
        ("langchain.schema.messages.HumanMessage", "user", False),
        ("langchain_core.messages.AIMessage", "assistant", False),
        ("langchain_core.messages.ToolMessage", "tool", False),
        ("langchain_core.prompts.SystemMessagePromptTemplate.from_template", "system", True),
        ("langchain.prompts.HumanMessagePromptTemplate.from_template", "user", True),
        ("langchain.prompts.chat.AIMessagePromptTemplate", "assistant", True),
    ],
)
def test_messages_of_one_role(name: str, role: str, *, template: bool) -> None:
    """Message classes are known by every import path they have had."""
    found = load_catalogue().message(name)
    assert found is not None
    assert (found[1].role, found[1].template, found[1].placeholder) == (role, template, False)


def test_messages_whose_role_is_an_argument() -> None:
    """One class for all roles says its role where it is made."""
    catalogue = load_catalogue()
    for name in ("langchain_core.messages.ChatMessage", "llama_index.core.llms.ChatMessage"):
        found = catalogue.message(name)
        assert found is not None
        assert (found[1].role, found[1].role_argument) == (None, ("role",))


def test_a_placeholder_names_the_variable_that_holds_earlier_turns() -> None:
    """A placeholder stands for history, not for text."""
    found = load_catalogue().message("langchain_core.prompts.MessagesPlaceholder")
    assert found is not None
    assert found[1].placeholder
    assert found[1].content == ("variable_name", 0)


@pytest.mark.parametrize("name", ["langchain_core.documents.Document", "langchain_core.messages.RemoveMessage"])
def test_what_is_no_message(name: str) -> None:
    """Neither a passage nor an order to delete is content of a request."""
    assert load_catalogue().message(name) is None


@pytest.mark.parametrize(
    ("name", "kind", "engine", "render", "partial"),
    [
        ("langchain.prompts.PromptTemplate", "text", "f-string", "format_prompt", "partial"),
        ("langchain_core.prompts.PromptTemplate.from_template", "text", "f-string", "invoke", "partial"),
        ("langchain_core.prompts.ChatPromptTemplate.from_template", "text", "f-string", "format_messages", "partial"),
        ("langchain_core.prompts.ChatPromptTemplate", "chat", "f-string", "format_messages", "partial"),
        ("langchain.prompts.ChatPromptTemplate.from_messages", "chat", "f-string", "invoke", "partial"),
        ("llama_index.core.PromptTemplate", "text", "f-string", "format", "partial_format"),
        ("llama_index.core.prompts.RichPromptTemplate", "text", "jinja2", "format_messages", "partial_format"),
        ("llama_index.core.prompts.ChatPromptTemplate", "chat", "f-string", "format_messages", "partial_format"),
    ],
)
def test_templates(name: str, kind: str, engine: str, render: str, partial: str) -> None:
    """Templates are known by class and by factory, with their engine and their methods."""
    found = load_catalogue().template(name)
    assert found is not None
    assert (found[1].kind, found[1].format, found[1].partial) == (kind, engine, (partial,))
    assert render in found[1].render


def test_message_objects_are_templates_in_llama_index_but_not_in_langchain() -> None:
    """Braces in a LangChain `SystemMessage` are sent as they stand."""
    formats = {
        name: found[1].formats_messages
        for name in ("llama_index.core.ChatPromptTemplate", "langchain_core.prompts.ChatPromptTemplate")
        if (found := load_catalogue().template(name))
    }
    assert formats == {
        "llama_index.core.ChatPromptTemplate": True,
        "langchain_core.prompts.ChatPromptTemplate": False,
    }


def test_the_handoff_prefix_of_the_agents_sdk_is_constant_text() -> None:
    """The SDK's own text does not change from request to request."""
    catalogue = load_catalogue()
    assert catalogue.is_constant("agents.extensions.handoff_prompt.RECOMMENDED_PROMPT_PREFIX")
    assert not catalogue.is_constant("agents.extensions.handoff_prompt.prompt_with_handoff_instructions")


@pytest.mark.parametrize(
    ("client", "path", "arguments"),
    [
        ("langchain_openai.ChatOpenAI", "invoke", {"client.model", "client.model_name", "client.0"}),
        ("llama_index.llms.openai.OpenAI", "chat", {"client.model", "client.0"}),
        ("crewai.LLM", "call", {"client.model", "client.0"}),
    ],
)
def test_the_model_is_read_from_the_client(client: str, path: str, arguments: set[str]) -> None:
    """A request names no model where its client does."""
    catalogue = load_catalogue()
    found = catalogue.client(client)
    assert found is not None
    call = catalogue.method(found[1], path)
    assert call is not None
    assert arguments <= set(call[1].parameters["model"])
