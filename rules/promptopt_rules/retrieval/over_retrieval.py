"""PO401 over-retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Retrieval
from promptopt.rule import Rule, RuleContext


class OverRetrieval(Rule[Retrieval]):
    """More passages than an answer needs are put into a prompt.

    ## What it finds

    A search of an index for more than `max-k` passages, all of which reach a prompt: nothing reranks, compresses or
    filters them by score, and nothing caps their tokens. The number is followed through constants, settings, defaults
    of parameters and of environment variables.

    ## Why it is slow

    Every passage is read before the first token of the answer, in every request, and none of it can be cached.
    Twenty passages of 300 tokens are 6,000 tokens, 0.2 seconds of prefill at 30 ms per 1,000, where three passages
    mostly hold the answer; what stands in the middle of many is also overlooked more often.

    ## Example

    ```python bad
    from openai import OpenAI

    client = OpenAI()

    def ask(store, question: str):
        found = store.similarity_search(question, k=20)  # finds: PO401
        context = "\\n".join(one.page_content for one in found)
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": "Answer from the passages."},
                {"role": "user", "content": f"{context}\\n\\n{question}"},
            ],
        )
    ```

    ## Use instead

    ```python good
    from openai import OpenAI
    from promptopt import ContextTrimmer

    client = OpenAI()
    trimmer = ContextTrimmer(800)

    def ask(store, question: str):
        found = store.similarity_search(question, k=20)
        context = trimmer.trim(question, found).text
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": "Answer from the passages."},
                {"role": "user", "content": f"{context}\\n\\n{question}"},
            ],
        )
    ```

    A smaller `k`, or a reranker that keeps the best few, does as well.

    ## Silent on

    - candidates that are reranked, compressed, fused or filtered by a score, and lists of which the first few are taken
    - files on the way that measure or cap tokens or characters
    - searches whose results are shown, counted or stored, but reach no prompt
    - `top_k` as a parameter of sampling
    - numbers that are not known, or that callers choose

    ## Options

    - `max-k` (8): passages that are not too many

    ## References

    - https://arxiv.org/abs/2307.03172
    - https://developers.openai.com/api/docs/guides/latency-optimization
    """

    code: ClassVar[str] = "PO401"
    name: ClassVar[str] = "over-retrieval"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Retrieval]] = Retrieval

    @dataclass(frozen=True, slots=True)
    class Options:
        """A number of passages."""

        max_k: int = field(default=8, metadata={"help": "passages that are not too many"})

    def check(self, subject: Retrieval, context: RuleContext) -> Iterator[Finding]:
        """At most one finding for each search."""
        if subject.bounds or subject.k <= context.options.max_k:
            return
        yield self.finding(
            f"{subject.k:,} passages reach the prompt, more than {context.options.max_k:,}, and nothing narrows them: "
            "every request reads them all before the first token. Fetch fewer, or keep the best few.",
            subject.location,
            subject=subject.expression,
            related=[] if subject.feeds == subject.location else [Related("put into the prompt here", subject.feeds)],
            remedies=[
                Remedy("narrow-passages", "rerank or trim the passages to a budget of tokens"),
                Remedy("lower-k", f"fetch {context.options.max_k:,} passages or fewer"),
            ],
        )
