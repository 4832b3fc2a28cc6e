"""Templates of Jinja as values: what a render call gives, without rendering anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from promptopt.project.values import Again, Either, Hole, Literal, Piece, TextValue, Value

if TYPE_CHECKING:
    from tests.project.conftest import Sources

    Make = Callable[..., Sources]

INLINE = "from jinja2 import Template\nTEXT = Template({text!r}).render({given})\n"


def shape(value: Value) -> Any:
    """A text's pieces: constants as they are, values as `<source>`, loops and choices as what they hold."""
    assert isinstance(value, TextValue), value
    return [one(piece) for piece in value.pieces]


def one(piece: Piece) -> Any:
    """One piece of a text."""
    if isinstance(piece, Literal):
        return piece.value
    if isinstance(piece, Hole):
        return f"<{piece.expression}>"
    if isinstance(piece, Either):
        return {"if": piece.condition, "runs": [[one(inner) for inner in run] for run in piece.alternatives]}
    assert isinstance(piece, Again)
    return {"for": piece.variable, "in": piece.label, "body": [one(inner) for inner in piece.pieces]}


def rendered(sources: Make, text: str, given: str = "", **files: str) -> Any:
    """What a template written in the code gives."""
    return shape(sources(INLINE.format(text=text, given=given), **files).value("TEXT"))


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("Hi {{ name }}!", "name='Ann'", "Hi Ann!"),
        ("{{ a ~ '-' ~ b }}{{ a|upper }}", "a='x', b='y'", "x-yX"),
        ("{% for x in xs %}{{ x }},{% endfor %}", "xs=['a', 'b']", "a,b,"),
        ("{% for x in xs %}{{ x }}{% else %}none{% endfor %}", "xs=[]", "none"),
        ("{% for k, v in m.items() %}{{ k }}={{ v.w }};{% endfor %}", "m={'a': {'w': 'b'}}", "a=b;"),
        ("{% if on %}yes{% elif off %}no{% endif %}.", "on=False, off=True", "no."),
        ("{% set x = 'a' %}{{ x }}{% set x = 'b' %}{{ x }}", "", "ab"),
        ("{% set x %}<{{ y }}>{% endset %}{{ x }}{{ x }}", "y='k'", "<k><k>"),
        ("{% macro m(a, b='z') %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call m('x') %}!{% endcall %}", "", "xz!"),
        ("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m('x') }}{{ m(y) }}", "y='q'", "[x][q]"),
        ("{% filter upper %}a{{ b }}{% endfilter %}", "b='c'", "AC"),
        ("{% with z = x %}{{ z }}{% endwith %}", "x='1'", "1"),
        ("{% raw %}{{ x }}{% endraw %}{# note #}", "", "{{ x }}"),
        ("a {%- if x %} b {%- endif %}", "x=True", "a b"),
        ("{{ x if y else 'n' }}{{ z is defined }}", "x='1', y=False, z='2'", None),
        ("{{ ', '.join(xs) }}{{ xs|join('+') }}", "xs=['a', 'b']", "a, ba+b"),
        ("{% set ns = namespace(n='') %}{% set ns.n = 'k' %}{{ ns.n }}", "", "k"),
        ("{% for m in ms %}{% set r = m %}{{ r }}{% endfor %}{{ r }}", "ms=['a'], r='out'", "aout"),
    ],
)
def test_constant_contexts_give_constant_text(sources: Make, text: str, given: str, expected: str | None) -> None:
    """Statements do what Jinja does with them."""
    found = rendered(sources, text, given)
    if expected is None:
        assert found[0] == "n"
    else:
        assert "".join(found) == expected


def test_loops_and_branches_over_what_is_not_known(sources: Make) -> None:
    """A loop becomes a repetition, a branch a choice."""
    text = "{% for d in docs if d %}{{ d.text }};{% endfor %}{% if deep %}A{% else %}B{% endif %}"
    loop, choice = rendered(sources, text, "docs=load(1), deep=load(2)")
    assert loop["body"] == [{"if": "d", "runs": [["<d.text>", ";"], []]}]
    assert loop["in"] == "docs"
    assert choice == {"if": "deep", "runs": [["A"], ["B"]]}


def test_values_stand_where_the_template_prints_them(sources: Make) -> None:
    """The place is that of the tag, in the file that the text stands in."""
    made = sources(
        "from jinja2 import Environment, FileSystemLoader\nimport uuid\n"
        "env = Environment(loader=FileSystemLoader('templates'), trim_blocks=True)\n"
        "def render(name, **context):\n    return env.get_template(f'{name}.j2').render(**context)\n"
        "TEXT = render('a', key=uuid.uuid4())\n",
        **{"templates/a.j2": "é\n{{ key }} {% include 'b.j2' %}", "templates/b.j2": "<{{ key }}>"},
    )
    value = made.value("TEXT")
    assert isinstance(value, TextValue)
    places = [piece.place for piece in value.pieces if isinstance(piece, Hole)]
    assert [(place.path, place.start, place.end) for place in places if place] == [
        ("templates/a.j2", 2, 11),
        ("templates/b.j2", 1, 10),
    ]


def test_expressions_of_a_text_in_the_code_stand_in_the_code(sources: Make) -> None:
    """Escapes ahead of a tag do not move it."""
    text = "from jinja2 import Template\nimport uuid\nTEXT = Template('\\n\\u00e9{{ key }}').render(key=uuid.uuid4())\n"
    value = sources(text).value("TEXT")
    assert isinstance(value, TextValue)
    hole = value.pieces[-1]
    assert isinstance(hole, Hole)
    assert hole.place is not None
    assert text[hole.place.start : hole.place.end] == "{{ key }}"


FAMILY = {
    "t/base.j2": "<{% block head %}base{% endblock %}|{% block body %}{% endblock %}>{{ tail }}",
    "t/mid.j2": "{% extends 'base.j2' %}{% block head %}mid {{ super() }}{% endblock %}",
    "t/leaf.j2": "{% extends 'mid.j2' %}{% set tail = 'T' %}{% block body %}{{ x }}{% endblock %}"
    "{% block head %}leaf {{ super() }}{% endblock %}",
    "t/macros.j2": "{% macro wrap(a) %}({{ a }}){% endmacro %}{% set greeting = 'hello' %}",
    "t/user.j2": "{% import 'macros.j2' as m %}{% from 'macros.j2' import wrap as w %}{{ m.wrap(x) }}{{ w('q') }}"
    "{{ m.greeting }}",
    "t/loop.j2": "{% for i in xs %}{% include 'item.j2' %}{% endfor %}",
    "t/item.j2": "{{ i }}{{ x }};",
    "t/self.j2": "a{% include 'self.j2' %}",
    "t/out.j2": "{% include '../../secret.j2' %}!",
    "secret.j2": "no",
}
LOADED = (
    "from jinja2 import Environment, FileSystemLoader\n"
    "TEXT = Environment(loader=FileSystemLoader('t')).get_template({name!r}).render(x='X', xs=['1', '2'])\n"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("leaf.j2", "<leaf mid base|X>T"),
        ("user.j2", "(X)(q)hello"),
        ("loop.j2", "1X;2X;"),
    ],
)
def test_templates_of_a_loader(sources: Make, name: str, expected: str) -> None:
    """Inheritance, imports and includes are followed."""
    value = sources(LOADED.format(name=name), **FAMILY).value("TEXT")
    assert "".join(shape(value)) == expected


@pytest.mark.parametrize(("name", "expected"), [("self.j2", "a"), ("out.j2", "!")])
def test_what_cannot_be_followed_is_unknown(sources: Make, name: str, expected: str) -> None:
    """A template that includes itself ends, one that leaves the project's folder reads nothing."""
    found = shape(sources(LOADED.format(name=name), **FAMILY).value("TEXT"))
    assert [piece for piece in found if not piece.startswith("<")] == [expected]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("head", "template"),
    [
        ("env = Environment(loader=DictLoader({'a.j2': 'Hi {{ x }}'}))", "env.get_template('a.j2')"),
        ("env = Environment(loader=PackageLoader('app', 'prompts'))", "env.get_template('a.j2')"),
        ("env = Environment(loader=ChoiceLoader([FileSystemLoader('no'), FileSystemLoader('app/prompts')]))",
         "env.select_template(['zz.j2', 'a.j2'])"),
        ("env = Environment()", "env.from_string('Hi {{ x }}')"),
        ("env = Environment(variable_start_string='<<', variable_end_string='>>')", "env.from_string('Hi << x >>')"),
        ("def load(env):\n    return env.get_template('a.j2')", "load(None)"),
        ("env = sandbox.SandboxedEnvironment()", "env.from_string('Hi {{ x }}')"),
    ],
)  # fmt: skip
def test_ways_to_get_a_template(sources: Make, head: str, template: str) -> None:
    """Loaders, texts and delimiters are those of the environment."""
    code = (
        "from jinja2 import ChoiceLoader, DictLoader, Environment, FileSystemLoader, PackageLoader, sandbox\n"
        f"{head}\nTEXT = {template}.render({{'x': 'you'}})\n"
    )
    assert "".join(shape(sources(code, **{"app/prompts/a.j2": "Hi {{ x }}"}).value("TEXT"))) == "Hi you"
