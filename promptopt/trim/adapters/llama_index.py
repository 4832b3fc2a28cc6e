"""LlamaIndex: a node postprocessor. Needs llama-index-core."""

from __future__ import annotations

from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from promptopt.errors import TrimError
from promptopt.trim.context import ContextTrimmer


class NodeTrimmer(BaseNodePostprocessor):
    """Trims retrieved nodes to what answers the query, within a token budget.

    For `node_postprocessors=` of query and chat engines. A node's title is read from its metadata.

    Args:
        trimmer: what trims. Its budget covers titles and blank lines between nodes; what else a response
            synthesizer prints of the metadata comes on top.
    """

    _trimmer: ContextTrimmer = PrivateAttr()

    def __init__(self, trimmer: ContextTrimmer, **fields: Any) -> None:
        super().__init__(**fields)
        self._trimmer = trimmer

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows the class."""
        return "NodeTrimmer"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise TrimError("nodes are trimmed to what answers a query, and there is none: give query_str")
        return self._trimmer.trim(query_bundle.query_str, nodes).passages
