"""Summaries for the colleague who takes a conversation over, as LangChain chains."""

from __future__ import annotations

from typing import Any

from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_openai import ChatOpenAI

from prompts import HANDBOOK, SUMMARY_TASK

model = ChatOpenAI(model="gpt-5", max_tokens=400, timeout=30)

by_name = ChatPromptTemplate.from_messages(
    [
        ("system", "The customer is {customer_name}.\n\n" + HANDBOOK + SUMMARY_TASK),
        MessagesPlaceholder("conversation"),
        ("human", "Summarize."),
    ]
)

name_last = ChatPromptTemplate.from_messages(
    [
        ("system", HANDBOOK + SUMMARY_TASK),
        MessagesPlaceholder("conversation"),
        ("human", "Summarize. The customer is {customer_name}."),
    ]
)


def summarize(customer: Any, conversation: list[Any]) -> str:
    chain = by_name | model
    return str(chain.invoke({"customer_name": customer.name, "conversation": conversation}).content)


def summarize_with_stable_prefix(customer: Any, conversation: list[Any]) -> str:
    chain = name_last | model
    return str(chain.invoke({"customer_name": customer.name, "conversation": conversation}).content)
