"""Searches of vector stores, by the names of their methods and arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptopt.config import Config
from promptopt.lint import check_text

PROGRAM = """
from openai import OpenAI

client = OpenAI()


def ask(store, question, vector):
    found = {search}
    context = "\\n".join(str(one) for one in found)
    return client.chat.completions.create(model="gpt-5", messages=[{{"role": "user", "content": context}}])
"""

SEARCHES = (
    "store.query(query_texts=[question], n_results={k})",
    'store.query_points(collection_name="notes", query=vector, limit={k})',
    'store.search(collection_name="notes", query_vector=vector, limit={k})',
    "store.query(vector=vector, top_k={k}, include_metadata=True)",
    'store.search(collection_name="notes", data=[vector], limit={k})',
    "store.query.near_text(query=question, limit={k}).objects",
    "store.similarity_search(question, {k})",
    "store.similarity_search_with_score(question, k={k})",
    'store.as_retriever(search_kwargs={{"k": {k}}}).invoke(question)',
    "store.as_retriever(similarity_top_k={k}).retrieve(question)",
)


def codes(search: str) -> list[str]:
    """Codes of the findings about a program that makes a prompt of what a search gives."""
    config = Config(Path.cwd(), select=("PO4",))
    return [one.code for one in check_text(PROGRAM.format(search=search), "ask.py", config).findings]


@pytest.mark.parametrize("search", SEARCHES)
def test_many_passages(search: str) -> None:
    """One finding where more reach the prompt than are of use, none where few do."""
    assert codes(search.format(k=25)) == ["PO401"]
    assert codes(search.format(k=5)) == []


@pytest.mark.parametrize(
    "search",
    [
        'store.query("select * from notes limit 25")',
        "store.search(question, limit=25)",
        "store.sample(prompt=question, top_k=25)",
        'store.query_points(collection_name="notes", query=vector, limit=25, score_threshold=0.7)',
        'store.as_retriever(search_kwargs={"k": 25, "score_threshold": 0.5}).invoke(question)',
        "store.query.near_text(query=question, limit=25, distance=0.2).objects",
    ],
)
def test_other_calls_and_filtered_searches(search: str) -> None:
    """Calls of the same name with other arguments are no searches; those with a threshold are narrowed."""
    assert codes(search) == []
