"""What operations on strings do to text in pieces, with source places kept where characters survive."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project.values import (
    Again,
    AgainItems,
    Alternatives,
    Constant,
    Derived,
    Either,
    EitherItems,
    Hole,
    Item,
    Items,
    Literal,
    Piece,
    Pieces,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    constant_key,
    is_large,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator

MAX_PIECES: Final = 300
MAX_LINES: Final = 100
"""Lines of a text whose places are kept one by one."""

SUBSTANTIAL: Final = 120
"""Constant characters from which a value put into a template is text of its own."""

MAX_REPEATED: Final = 400_000
"""Characters of text that `text * n` may build."""

SHORTEST_MARK: Final = 4
"""Characters from which a separator is taken for a mark between sections that no value inside them holds."""


_WIDE: Final = re.compile(r"\d{4}")
"""A width or precision that no text in a prompt is printed with."""

_FIRST_MARK: Final = 0xE000
_MARKS: Final = 1_000
_PERCENT = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?(?P<flags>[#0\- +]*)(?:\*|\d+)?(?:\.(?:\*|\d+))?(?P<kind>[diouxXeEfFgGcrsa%])"
)
_DOLLAR = re.compile(r"\$(?:(?P<escaped>\$)|(?P<named>[_a-zA-Z]\w*)|\{(?P<braced>[_a-zA-Z]\w*)\})")

Lookup = Callable[[str, Place | None], Hole | TextValue]


def to_pieces(value: Value, place: Place | None, expression: str = "") -> Pieces:
    """A value as it appears inside text."""
    if isinstance(value, TextValue):
        return value.pieces
    if isinstance(value, Constant):
        return (Literal(str(value.value), place, -1),)
    if isinstance(value, Alternatives) and all(isinstance(v, (TextValue, Constant)) for v in value.values):
        return (Either(value.condition, tuple(to_pieces(v, place, expression) for v in value.values)),)
    if isinstance(value, Alternatives):
        return _mixed_pieces(value, place, expression)
    return (Hole(value, place, expression),)


def _mixed_pieces(value: Alternatives, place: Place | None, expression: str) -> Pieces:
    return (Either(value.condition, tuple(to_pieces(v, place, expression) for v in value.values)),)


def concatenate(parts: Iterable[Pieces]) -> Value:
    """Text one after another; unknown where it has too many pieces."""
    pieces = tuple(piece for part in parts for piece in part)
    if len(pieces) > MAX_PIECES or is_large(pieces):
        return Unknown("bound", tuple(p.value for p in pieces if isinstance(p, Hole))[:12])
    return TextValue(pieces)


def join(separator: Value, sequence: Value, place: Place, expression: str) -> Value:
    """`separator.join(sequence)`."""
    if not isinstance(sequence, Sequence):
        return TextValue((Hole(Derived("join", (sequence, separator), place), place, expression),))
    if sequence.order is not None and _several(sequence.items):
        return TextValue((Hole(sequence, place, expression),))
    between = to_pieces(separator, None)
    return concatenate([_join_items(sequence.items, between, place)])


def _several(items: Items) -> bool:
    return len(items) > 1 or any(not isinstance(item, Value) for item in items)


def _join_items(items: Items, between: Pieces, place: Place) -> Pieces:
    pieces: list[Piece] = []
    for index, item in enumerate(items):
        if index and not isinstance(item, EitherItems):
            pieces.extend(between)
        pieces.extend(_item_pieces(item, between, place, first=index == 0))
    return tuple(pieces)


def _item_pieces(item: Item, between: Pieces, place: Place, *, first: bool) -> Pieces:
    if isinstance(item, Splice):
        return (Hole(Derived("join", (item.value,), item.place), item.place or place),)
    if isinstance(item, AgainItems):
        body = _join_items(item.items, between, place)
        return (Again(item.variable, item.over, item.label, (*body, *between), item.loop),)
    if isinstance(item, EitherItems):
        lead = () if first else between
        runs = tuple((*lead, *_join_items(run, between, place)) if run else () for run in item.alternatives)
        return (Either(item.condition, runs),)
    return to_pieces(item, place)


def cut_at(text: TextValue, mark: str) -> tuple[TextValue, TextValue, TextValue] | None:
    """The text before the first `mark`, the mark, and the text behind it. None where it stands in no constant
    stretch, where a choice ahead may hold one, or where it is so short that values may hold it too."""
    if len(mark) < SHORTEST_MARK or not mark.strip():
        return None
    for first, stretch in stretches(text.pieces):
        if isinstance(stretch, str):
            at = stretch.find(mark)
            if at >= 0:
                before, rest = _halves(text.pieces, first, at)
                between, after = _halves(rest, 0, len(mark))
                return TextValue(before), TextValue(between), TextValue(after)
        elif isinstance(stretch, (Either, Again)) and holds((stretch,), mark):
            return None
    return None


def _halves(pieces: Pieces, first: int, at: int) -> tuple[Pieces, Pieces]:
    """Pieces cut `at` characters behind the start of the piece `first`, which literals follow."""
    for index in range(first, len(pieces)):
        piece = pieces[index]
        if at == 0 or not isinstance(piece, Literal):
            return pieces[:index], pieces[index:]
        if at < len(piece.value):
            left, right = part(piece, piece.value[:at], 0), part(piece, piece.value[at:], at)
            return (*pieces[:index], left), (right, *pieces[index + 1 :])
        at -= len(piece.value)
    return pieces, ()


def holds(pieces: Pieces, mark: str) -> bool:
    """Whether a constant stretch holds `mark`, on any branch."""
    for _, stretch in stretches(pieces):
        if isinstance(stretch, str):
            found = mark in stretch
        elif isinstance(stretch, Either):
            found = any(holds(run, mark) for run in stretch.alternatives)
        else:
            found = isinstance(stretch, Again) and holds(stretch.pieces, mark)
        if found:
            return True
    return False


def stretches(pieces: Pieces) -> Iterator[tuple[int, str | Piece]]:
    """Neighbouring literals as one text, other pieces as they are; each with the index where it begins."""
    run: list[str] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, Literal):
            run.append(piece.value)
            continue
        if run:
            yield index - len(run), "".join(run)
            run = []
        yield index, piece
    if run:
        yield len(pieces) - len(run), "".join(run)


def format_fields(template: Value, lookup: Lookup, ev: Evaluator) -> Value:
    """`str.format` semantics over every constant stretch of `template`; `lookup` gives a field's value
    by its whole name (`user.name`, `0`)."""
    return filled(template, lambda piece: _format_literal(piece, lookup, ev))


def filled(template: Value, fill: Callable[[Literal], Pieces | None]) -> Value:
    """A text with each of its constant stretches filled in; unknown where one of them gives None."""
    if not isinstance(template, TextValue):
        return template
    parts: list[Pieces] = []
    for piece in template.pieces:
        if isinstance(piece, Literal):
            made = fill(piece)
            if made is None:
                return Unknown("format")
            parts.append(made)
        elif isinstance(piece, Either):
            runs = tuple(_pieces_of(filled(TextValue(run), fill)) for run in piece.alternatives)
            parts.append((Either(piece.condition, runs),))
        else:
            parts.append((piece,))
    return concatenate(parts)


def _pieces_of(value: Value) -> Pieces:
    return value.pieces if isinstance(value, TextValue) else (Hole(value, None),)


def _format_literal(piece: Literal, lookup: Lookup, ev: Evaluator) -> Pieces | None:
    parts: list[Piece] = []
    counter = 0
    for text, start, field, field_start, field_end in fields(piece.value):
        if text:
            parts.append(part(piece, text, start))
        if field is None:
            continue
        head, _, spec = field.partition(":")
        name, _, conversion = head.partition("!")
        if not name:
            name, counter = str(counter), counter + 1
        if not re.fullmatch(r"[\w.\[\]'\" -]*", name):
            return None
        where = ev.locate(piece, field_start, field_end)
        found = lookup(name, where)
        shown = printed(found, conversion, spec) if isinstance(found, TextValue) and (conversion or spec) else None
        if shown is not None:
            parts.append(Literal(shown, where, -1))
        else:
            parts.extend(found.pieces if isinstance(found, TextValue) else (found,))
    return tuple(parts)


def fields(text: str) -> list[tuple[str, int, str | None, int, int]]:
    """Split at replacement fields: (literal text, its offset, field or None, field start, field end).

    Braces that do not pair are literal, so that JSON in a template does not stop the reading.
    """
    rows: list[tuple[str, int, str | None, int, int]] = []
    position = start = 0
    literal: list[str] = []
    while position < len(text):
        char = text[position]
        if char in "{}" and text[position : position + 2] == char * 2:
            rows.append(("".join(literal) + char, start, None, 0, 0))
            literal, position = [], position + 2
            start = position
        elif char == "{" and (end := _field_end(text, position)) is not None:
            rows.append(("".join(literal), start, text[position + 1 : end], position, end + 1))
            literal, position = [], end + 1
            start = position
        else:
            literal.append(char)
            position += 1
    if literal:
        rows.append(("".join(literal), start, None, 0, 0))
    return rows


def _field_end(text: str, position: int) -> int | None:
    depth = 0
    for index in range(position, min(len(text), position + 200)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return index
    return None


def part(piece: Literal, text: str, start: int) -> Literal:
    """A stretch of a literal that begins `start` characters into it."""
    return Literal(text, piece.origin, piece.offset + start if piece.offset >= 0 else -1)


def format_percent(template: Value, argument: Value, place: Place, ev: Evaluator) -> Value:
    """`template % argument`."""
    values: list[Value] = []
    if isinstance(argument, Sequence) and argument.kind == "tuple":
        values = [item if isinstance(item, Value) else Unknown("percent") for item in argument.items]
    else:
        values = [argument]
    taken = 0

    def fill(piece: Literal) -> Pieces:
        nonlocal taken
        parts: list[Piece] = []
        position = 0
        for match in _PERCENT.finditer(piece.value):
            if match.start() > position:
                parts.append(part(piece, piece.value[position : match.start()], position))
            position = match.end()
            if match["kind"] == "%":
                parts.append(part(piece, "%", match.start()))
                continue
            value = ev.item(argument, match["name"]) if match["name"] is not None else _nth(values, taken)
            taken += match["name"] is None
            where = ev.locate(piece, match.start(), match.end())
            text = _printed_percent(value, match)
            if text is not None:
                parts.append(Literal(text, where or place, -1))
                continue
            parts.extend(_handed(value, where or place, place, match.group(), ev))
        if position < len(piece.value):
            parts.append(part(piece, piece.value[position:], position))
        return tuple(parts)

    return filled(template, fill)


def printed(value: Value, conversion: str, spec: str) -> str | None:
    """A constant as `format` prints it; None where it is not constant, or not meant for the specification."""
    key = constant_key(value)
    if key is ... or _WIDE.search(spec):
        return None
    convert: Mapping[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}
    try:
        return format(convert[conversion](key) if conversion in convert else key, spec)
    except (TypeError, ValueError):
        return None


def _printed_percent(value: Value, match: re.Match[str]) -> str | None:
    """A constant as a conversion of `%` prints it; None as for `printed`."""
    key = constant_key(value)
    directive = re.sub(r"^%\([^)]*\)", "%", match.group())
    if key is ... or directive == "%s" or "*" in directive or _WIDE.search(directive):
        return None
    try:
        return directive % (key,)
    except (TypeError, ValueError):
        return None


def _nth(values: list[Value], index: int) -> Value:
    return values[index] if index < len(values) else Unknown("percent")


def _handed(
    value: Value,
    where: Place | None,
    passed: Place | None,
    expression: str,
    ev: Evaluator,
    *,
    is_spread: bool = False,
) -> Pieces:
    """A value put into a template: it stands where the template has its field, unless it brings much
    constant text of its own, whose parts are better shown one by one."""
    pieces = to_pieces(value, where, expression)
    if constant_length(pieces) >= SUBSTANTIAL or all(isinstance(piece, Literal) for piece in pieces):
        return pieces
    return (Hole(value, where, (not is_spread and ev.text(passed)) or expression, passed),)


def constant_length(pieces: Pieces) -> int:
    """Characters of constant text, the longest alternative of each choice."""
    total = 0
    for piece in pieces:
        if isinstance(piece, Literal):
            total += len(piece.value)
        elif isinstance(piece, Either):
            total += max(map(constant_length, piece.alternatives), default=0)
        elif isinstance(piece, Again):
            total += constant_length(piece.pieces)
    return total


def substitute(template: Value, lookup: Lookup, ev: Evaluator) -> Value:
    """`string.Template.substitute`."""

    def fill(piece: Literal) -> Pieces:
        parts: list[Piece] = []
        position = 0
        for match in _DOLLAR.finditer(piece.value):
            if match.start() > position:
                parts.append(part(piece, piece.value[position : match.start()], position))
            position = match.end()
            if match["escaped"]:
                parts.append(part(piece, "$", match.start()))
                continue
            found = lookup(match["named"] or match["braced"], ev.locate(piece, match.start(), match.end()))
            parts.extend(found.pieces if isinstance(found, TextValue) else (found,))
        if position < len(piece.value):
            parts.append(part(piece, piece.value[position:], position))
        return tuple(parts)

    return filled(template, fill)


def lookup_in(
    values: Mapping[str, Value], places: Mapping[str, Place | None], ev: Evaluator, *, spread: Place | None = None
) -> Lookup:
    """A field's value among named ones; dotted and indexed names are members of them. Those whose place is `spread`
    come out of a mapping: the source text there says nothing of them."""

    def lookup(name: str, where: Place | None) -> Hole | TextValue:
        root, *rest = re.split(r"(?=[.\[])", name)
        value = values.get(root.strip())
        if value is None:
            return Hole(ev.variable(root.strip(), where), where, name)
        for step in rest:
            key = step[1:].rstrip("]")
            if step[0] == ".":
                value = ev.attribute(value, key, where)
            else:
                value = ev.item(value, int(key) if key.isdecimal() else key.strip("'\""))
        passed = places.get(root.strip())
        return TextValue(_handed(value, where, passed, name, ev, is_spread=passed is not None and passed == spread))

    return lookup


def replace(text: Value, old: Value, new: Value, place: Place, ev: Evaluator) -> Value:
    """`text.replace(old, new)`: also on text that is not known, whose replaced value must not get lost."""
    key = plain(old)
    if key is None or not key:
        return TextValue((Hole(Derived("replace", (text, new), place), place),))
    if not isinstance(text, TextValue):
        return Derived("replace", (text, new), place)

    def fill(piece: Literal) -> Pieces:
        parts: list[Piece] = []
        position = 0
        while (found := piece.value.find(key, position)) >= 0:
            if found > position:
                parts.append(part(piece, piece.value[position:found], position))
            where = ev.locate(piece, found, found + len(key))
            parts.extend(_inserted(new, where, place, ev))
            position = found + len(key)
        if position < len(piece.value):
            parts.append(part(piece, piece.value[position:], position))
        return tuple(parts)

    known = any(isinstance(piece, Literal) and key in piece.value for piece in text.pieces)
    if known or not any(isinstance(piece, Hole) for piece in text.pieces):
        return filled(text, fill)
    pieces = [
        Hole(Derived("replace", (piece.value, new), place), place, ev.text(place)) if isinstance(piece, Hole) else piece
        for piece in text.pieces
    ]
    return TextValue(tuple(pieces))


def _inserted(new: Value, field: Place | None, place: Place, ev: Evaluator) -> Pieces:
    """What `replace` puts in: it stands where the replacement is written, which is the line to change."""
    pieces = to_pieces(new, place, ev.text(place))
    if constant_length(pieces) >= SUBSTANTIAL or all(isinstance(piece, Literal) for piece in pieces):
        return pieces
    return (Hole(new, place, ev.text(place), field),)


def transform(text: TextValue, function: Callable[[str], str]) -> Value:
    """Apply a function on whole strings; gaps travel through it as private characters."""
    gaps = [piece for piece in text.pieces if not isinstance(piece, Literal)]
    if len(gaps) > _MARKS:
        return Unknown("bound")
    marks = iter(range(_FIRST_MARK, _FIRST_MARK + _MARKS))
    joined = "".join(piece.value if isinstance(piece, Literal) else chr(next(marks)) for piece in text.pieces)
    origins = [piece.origin for piece in text.pieces if isinstance(piece, Literal)]
    origin = origins[0] if origins else None
    pieces: list[Piece] = []
    for part in re.split(f"([{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + _MARKS)}])", function(joined)):
        if len(part) == 1 and _FIRST_MARK <= ord(part) < _FIRST_MARK + _MARKS:
            if ord(part) - _FIRST_MARK < len(gaps):
                pieces.append(gaps[ord(part) - _FIRST_MARK])
        elif part:
            pieces.append(Literal(part, origin, -1))
    if len(text.pieces) == 1 and len(pieces) == 1 and isinstance(text.pieces[0], Literal):
        return TextValue(tuple(_recovered(text.pieces[0], pieces[0])))
    return TextValue(tuple(pieces))


def _recovered(before: Literal, after: Piece) -> list[Piece]:
    """Keep the correspondence of characters where the result is a stretch of the original, or where each
    of its lines is (`dedent`)."""
    if not isinstance(after, Literal) or before.offset < 0:
        return [after]
    if after.value in before.value:
        return [Literal(after.value, before.origin, before.offset + before.value.find(after.value))]
    pieces: list[Piece] = []
    position = 0
    for line in after.value.splitlines(keepends=True):
        found = before.value.find(line, position)
        if found < 0:
            return [after]
        pieces.append(Literal(line, before.origin, before.offset + found))
        position = found + len(line)
    return pieces if len(pieces) <= MAX_LINES else [after]


def strip(text: TextValue, characters: str | None, sides: str) -> Value:
    """`strip`, `lstrip` and `rstrip`, by `sides` (`lr`, `l`, `r`)."""
    pieces = list(text.pieces)
    while "l" in sides and pieces and isinstance(pieces[0], Literal):
        kept = pieces[0].value.lstrip(characters)
        if kept:
            pieces[0] = part(pieces[0], kept, len(pieces[0].value) - len(kept))
            break
        del pieces[0]
    while "r" in sides and pieces and isinstance(pieces[-1], Literal):
        kept = pieces[-1].value.rstrip(characters)
        if kept:
            pieces[-1] = part(pieces[-1], kept, 0)
            break
        del pieces[-1]
    return TextValue(tuple(pieces))


def shortened(text: TextValue, length: int | None) -> Value:
    """`text[:length]`: constant text up to the length, gaps counting as nothing; where the length is not known
    or counts from the end, nothing is known to be cut off."""
    if length is None or length < 0:
        return text
    pieces: list[Piece] = []
    for piece in text.pieces:
        if isinstance(piece, Literal):
            kept = part(piece, piece.value[:length], 0)
            length -= len(kept.value)
            pieces.append(kept)
        else:
            pieces.append(piece)
        if length <= 0:
            break
    return TextValue(tuple(pieces))


def repeat(text: TextValue, times: int) -> Value:
    """`text * times`."""
    size = sum(len(piece.value) for piece in text.pieces if isinstance(piece, Literal))
    if times <= 0:
        return TextValue(())
    if size * times > MAX_REPEATED:
        return Unknown("bound")
    whole = plain(text)
    if whole is not None and text.pieces:
        first = text.pieces[0]
        return TextValue((Literal(whole * times, first.origin if isinstance(first, Literal) else None, -1),))
    return concatenate([text.pieces] * times)


def template_fields(text: str) -> set[str]:
    """Names of the replacement fields of a format string."""
    return {re.split(r"[!:.\[]", field, maxsplit=1)[0] for _, _, field, _, _ in fields(text) if field}


SIMPLE_METHODS: Final[Mapping[str, Callable[[str], str]]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "capitalize": str.capitalize,
    "casefold": str.casefold,
    "swapcase": str.swapcase,
    "expandtabs": str.expandtabs,
}

PRINTABLE: Final = string.printable
