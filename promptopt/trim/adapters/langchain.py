"""LangChain: a document compressor for retrieved context, a runnable for histories. Needs langchain-core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import InstanceOf

from promptopt.trim.context import ContextTrimmer
from promptopt.trim.history import HistoryTrimmer


class DocumentTrimmer(BaseDocumentCompressor):
    """Trims retrieved documents to what answers the query, within a token budget.

    For `ContextualCompressionRetriever`, or to be called as any compressor. A document's title is read from
    its metadata.

    Attributes:
        trimmer: what trims. Its budget covers titles and blank lines between documents; what else a prompt
            prints of the metadata comes on top.
    """

    trimmer: InstanceOf[ContextTrimmer]

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        """The documents of which something is left, their text cut to it, their metadata and ids as before."""
        return self.trimmer.trim(query, documents).passages

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> list[Document]:
        """As `compress_documents`, in a thread of its own."""
        return (await self.trimmer.atrim(query, documents)).passages


def message_trimmer(trimmer: HistoryTrimmer) -> Runnable[Any, list[BaseMessage]]:
    """A runnable from a conversation to what is sent of it.

    It stands ahead of the model in a chain: `prompt | message_trimmer(trimmer) | model`.

    Args:
        trimmer: what trims. Its summarizer is awaited where the chain is called asynchronously.

    Returns:
        A runnable that takes messages in any form that chat models take, prompt values too.
    """

    def trim(messages: Any) -> list[BaseMessage]:
        return trimmer.trim(convert_to_messages(messages)).messages

    async def atrim(messages: Any) -> list[BaseMessage]:
        return (await trimmer.atrim(convert_to_messages(messages))).messages

    return RunnableLambda(trim, afunc=atrim, name="message_trimmer")
