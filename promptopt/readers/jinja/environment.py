"""What the environments of Jinja define and decide (3.1.6, defaults.py); nothing here loads Jinja."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GLOBALS: Final = {
    "range": "builtins.range",
    "dict": "builtins.dict",
    "namespace": "types.SimpleNamespace",
    "lipsum": "jinja2.utils.generate_lorem_ipsum",
    "cycler": "jinja2.utils.Cycler",
    "joiner": "jinja2.utils.Joiner",
}
"""Names that templates may use unless their context has others of that name, and what in Python does the same."""


@dataclass(frozen=True, slots=True)
class TemplateSyntax:
    """The options of `jinja2.Environment` that decide how a template is cut.

    Raises:
        ValueError: a delimiter is empty, or two tags start alike.
    """

    block_start_string: str = "{%"
    block_end_string: str = "%}"
    variable_start_string: str = "{{"
    variable_end_string: str = "}}"
    comment_start_string: str = "{#"
    comment_end_string: str = "#}"
    line_statement_prefix: str | None = None
    line_comment_prefix: str | None = None
    trim_blocks: bool = False
    lstrip_blocks: bool = False
    keep_trailing_newline: bool = False

    def __post_init__(self) -> None:
        starts = (self.block_start_string, self.variable_start_string, self.comment_start_string)
        if not all((*starts, self.block_end_string, self.variable_end_string, self.comment_end_string)):
            raise ValueError("a Jinja delimiter is empty")
        if len(set(starts)) < len(starts):
            raise ValueError("blocks, variables and comments need different start delimiters")


DEFAULT_SYNTAX: Final = TemplateSyntax()
