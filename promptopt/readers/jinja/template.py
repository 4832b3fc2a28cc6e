"""One template in, its facts out; every way to fail is `JinjaSyntaxError`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from jinja2 import TemplateSyntaxError

from promptopt.readers.facts import Expression, Scope
from promptopt.readers.jinja.conversation import Conversation, read_conversation
from promptopt.readers.jinja.environment import DEFAULT_SYNTAX, TemplateSyntax
from promptopt.readers.jinja.lexing import TokenPlace
from promptopt.readers.jinja.names import Placing, Range, TemplateBuilder, Variable
from promptopt.readers.jinja.parsing import PlacingEnvironment, PlacingParser
from promptopt.readers.jinja.segments import Segment, tile
from promptopt.readers.jinja.statements import lower_template
from promptopt.source import SourceFile

_EXTENSIONS: Final = ("jinja2.ext.do", "jinja2.ext.loopcontrols")
_LARGEST: Final = 500_000
"""Characters, about the window of a model; text dense with tags takes some ten seconds and 400 MB per million."""


class JinjaSyntaxError(ValueError):
    """A template that cannot be parsed; `offset` is a character offset into its text, or None."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Template:
    """Facts of one template.

    `segments` tile the text. `scopes` are functions in the language of `readers.facts`: the first is the template
    itself, of kind `template`, with the variables of its context as parameters; the others are its macros and blocks.
    `variables` are these variables with all places that read them, `outputs` the expressions that are printed,
    `references` those that name other templates; `conversation` is what a chat template does with the turns.
    """

    path: str
    segments: tuple[Segment, ...]
    scopes: tuple[Scope, ...]
    variables: tuple[Variable, ...]
    outputs: tuple[Expression, ...]
    references: tuple[Expression, ...]
    conversation: Conversation | None = None


def read_template(
    source: SourceFile, syntax: TemplateSyntax = DEFAULT_SYNTAX, place: Placing | None = None, first: int = 0
) -> Template:
    """The template's facts; nothing is rendered.

    `place` leads from offsets of the template to those of the file that it stands in, where that is another one.
    Facts speak of the scopes by number, the first being `first`.

    Raises:
        JinjaSyntaxError: the text is no Jinja, nested too deeply, or too long to be a prompt.
    """
    if len(source.text) > _LARGEST:
        raise JinjaSyntaxError(f"longer than {_LARGEST:,} characters")
    environment = _environment(syntax)
    try:
        parser = PlacingParser(environment, source.text)
        tree = parser.parse()
        segments = tuple(tile(parser.stream.lexed, len(source.text)))
        builder = TemplateBuilder(place or _same, first)
        lower_template(tree, builder, segments, len(source.text))
        conversation = read_conversation(tree, builder.place)
    except TemplateSyntaxError as error:
        raise JinjaSyntaxError(error.message or "invalid syntax", _offset(source, error)) from error
    except ValueError as error:
        # a token that is not where it should be, a number of thousands of digits
        raise JinjaSyntaxError(str(error)) from error
    except RecursionError as error:
        raise JinjaSyntaxError("nested too deeply to be parsed") from error
    scopes = tuple([scope for scope in builder.scopes if scope is not None])
    return Template(
        source.path,
        segments,
        scopes,
        tuple(builder.variables.values()),
        tuple(builder.outputs),
        tuple(builder.references),
        conversation,
    )


def _same(start: int, end: int) -> Range:
    return start, end


@lru_cache(maxsize=32)
def _environment(syntax: TemplateSyntax) -> PlacingEnvironment:
    options: dict[str, Any] = {name: getattr(syntax, name) for name in TemplateSyntax.__slots__}
    return PlacingEnvironment(extensions=_EXTENSIONS, autoescape=False, **options)


def _offset(source: SourceFile, error: TemplateSyntaxError) -> int | None:
    if isinstance(error.lineno, TokenPlace):
        return error.lineno.start
    starts = source.line_starts()
    return starts[error.lineno - 1] if 1 <= error.lineno <= len(starts) else None
