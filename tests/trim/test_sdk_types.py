"""`message_types.toml` against the SDKs' own types, where these are installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from promptopt import HistoryTrimmer
from promptopt.trim.messages import MessageFacts, Role, read_message

pytestmark = pytest.mark.filterwarnings("default")  # the SDKs' own


def literals(annotation: object) -> Iterator[str]:
    """The strings that a field may hold."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for inner in get_args(annotation):
            yield from literals(inner)


def shapes(union: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Type and annotations of each member of a union of typed dictionaries."""
    for member in get_args(union):
        fields = get_type_hints(member, include_extras=True)
        for name in literals(fields["type"]) if "type" in fields else ("",):
            yield name, fields


def test_openai_items_are_known() -> None:
    """Each item that a request of the Responses API may hold is read; those with a call id call or answer."""
    module = pytest.importorskip(
        "openai.types.responses.response_input_item_param", reason="openai is not installed: pip install openai"
    )
    read: dict[str, MessageFacts] = {}
    for name, fields in shapes(module.ResponseInputItemParam):
        item = {field: "x" for field in fields if field == "id" or field.endswith("_id")}
        item |= {"role": next(literals(fields["role"]))} if "role" in fields else {}
        facts = read_message({"type": name, **item}, 0)
        read[name] = facts
        assert not ("call_id" in fields and name != "mcp_call") or facts.calls or facts.results
    calls = {name for name, facts in read.items() if facts.calls}
    answers = {name for name, facts in read.items() if facts.results}
    assert {f"{name}_output" for name in calls if f"{name}_output" in read} <= answers
    assert all(read[name].role is Role.TOOL for name in answers)
    assert read["reasoning"] == MessageFacts(Role.ASSISTANT)


def test_openai_objects() -> None:
    """What the SDK returns is trimmed as it is: a reasoning item and its call go together with the result."""
    responses = pytest.importorskip("openai.types.responses", reason="openai is not installed: pip install openai")
    thought = responses.ResponseReasoningItem(id="rs_1", summary=[], type="reasoning")
    call = responses.ResponseFunctionToolCall(
        call_id="c1", name="find", arguments="{}", type="function_call", id="fc_1"
    )
    text = responses.ResponseOutputText(text="Found.", type="output_text", annotations=[])
    said = responses.ResponseOutputMessage(
        id="msg_1", content=[text], role="assistant", status="completed", type="message"
    )
    result = {"type": "function_call_output", "call_id": "c1", "output": "it"}
    question = {"role": "user", "content": "Look it up."}
    conversation = [question, thought, call, result, said, question]
    kept = [
        [item.index for item in HistoryTrimmer(budget, step=0, count=len).trim(conversation).kept]
        for budget in range(1, 7)
    ]
    assert kept == [[5], [5], [0, 4, 5], [0, 4, 5], [0, 4, 5], [0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("module", ["content_block_param", "beta.beta_content_block_param"])
def test_anthropic_blocks_are_known(module: str) -> None:
    """Each content block with the id of a tool call answers, each that uses a tool calls."""
    types = pytest.importorskip(f"anthropic.types.{module}", reason="anthropic is not installed: pip install anthropic")
    union = next(
        getattr(types, name) for name in ("ContentBlockParam", "BetaContentBlockParam") if hasattr(types, name)
    )
    for member in get_args(union):
        fields = get_type_hints(member, include_extras=True) if isinstance(member, type) else {}
        for name in literals(fields.get("type")):
            facts = read_message({"role": "assistant", "content": [{"type": name, "id": "x", "tool_use_id": "x"}]}, 0)
            assert bool(facts.results) == ("tool_use_id" in fields), name
            assert bool(facts.calls) == name.endswith("tool_use"), name
