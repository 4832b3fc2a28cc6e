"""Jinja templates: segments tile the source, expressions stand where they say, bad input has an answer."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptopt.readers.facts import Expression
from promptopt.readers.jinja.environment import TemplateSyntax
from promptopt.readers.jinja.segments import Segment
from promptopt.readers.jinja.template import JinjaSyntaxError, Template, read_template
from promptopt.source import SourceFile

PIECES = st.sampled_from(
    [
        "text ", "\n", "\r\n", "\r", "  ", "é名🎈", "{", "}", "{{ a }}", "{{- a.b|upper -}}", "{% if x %}",
        "{%- endif -%}",
        "{%+ if y +%}", "{% for i in l %}", "{% endfor %}", "{# note #}", "{#- note -#}", "{% raw %}", "{% endraw %}",
        "{{ (a ~ b)[1:2] }}", "{% set c = -1|abs %}",
    ]
)  # fmt: skip
SYNTAXES = st.builds(
    TemplateSyntax, trim_blocks=st.booleans(), lstrip_blocks=st.booleans(), keep_trailing_newline=st.booleans()
)


def read(text: str, syntax: TemplateSyntax | None = None) -> Template:
    """The facts of one template."""
    return read_template(SourceFile("t.j2", text), syntax or TemplateSyntax())


def kinds(text: str, syntax: TemplateSyntax | None = None) -> list[tuple[str, str]]:
    """Each segment with its text."""
    return [(segment.kind, text[segment.start : segment.end]) for segment in read(text, syntax).segments]


def printed(text: str) -> list[str]:
    """The source of each printed expression."""
    return [text[output[1] : output[2]] for output in read(text).outputs]


def assert_tiled(segments: tuple[Segment, ...], length: int) -> None:
    """Segments follow each other from the first character to the last, none of them empty."""
    ends = [0, *(segment.end for segment in segments)]
    assert [segment.start for segment in segments] == ends[:-1]
    assert ends[-1] == length
    assert all(segment.start < segment.end for segment in segments)


@given(st.lists(PIECES, max_size=20).map("".join), SYNTAXES)
@example("a  \n  {%- if x -%}  \n b {{- y -}} c {%- endif %}\n", TemplateSyntax())
@example("{% raw -%}  {{ a }}  {%- endraw %}\r\n", TemplateSyntax(trim_blocks=True))
def test_segments_tile_every_template_that_parses(text: str, syntax: TemplateSyntax) -> None:
    """Whatever the options, no character is lost, and expressions stand inside their tags."""
    try:
        template = read(text, syntax)
    except JinjaSyntaxError:
        return
    assert_tiled(template.segments, len(text))
    for start, end in (output[1:3] for output in template.outputs):
        assert any(s.start < start < end < s.end for s in template.segments if s.kind == "expression")


def test_white_space_that_is_taken_away_is_no_text() -> None:
    """What `-` and the dropped last line end take away is not sent."""
    assert kinds("a \n {%- if x -%}  b{% endif %}\n") == [
        ("text", "a"),
        ("trimmed", " \n "),
        ("statement", "{%- if x -%}"),
        ("trimmed", "  "),
        ("text", "b"),
        ("statement", "{% endif %}"),
        ("trimmed", "\n"),
    ]


def test_blocks_are_trimmed_as_the_environment_says() -> None:
    """`trim_blocks` and `lstrip_blocks` take white space away around statements."""
    syntax = TemplateSyntax(trim_blocks=True, lstrip_blocks=True)
    assert kinds("a\n  {% if x %}\nb{% endif %}", syntax) == [
        ("text", "a\n"),
        ("trimmed", "  "),
        ("statement", "{% if x %}"),
        ("trimmed", "\n"),
        ("text", "b"),
        ("statement", "{% endif %}"),
    ]


def test_line_statements_and_own_delimiters() -> None:
    """The environment's own delimiters decide what a tag is."""
    syntax = TemplateSyntax(variable_start_string="<<", variable_end_string=">>", line_statement_prefix="#")
    text = "# for x in y\n<< x >>{{ x }}\n# endfor\n"
    assert ("expression", "<< x >>") in kinds(text, syntax)
    assert ("statement", "# for x in y") in kinds(text, syntax)
    assert_tiled(read(text, syntax).segments, len(text))


@pytest.mark.parametrize(
    "expression",
    ["now", "user.name", "items[0]['k']", "a|join(', ')|upper", "a + b + c", "a ~ b", "x if y else z", "-a|abs",
     "f(1, *a, **k)", "a is not none", "not x in y", "a.0.b[1:]", "'naïve' ~ 名", "a.b[1:2]", "[1, {'k': v}]"],
)  # fmt: skip
def test_expressions_stand_where_they_say(expression: str) -> None:
    """Spans are characters of the original text, line ends and all."""
    assert printed(f"é\r\n{{{{ {expression} }}}}\r\n") == [expression]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("{{ a.b }}", ("attr", 3, 6, ("name", 3, 4, "a"), "b")),
        ("{{ 'x' }}", ("str", 3, 6, "x")),
        ("{{ a or b or c }}", ("or", 3, 14, (("name", 3, 4, "a"), ("name", 8, 9, "b"), ("name", 13, 14, "c")))),
        ("{{ a|f(1) }}", ("filter", 3, 9, "f", ("name", 3, 4, "a"), (("const", 7, 8, 1),), ())),
        ("{{ f(k=a) }}", ("call", 3, 9, 0)),
        ("{{ a if b }}", ("ifexp", 3, 9, ("name", 8, 9, "b"), ("name", 3, 4, "a"), ("str", 9, 9, ""))),
        ("{{ a < b }}", ("unk", 3, 8, "comparison")),
        ("{{ a ** b }}", ("unk", 3, 9, "pow")),
    ],
)
def test_expressions_become_facts(text: str, fact: Expression) -> None:
    """The facts language says what Python code of the same meaning would."""
    assert read(text).outputs == (fact,)


def test_names_of_other_templates() -> None:
    """Includes, imports and parents are known by their expression."""
    text = "{% extends base %}{% include 'a.j2' %}{% from 'm.j2' import p %}{% import 'z.j2' as z %}"
    assert [text[start:end] for _, start, end, *_ in read(text).references] == ["base", "'a.j2'", "'m.j2'", "'z.j2'"]


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("a\n{% if x %}b", "endif", 12),
        ("a\n{{ x", "end of print statement", 5),
        ("{{#each items}}{{/each}}", "unexpected char '#'", 0),
        ("{% unknown %}", "unknown tag 'unknown'", 3),
        ("{% include 'a' b %}", "expected token", 15),
        ("{{ " + "1" * 5000 + " }}", "integer string conversion", None),
    ],
)
def test_bad_templates_say_what_and_where(text: str, message: str, offset: int | None) -> None:
    """A template that cannot be parsed, of another engine too, is one kind of error with a place."""
    with pytest.raises(JinjaSyntaxError, match=message) as caught:
        read(text)
    assert caught.value.offset == offset


def test_deep_nesting_and_endless_templates_are_refused() -> None:
    """Neither depth nor size ends the run."""
    with pytest.raises(JinjaSyntaxError, match="nested too deeply"):
        read("{{ " + "(" * 5000 + "a" + ")" * 5000 + " }}")
    with pytest.raises(JinjaSyntaxError, match="longer than"):
        read("a" * 10_000_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variable_start_string": "{%"}, "different start delimiters"),
        ({"variable_start_string": ""}, "is empty"),
        ({"comment_end_string": ""}, "is empty"),
    ],
)
def test_delimiters_that_cannot_be_told_apart_are_refused(options: dict[str, str], message: str) -> None:
    """A wrong configuration is an error of ours, not an assertion in Jinja."""
    with pytest.raises(ValueError, match=message):
        TemplateSyntax(**options)  # type: ignore[arg-type]
