"""What each form of expression evaluates to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project import (
    calls,
    classes,
    conditions,
    files,
    indexing,
    iteration,
    jinja,
    members,
    objects,
    operators,
    strings,
)
from promptopt.project.flow import Flow
from promptopt.project.frames import Frame
from promptopt.project.targets import path_of
from promptopt.project.values import (
    NONE,
    Alternatives,
    Constant,
    Derived,
    External,
    Function,
    Hole,
    Instance,
    Literal,
    MapValue,
    Pieces,
    ScopeRef,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    constant_key,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression


def _literal(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    place = ev.place(e, frame)
    ev.world.literals[place] = e[3]
    return literal(e[3], place)


def _string(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    return TextValue((Literal(e[3], ev.place(e, frame), -1),) if e[3] else ())


def _constant(_ev: Evaluator, e: Expression, _frame: Frame, _position: int) -> Value:
    return NONE if e[3] is None else Constant(e[3])


def _name(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    value = ev.name(e[3], frame, position)
    if isinstance(value, (Instance, Alternatives)):
        return objects.current(ev, value, e[3], _own(frame), position)
    if isinstance(value, Unknown) and value.name is None:
        return Unknown(value.why, (value,), e[3], ev.place(e, frame))
    if isinstance(value, External):
        return members.external(ev, value.dotted, ev.place(e, frame), frame)
    return value


def _own(frame: Frame) -> Frame:
    """The frame of a scope's statements, out of a comprehension in it."""
    while frame.outer is not None:
        frame = frame.outer
    return frame


def _attribute(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    path = path_of(e)
    while path is not None and frame.outer is not None and path.partition(".")[0] not in frame.locals:
        frame = frame.outer
    if path is not None and frame.outer is None:
        flow = ev.flow(frame.scope)
        found = flow.versions.get(path)
        if found is not None:
            thunk = flow.at(path, position)
            if thunk is not None and thunk[0] != "unset" and _newer(flow, path, position):
                return ev.thunk(thunk, frame)
    base = ev.evaluate(e[3], frame, position)
    return members.attribute(ev, base, e[4], ev.place(e, frame), frame)


def _newer(flow: Flow, path: str, position: int) -> bool:
    """Whether a dotted path was set after its root name was bound."""
    root = path.partition(".")[0]
    found = flow.versions.get(root)
    if found is None:
        return True
    mine = [p for p in flow.versions[path][0] if p <= position][-1]
    return not [p for p in found[0] if mine < p <= position]


def _call(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return calls.call(ev, e, frame, position)


def _fstring(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return strings.concatenate(_piece(ev, piece, frame, position) for piece in e[3])


def _piece(ev: Evaluator, piece: Expression, frame: Frame, position: int) -> Pieces:
    if piece[0] in ("part", "print"):
        return jinja.pieces(ev, piece, frame, position)
    place = ev.place(piece, frame)
    if piece[0] == "lit":
        ev.world.literals[place] = piece[3]
        return (Literal(piece[3], place),)
    value = classes.shown(ev, ev.evaluate(piece[3], frame, position))
    spec = plain(strings.concatenate(_piece(ev, part, frame, position) for part in piece[5])) if piece[5] else ""
    if spec is not None and (piece[4] or spec):
        text = strings.printed(value, piece[4] or "", spec)
        if text is not None:
            return (Literal(text, place, -1),)
    if piece[4] == "r" and isinstance(value, TextValue):
        return (Hole(Derived("repr", (value,), place), place, ev.text(ev.place(piece[3], frame))),)
    if piece[5]:
        value = members.formatted(ev, value, "__format__", spec, place, frame)
    return strings.to_pieces(value, place, ev.text(ev.place(piece[3], frame)))


def _format_piece(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return TextValue(_piece(ev, e, frame, position))


def _binary(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    operator = e[3]
    if operator == "+":
        return _sum(ev, e, frame, position)
    left, right = ev.evaluate(e[4], frame, position), ev.evaluate(e[5], frame, position)
    if operator == "%":
        if isinstance(left, TextValue):
            return strings.format_percent(left, right, ev.place(e[5], frame), ev)
        return Derived("%", (left, right), ev.place(e, frame))
    if operator == "*":
        return operators.times(left, right, ev.place(e, frame))
    if operator == "/":
        return files.divided(ev, left, right, ev.place(e, frame))
    return indexing.union(ev, left, right, ev.place(e, frame))


def _sum(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    operands = []
    spine = e
    while spine[0] == "bin" and spine[3] == "+":
        operands.append(spine[5])
        spine = spine[4]
    operands.append(spine)
    operands.reverse()
    values = [(ev.evaluate(operand, frame, position), operand) for operand in operands]
    return operators.add(ev, values, frame)


def _or(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    chosen: list[Value] = []
    for operand in e[3]:
        value = ev.evaluate(operand, frame, position)
        truth = conditions.truth(value)
        if truth is not False:
            chosen.append(value)
        if truth is True:
            break
    if not chosen:
        return ev.evaluate(e[3][-1], frame, position)
    return operators.either(ev.text(ev.place(e, frame)), tuple(chosen))


def _and(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    for operand in e[3][:-1]:
        if conditions.decide(ev, operand, frame, position) is False:
            return ev.evaluate(operand, frame, position)
    return ev.evaluate(e[3][-1], frame, position)


def _test(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    decided = conditions.decide(ev, e, frame, position)
    return Unknown(e[0]) if decided is None else Constant(decided)


def _conditional(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    decided = conditions.decide(ev, e[3], frame, position)
    if decided is not None:
        return ev.evaluate(e[4] if decided else e[5], frame, position)
    values = (ev.evaluate(e[4], frame, position), ev.evaluate(e[5], frame, position))
    return operators.either(ev.text(ev.place(e[3], frame)), values)


def _sequence(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    items: list[object] = []
    for item in e[4]:
        if item[0] == "star":
            items.extend(iteration.spliced(ev.evaluate(item[3], frame, position), ev.place(item, frame)))
        else:
            items.append(ev.evaluate(item, frame, position))
    order = ev.volatile("set-order", ev.place(e, frame), frame) if e[3] == "set" and len(items) > 1 else None
    return Sequence(e[3], tuple(items), order, ev.place(e, frame))  # type: ignore[arg-type]  # items are Values and Splices


def _mapping(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    entries: dict[object, Value] = {}
    rest: list[Value] = []
    for key, value in e[3]:
        if key is None:
            spread = ev.evaluate(value, frame, position)
            if isinstance(spread, MapValue):
                entries.update(spread.entries)
                rest.extend(spread.rest)
            else:
                rest.append(spread)
            continue
        name = constant_key(ev.evaluate(key, frame, position))
        evaluated = ev.evaluate(value, frame, position)
        if name is ...:
            rest.append(evaluated)
        else:
            entries[name] = evaluated
    return MapValue(entries, tuple(rest), ev.place(e, frame))


def _comprehension(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return iteration.comprehension(ev, e, frame, position)


def _index(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    base = ev.evaluate(e[3], frame, position)
    return indexing.item(ev, base, ev.evaluate(e[4], frame, position), ev.place(e, frame))


def _slice(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    base = ev.evaluate(e[3], frame, position)
    bounds = tuple(None if part is None else ev.evaluate(part, frame, position) for part in e[4:7])
    return indexing.cut(ev, base, bounds, ev.place(e, frame))


def _inner(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return ev.evaluate(e[3], frame, position)


def _lambda(_ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    return Function(ScopeRef(frame.scope.path, e[3]), frame)


def _star(ev: Evaluator, e: Expression, frame: Frame, position: int) -> Value:
    return Sequence("list", (Splice(ev.evaluate(e[3], frame, position), ev.place(e, frame)),))


def _unknown(ev: Evaluator, e: Expression, frame: Frame, _position: int) -> Value:
    return Unknown(e[3] if len(e) > 3 and isinstance(e[3], str) else e[0], place=ev.place(e, frame))


EXPRESSIONS: Final[Mapping[str, Callable[[Evaluator, Expression, Frame, int], Value]]] = {
    "lit": _literal,
    "const": _constant,
    "name": _name,
    "attr": _attribute,
    "call": _call,
    "bin": _binary,
    "or": _or,
    "and": _and,
    "not": _test,
    "cmp": _test,
    "fstr": _fstring,
    "tstr": _fstring,
    "fmt": _format_piece,
    "seq": _sequence,
    "dict": _mapping,
    "star": _star,
    "ifexp": _conditional,
    "comp": _comprehension,
    "index": _index,
    "slice": _slice,
    "await": _inner,
    "lambda": _lambda,
    "yield": _unknown,
    "yieldfrom": _unknown,
    "unk": _unknown,
    "str": _string,
    "part": jinja.printed,
    "print": jinja.printed,
    "filter": jinja.filtered,
    "defined": _test,
    "fixed": jinja.fixed,
    "block": jinja.block,
    "include": jinja.included,
    "import": jinja.imported,
    "extends": jinja.extended,
}
