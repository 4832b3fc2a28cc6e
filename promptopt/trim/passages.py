"""What a passage is, whichever library it comes from, and how a shorter one of the same type is made.

Passages are told apart by the names of their fields, so that no library is imported: strings, mappings,
objects with `page_content` (LangChain), objects with `node` (LlamaIndex) and objects with `content` and
`meta` (Haystack). A further type is one more entry of `_SHAPES`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Final

from promptopt.errors import TrimError

TEXT_KEYS: Final = ("text", "page_content", "content", "body")
"""Keys of a mapping that hold its text, the first that is there."""

_SHOWN_SHAPES: Final = (
    "a string, a mapping with the key text, page_content, content or body, a LangChain Document, "
    "a LlamaIndex NodeWithScore or a Haystack Document"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What the trimmer reads of a passage.

    Attributes:
        text: what is cut; offsets count its characters.
        title: what the text is about, carried wherever a part of the text is; empty where there is none.
    """

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    """A passage's type: when it applies, where text and metadata are, and how the text is replaced."""

    applies: Callable[[Any], bool]
    text: Callable[[Any], object]
    metadata: Callable[[Any], object]
    rebuild: Callable[[Any, str], Any]


def read_passage(passage: object, index: int) -> Passage:
    """The text and title of a passage.

    Args:
        passage: one of the types above.
        index: its place among the passages, for the error.

    Raises:
        TrimError: the type is unknown, or the text is not a string.
    """
    shape = _shape(passage)
    if shape is None:
        raise TrimError(f"passage {index} is {_described(passage)}: give {_SHOWN_SHAPES}")
    text = shape.text(passage)
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise TrimError(f"the text of passage {index} is {type(text).__name__}: give a string")
    return Passage(text, _title(shape.metadata(passage)))


def with_text(passage: Any, text: str) -> Any:
    """A copy of a passage that has another text: same type, same metadata."""
    shape = _shape(passage)
    if shape is None:
        raise TrimError(f"no text can be put into {_described(passage)}: give {_SHOWN_SHAPES}")
    return shape.rebuild(passage, text)


def _shape(passage: object) -> _Shape | None:
    return next((shape for shape in _SHAPES if shape.applies(passage)), None)


def _described(passage: object) -> str:
    if isinstance(passage, Mapping):
        return f"a mapping with the keys {', '.join(map(str, list(passage)[:8])) or '(none)'}"
    return f"of type {type(passage).__name__}"


def _title(metadata: object) -> str:
    title = metadata.get("title") if isinstance(metadata, Mapping) else None
    return title.strip() if isinstance(title, str) else ""


def _text_key(passage: Mapping[str, Any]) -> str | None:
    return next((key for key in TEXT_KEYS if key in passage), None)


def _mapping_metadata(passage: Mapping[str, Any]) -> object:
    if passage.get("title"):
        return passage
    return passage.get("metadata") or passage.get("meta")


def _rebuilt_mapping(passage: Mapping[str, Any], text: str) -> Any:
    rebuilt = copy.copy(passage) if isinstance(passage, MutableMapping) else dict(passage)
    rebuilt[_text_key(passage)] = text
    return rebuilt


def _with_field(passage: Any, field: str, value: object) -> Any:
    """A copy with one field replaced, through what the type offers: pydantic, dataclass, or a plain object."""
    if callable(getattr(passage, "model_copy", None)):
        return passage.model_copy(update={field: value})
    if is_dataclass(passage) and not isinstance(passage, type):
        return replace(passage, **{field: value})
    rebuilt = copy.copy(passage)
    setattr(rebuilt, field, value)
    return rebuilt


def _rebuilt_scored_node(passage: Any, text: str) -> Any:
    # a node of its own: LlamaIndex's documents share nodes between results
    node = passage.node.model_copy() if callable(getattr(passage.node, "model_copy", None)) else copy.copy(passage.node)
    node.set_content(text)
    return _with_field(passage, "node", node)


_SHAPES: Final = (
    _Shape(
        lambda passage: isinstance(passage, str),
        lambda passage: passage,
        lambda _: None,
        lambda _, text: text,
    ),
    _Shape(
        lambda passage: isinstance(passage, Mapping) and _text_key(passage) is not None,
        lambda passage: passage[_text_key(passage)],
        _mapping_metadata,
        _rebuilt_mapping,
    ),
    _Shape(
        lambda passage: hasattr(passage, "page_content") and hasattr(passage, "metadata"),
        lambda passage: passage.page_content,
        lambda passage: passage.metadata,
        lambda passage, text: _with_field(passage, "page_content", text),
    ),
    _Shape(
        lambda passage: hasattr(getattr(passage, "node", None), "set_content"),
        lambda passage: passage.node.get_content(),
        lambda passage: passage.node.metadata,
        _rebuilt_scored_node,
    ),
    _Shape(
        lambda passage: hasattr(passage, "content") and hasattr(passage, "meta"),
        lambda passage: passage.content,
        lambda passage: passage.meta,
        lambda passage, text: _with_field(passage, "content", text),
    ),
)
