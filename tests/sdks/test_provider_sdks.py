"""Look-ups in the shipped files of providers and gateways, by names as code resolves them."""

from __future__ import annotations

import pytest

from promptopt.sdks import load_catalogue


@pytest.mark.parametrize(
    ("name", "sdk", "provider"),
    [
        ("openai.OpenAI", "openai", "openai"),
        ("openai.AsyncOpenAI", "openai", "openai"),
        ("openai.AzureOpenAI", "openai", "azure"),
        ("openai.lib.azure.AsyncAzureOpenAI", "openai", "azure"),
        ("langfuse.openai.OpenAI", "openai", "openai"),
        ("langfuse.openai.openai.AsyncOpenAI", "openai", "openai"),
        ("langfuse.OpenAI", None, None),
        ("anthropic.Anthropic", "anthropic", "anthropic"),
        ("anthropic.AsyncAnthropicBedrock", "anthropic", "bedrock"),
        ("anthropic.AnthropicVertex", "anthropic", "vertex"),
        ("anthropic.AnthropicFoundry", "anthropic", "azure"),
        ("litellm.Router", "litellm", None),
        ("google.genai.Client", "google-genai", "google"),
        ("google.genai.client.Client", "google-genai", "google"),
        ("google.generativeai.GenerativeModel", "google-generativeai", "google"),
        ("vertexai.preview.generative_models.GenerativeModel", "vertexai", "vertex"),
        ("vllm.LLM", "vllm", "vllm"),
        ("vllm.entrypoints.llm.LLM", "vllm", "vllm"),
        ("vllm.AsyncLLMEngine.from_engine_args", "vllm", "vllm"),
        ("groq.AsyncGroq", "groq", "groq"),
        ("together.Together", "together", "together"),
        ("mistralai.Mistral", "mistralai", "mistral"),
        ("mistralai.client.Mistral", "mistralai", "mistral"),
        ("cohere.ClientV2", "cohere", "cohere"),
        ("cohere.Client", "cohere-v1", "cohere"),
        ("ollama.AsyncClient", "ollama", "ollama"),
        ("langsmith.wrappers.wrap_openai", "openai", None),
        ("langsmith.wrap_anthropic", "anthropic", None),
        ("langsmith.wrappers._gemini.wrap_gemini", "google-genai", None),
        ("braintrust.wrap_openai", "openai", None),
        ("instructor.patch", "openai", None),
        ("instructor.from_anthropic", "instructor", None),
        ("instructor.from_provider", "instructor", None),
        ("twilio.rest.Client", None, None),
        ("discord.Client", None, None),
        ("google.cloud.storage.Client", None, None),
        ("google.cloud.bigquery.client.Client", None, None),
        ("acme.llm.OpenAI", None, None),
        ("anthropic_tools.Anthropic", None, None),
        ("openai.RateLimitError", None, None),
        ("openai.OpenAI.with_options", None, None),
        ("fastapi.Router", None, None),
        ("vllm.SamplingParams", None, None),
    ],
)
def test_clients(name: str, sdk: str | None, provider: str | None) -> None:
    """Clients are known by class and package; the same class name elsewhere is none."""
    found = load_catalogue().client(name)
    assert (found[0].name if found else None) == sdk
    assert (found[1].provider if found else None) == provider


@pytest.mark.parametrize(
    ("client", "path", "endpoint"),
    [
        ("openai.OpenAI", "chat.completions.create", "chat.completions"),
        ("openai.OpenAI", "chat.completions.with_raw_response.create", "chat.completions"),
        ("openai.AsyncOpenAI", "with_streaming_response.chat.completions.create", "chat.completions"),
        ("openai.OpenAI", "beta.chat.completions.parse", "chat.completions"),
        ("openai.AzureOpenAI", "responses.stream", "responses"),
        ("openai.OpenAI", "completions.create", "completions"),
        ("openai.OpenAI", "beta.threads.runs.create_and_poll", "assistants.runs"),
        ("openai.OpenAI", "embeddings.create", None),
        ("openai.OpenAI", "messages.create", None),
        ("openai.OpenAI", "images.generate", None),
        ("anthropic.Anthropic", "messages.create", "messages"),
        ("anthropic.AsyncAnthropic", "messages.stream", "messages"),
        ("anthropic.Anthropic", "messages.with_raw_response.create", "messages"),
        ("anthropic.AnthropicBedrock", "beta.messages.create", "messages"),
        ("anthropic.Anthropic", "beta.messages.tool_runner", "messages.tool_runner"),
        ("anthropic.Anthropic", "messages.count_tokens", None),
        ("anthropic.Anthropic", "messages.batches.create", None),
        ("anthropic.Anthropic", "chat.completions.create", None),
        ("litellm.Router", "acompletion", "chat.completions"),
        ("litellm.Router", "aembedding", None),
        ("google.genai.Client", "models.generate_content", "models.generate_content"),
        ("google.genai.Client", "aio.models.generate_content_stream", "models.generate_content"),
        ("google.genai.Client", "aio.chats.create", "chats"),
        ("google.genai.Client", "models.embed_content", None),
        ("google.genai.Client", "generate_content", None),
        ("google.generativeai.GenerativeModel", "generate_content_async", "generate_content"),
        ("google.generativeai.GenerativeModel", "start_chat", "start_chat"),
        ("google.generativeai.GenerativeModel", "count_tokens", None),
        ("vllm.LLM", "generate", "generate"),
        ("vllm.LLM", "chat", "chat"),
        ("vllm.LLM", "embed", None),
        ("instructor.from_openai", "chat.completions.create", "create"),
        ("instructor.from_provider", "create_with_completion", "create"),
        ("instructor.from_anthropic", "messages.create", "create"),
        ("instructor.from_openai", "embeddings.create", None),
        ("cohere.ClientV2", "chat", "v2.chat"),
        ("cohere.Client", "chat", "chat"),
        ("cohere.Client", "rerank", None),
        ("mistralai.Mistral", "chat.complete_async", "chat"),
        ("ollama.Client", "embed", None),
    ],
)
def test_methods(client: str, path: str, endpoint: str | None) -> None:
    """Methods that send a prompt are known, their neighbours are not."""
    catalogue = load_catalogue()
    shape = catalogue.client(client)
    assert shape is not None
    found = catalogue.method(shape[1], path)
    assert (found[1].endpoint if found else None) == endpoint


@pytest.mark.parametrize(
    ("path", "sdk"),
    [
        ("client.chat.completions.create", "openai"),
        ("self._llm.client.beta.chat.completions.parse", "openai"),
        ("get_client().chat.completions.with_raw_response.create", "openai"),
        ("client.responses.create", "openai"),
        ("client.aio.models.generate_content", "google-genai"),
        ("client.beta.messages.create", "anthropic"),
        ("client.messages.create", None),
        ("client.completions.create", None),
        ("model.generate_content", None),
        ("llm.generate", None),
        ("llm.chat", None),
        ("router.acompletion", None),
        ("client.chat.complete", None),
        ("user_responses.create", None),
        ("chat_completions.create", None),
    ],
)
def test_unmistakable_paths(path: str, sdk: str | None) -> None:
    """Only shapes of one library are unmistakable: `messages.create` is Twilio's too."""
    found = load_catalogue().unmistakable(path)
    assert (found[0].name if found else None) == sdk


@pytest.mark.parametrize(
    ("name", "sdk"),
    [
        ("openai.chat.completions.create", "openai"),
        ("openai.ChatCompletion.acreate", "openai"),
        ("openai.responses.create", "openai"),
        ("openai.embeddings.create", None),
        ("litellm.completion", "litellm"),
        ("litellm.main.acompletion", "litellm"),
        ("litellm.anthropic.messages.acreate", "litellm"),
        ("litellm.token_counter", None),
        ("shell.completion", None),
        ("ollama.chat", "ollama"),
    ],
)
def test_functions(name: str, sdk: str | None) -> None:
    """Module-level functions are known by module and name."""
    found = load_catalogue().function(name)
    assert (found[0].name if found else None) == sdk


def test_slots() -> None:
    """System text and messages are where each SDK takes them."""
    catalogue = load_catalogue()
    responses = catalogue.unmistakable("client.responses.create")
    anthropic = catalogue.unmistakable("client.beta.messages.create")
    gemini = catalogue.unmistakable("client.models.generate_content")
    assert responses is not None
    assert anthropic is not None
    assert gemini is not None
    assert (responses[1].system, responses[1].messages) == (("instructions",), ("input",))
    assert responses[1].history_when == ("previous_response_id", "conversation")
    assert (anthropic[1].system, anthropic[1].messages) == (("system",), ("messages",))
    assert anthropic[1].parameters["auto_cache"] == ("cache_control",)
    assert (gemini[1].system, gemini[1].messages) == (("config.system_instruction",), ("contents",))


def test_caching() -> None:
    """Explicit and automatic caching, and the arguments that steer it, are the provider's own."""
    sdks = {sdk.name: sdk for sdk in load_catalogue().sdks}
    assert sdks["anthropic"].caching == "explicit"
    assert sdks["anthropic"].markers == ("cache_control",)
    assert sdks["openai"].caching == "automatic"
    chat = next(call for call in sdks["openai"].calls if call.endpoint == "chat.completions")
    assert chat.parameters["cache_key"] == ("prompt_cache_key",)
    assert chat.parameters["max_tokens"] == ("max_completion_tokens", "max_tokens")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("openai.types.chat.ChatCompletionSystemMessageParam", "system"),
        ("openai.types.chat.ChatCompletionUserMessageParam", "user"),
        ("google.genai.types.ModelContent", "assistant"),
        ("anthropic.types.MessageParam", None),
    ],
)
def test_messages(name: str, role: str | None) -> None:
    """Message classes carry a fixed role or take one."""
    found = load_catalogue().message(name)
    assert found is not None
    assert found[1].role == role
    assert (role is None) == bool(found[1].role_argument)
