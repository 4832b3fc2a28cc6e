"""Which template files are prompts, and which of them are Jinja.

Most `.j2` files of the world configure servers. A file is taken for a prompt by its name, by the folder it lies
in, or by the role markers of chat models in it.
"""

from __future__ import annotations

import re
from typing import Final

SUFFIXES: Final = (".j2", ".jinja", ".jinja2", ".prompt")
"""What the names of template files end in."""

_PROMPTS: Final = re.compile(r"(?:^|[^a-z])prompts?(?:$|[^a-z])", re.IGNORECASE)
_MARKERS: Final = re.compile(
    r"<\|(?:im_start|start_header_id|start_of_role|system|user|assistant)|\[/?INST\]|<start_of_turn>"
    r"|^[ \t]*#?[ \t]*(?:system|assistant)[ \t]*:[ \t]*$",
    re.MULTILINE,
)
_TURNS: Final = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<start_of_turn>|\beos_token\b|\bbos_token\b")
_TAGS: Final = re.compile(
    r"\{\{~?(?:[#^/>&!{]|else\b)"  # Handlebars, Mustache
    r"|\{\{-?\s*(?:[.$]|(?:range|if|with|template|define)\s)"  # Go
    r"|<%|<\?php"
)
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\r?\n")


def is_template(path: str) -> bool:
    """Whether a file is a template by its name."""
    return path.endswith(SUFFIXES)


def is_prompt_folder(name: str) -> bool:
    """Whether a project's own folder is one of prompts: then all its templates are."""
    return name.lower() in ("prompt", "prompts")


def is_named_as_prompt(path: str) -> bool:
    """Whether the name of a template file, or of a folder that it lies in, says that it is a prompt."""
    return path.endswith((".prompt", ".prompt.j2")) or any(_PROMPTS.search(part) for part in path.split("/"))


def has_role_markers(text: str) -> bool:
    """Whether text marks the turns of a chat."""
    return _MARKERS.search(text) is not None


def is_chat_template(path: str, text: str) -> bool:
    """Whether a template that loops over messages writes them for a model."""
    return "chat_template" in path.rpartition("/")[2] or _TURNS.search(text) is not None


def has_front_matter(path: str, text: str) -> bool:
    """Whether it is a prompt of the form that is told by YAML ahead of the text, which is not Jinja."""
    return path.endswith(".prompt") and _FRONT_MATTER.match(text) is not None


def is_of_another_engine(text: str) -> bool:
    """Whether a template that Jinja cannot read is one of another engine, as far as its tags tell."""
    return _TAGS.search(text) is not None
