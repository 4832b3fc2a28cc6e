from __future__ import annotations

import threading
from collections.abc import Iterator

import anthropic
import openai
import pytest
from server import serve


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with serve() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def openai_client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=f"{address}/v1") as client:
        yield client


@pytest.fixture
def anthropic_client(address: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="none", base_url=address) as client:
        yield client
