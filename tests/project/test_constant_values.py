"""Operations on constant texts, lists and mappings give what Python gives."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.sampled_from(
    ["", "a", "Be brief.", " x ", "a b a", "\n  one\n  two\n", "ä☃", "%", "{}", "a,b,,c", "tab\there"]
)
SMALL = st.integers(-4, 4)
PARTS = WORDS.map(repr)
KEYS = st.sampled_from("abc")

TEXT_STEPS = st.one_of(
    st.builds("text + {}".format, PARTS),
    st.builds("{} + text".format, PARTS),
    st.builds("text * {}".format, st.integers(-1, 3)),
    st.builds("text.replace({}, {})".format, st.sampled_from(["a", "b", "one", " "]).map(repr), PARTS),
    st.builds("text.strip({})".format, st.sampled_from(["", "'a'", "' \\n'"])),
    st.builds("text.{}()".format, st.sampled_from(["lstrip", "rstrip", "upper", "lower", "title", "swapcase"])),
    st.builds("text.removeprefix({})".format, PARTS),
    st.builds("text[{}:{}]".format, SMALL, SMALL),
    st.builds("text[:{}]".format, SMALL),
    st.builds("text[::{}]".format, st.sampled_from([-2, -1, 1, 2])),
    st.builds("{}.join([text, {}, text])".format, PARTS, PARTS),
    st.builds("{}.join(text.split({}))".format, PARTS, st.sampled_from(["", "','", "'a'"])),
    st.builds("text.partition({})[{}]".format, st.sampled_from(["'a'", "','"]), st.integers(0, 2)),
    st.just("'<%s> and %s' % (text, 3)"),
    st.just("'%(key)s 100%%' % {'key': text}"),
    st.just("'{} {{x}} {}'.format(text, 7)"),
    st.just("'{0}{1}{0}'.format(text, 'z')"),
    st.just("'{a}-{b[0]}{c[k]}'.format(a=text, b=['q'], c={'k': 'r'})"),
    st.just("f'<{text}> {3} {{}}'"),
    st.just("f'{text}' '{plain}'"),
    st.just("f'{text!r:>12}'"),
    st.just("textwrap.dedent(text)"),
    st.just("text or 'nothing'"),
    st.just("text if text else 'empty'"),
    st.just("text.splitlines()[0] if text.splitlines() else 'none'"),
    st.just("str(text)"),
)

LIST_STEPS = st.one_of(
    st.builds("items.append({})".format, SMALL),
    st.builds("items.insert({}, {})".format, st.integers(0, 3), SMALL),
    st.builds("items.extend([{}, {}])".format, SMALL, SMALL),
    st.builds("items += [{}]".format, SMALL),
    st.builds("items = [{}, *items]".format, SMALL),
    st.builds("items = items + [{}]".format, SMALL),
    st.builds("items = items[{}:{}]".format, SMALL, SMALL),
    st.builds("items[:] = [{}, {}]".format, SMALL, SMALL),
    st.just("items = items[::-1]"),
    st.just("items.reverse()"),
    st.just("items.clear()"),
    st.just("items = [item for item in items]"),
    st.just("items = list(items)"),
    st.just("items = items.copy()"),
    st.builds("if items:\n    items.pop()\n    items.append({})".format, SMALL),
    st.builds("if items:\n    items[0] = {}".format, SMALL),
    st.builds("if items:\n    items[-1] = {}".format, SMALL),
    st.just("if items:\n    del items[0]"),
    st.builds("for each in [1, 2]:\n    items.append(each)\n    items.append({})".format, SMALL),
    st.builds("other = items\nitems = [{}]\nitems = other + items".format, SMALL),
)

MAP_STEPS = st.one_of(
    st.builds("map[{!r}] = {}".format, KEYS, SMALL),
    st.builds("map.update({{{!r}: {}}})".format, KEYS, SMALL),
    st.builds("map.update(a={})".format, SMALL),
    st.builds("map.setdefault({!r}, {})".format, KEYS, SMALL),
    st.builds("map = {{**map, {!r}: {}}}".format, KEYS, SMALL),
    st.builds("map = map | {{{!r}: {}}}".format, KEYS, SMALL),
    st.builds("map = dict(map, b={})".format, SMALL),
    st.builds("map['c'] = map.get({!r}, {})".format, KEYS, SMALL),
    st.builds("map.pop({!r}, None)".format, KEYS),
    st.just("map = {key: value for key, value in map.items()}"),
    st.just("map = dict(map)"),
    st.just("map.clear()"),
    st.builds("if {!r} in map:\n    map['b'] = 9".format, KEYS),
)


def run(program: str, name: str) -> Any:
    """What Python makes of a program's global."""
    made: dict[str, Any] = {}
    exec(program, made)  # noqa: S102  # programs are made of the steps above
    return made[name]


@settings(max_examples=200, deadline=None)
@given(start=WORDS, steps=st.lists(TEXT_STEPS, min_size=1, max_size=6))
def test_text_operations(sources: Any, start: str, steps: list[str]) -> None:
    """Any sequence of operations on a constant text is carried out as Python does."""
    program = f"import textwrap\ntext = {start!r}\n" + "".join(f"text = {step}\n" for step in steps)
    assert sources(program).python("text") == run(program, "text"), program


@settings(max_examples=200, deadline=None)
@given(start=st.lists(SMALL, max_size=4), steps=st.lists(LIST_STEPS, min_size=1, max_size=6))
def test_list_operations(sources: Any, start: list[int], steps: list[str]) -> None:
    """What statements do to a known list, one after the other, is what they do in Python."""
    program = f"items = {start!r}\n" + "".join(f"{step}\n" for step in steps)
    assert sources(program).python("items") == run(program, "items"), program


@settings(max_examples=200, deadline=None)
@given(steps=st.lists(MAP_STEPS, min_size=1, max_size=6))
def test_mapping_operations(sources: Any, steps: list[str]) -> None:
    """Entries of a mapping follow assignments, updates and removals, in order."""
    program = "map = {'a': 1}\n" + "".join(f"{step}\n" for step in steps)
    assert list(sources(program).python("map").items()) == list(run(program, "map").items()), program


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f'{7:03d}'", "007"),
        ("f'{2.5:.2f}'", "2.50"),
        ("f'{name:>6}'", "   Ada"),
        ("f'{name!r}'", "'Ada'"),
        ("'{:>6}'.format(name)", "   Ada"),
        ("'%05.1f' % 2.25", "002.2"),
        ("'%-5s|' % name", "Ada  |"),
        ("'%r' % name", "'Ada'"),
        ("'-'.join(sorted(['b', 'a']))", "a-b"),
        ("'-'.join(sorted({'b', 'a'}))", "a-b"),
        ("''.join(reversed(['b', 'a']))", "ab"),
    ],
)
def test_printed_values(sources: Any, expression: str, expected: str) -> None:
    """Conversions and format specifications of constants are carried out."""
    assert sources(f"name = 'Ada'\ntext = {expression}\n").python("text") == expected


@pytest.mark.parametrize("expression", ["f'{name:>99999999}'", "'%99999999s' % name", "'{:>99999999}'.format(name)"])
def test_enormous_widths_are_not_printed(sources: Any, expression: str) -> None:
    """A specification must not make the linter build a text that no prompt is."""
    found = sources(f"name = 'Ada'\ntext = {expression}\n").python("text")
    assert len(found) < 100


def test_dedent_keeps_gaps(sources: Any) -> None:
    """Lines around a value that is not known are dedented all the same."""
    source = 'import os, textwrap\ntext = textwrap.dedent(f"""\n    One {os.environ["A"]}\n      two\n    """)\n'
    found = sources(source).value("text")
    constant = [piece.value for piece in found.pieces if hasattr(piece, "offset")]
    assert "".join(constant) == textwrap.dedent("\n    One \n      two\n    ")
