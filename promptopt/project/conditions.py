"""Deciding tests where the values they look at are known; None where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptopt.project import classes, jinja, strings
from promptopt.project.targets import last_name
from promptopt.project.values import (
    Alternatives,
    CallResult,
    ClassValue,
    Constant,
    External,
    Function,
    Instance,
    Literal,
    MapValue,
    Method,
    Pipe,
    Sequence,
    TextValue,
    Value,
    constant_key,
    is_none,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import CallFact, Expression

_OBJECTS = (Function, Method, ClassValue, Instance, External, CallResult, Pipe)
_MADE = (MapValue, CallResult, Instance)
_SOMETHING = (TextValue, Sequence, MapValue, *_OBJECTS)


def truth(value: Value) -> bool | None:
    """Whether a value counts as true."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, TextValue):
        if any(isinstance(piece, Literal) and piece.value for piece in value.pieces):
            return True
        return None if value.pieces else False
    if isinstance(value, Sequence):
        if any(isinstance(item, Value) for item in value.items):
            return True
        return None if value.items else False
    if isinstance(value, MapValue):
        return True if value.entries else None if value.rest else False
    if isinstance(value, Alternatives):
        answers = {truth(one) for one in value.values}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(value, CallResult):
        # a class makes something; what a library's function returns may also be nothing
        return True if value.dotted.rpartition(".")[2][:1].isupper() else None
    return True if isinstance(value, _OBJECTS) else None


def decide(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool | None:
    """Whether a test holds."""
    tag = test[0]
    if tag == "not":
        inner = decide(ev, test[3], frame, position)
        return None if inner is None else not inner
    if tag in ("and", "or"):
        return _combined(ev, test, frame, position)
    if tag == "cmp":
        return _compared(ev, test, frame, position)
    if tag == "name" and test[3] == "TYPE_CHECKING":
        return False
    if tag == "call":
        return _called(ev, test, frame, position)
    if tag == "unk":
        return None
    if tag == "defined":
        return jinja.is_defined(ev, test, frame, position)
    return truth(ev.evaluate(test, frame, position))


def sorts(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool:
    """Whether a test that cannot be decided asks of which kind a value is, not whether it is there: of all that is
    sorted by it, each belongs to one side."""
    tag = test[0]
    if tag == "not":
        return sorts(ev, test[3], frame, position)
    if tag in ("and", "or"):
        return any(sorts(ev, part, frame, position) for part in test[3])
    if tag == "cmp":
        asks = test[5][0] != "const" and test[5][3:] != ("",)
    else:
        asks = tag == "call" and _is_asked(ev.scope(frame.scope).calls[test[3]])
    return asks and decide(ev, test, frame, position) is None


def _is_asked(fact: CallFact) -> bool:
    """Whether a call asks something of its arguments; `get` only fetches one."""
    function, arguments = fact[2], fact[3]
    return bool(arguments) and function[0] in ("name", "attr") and last_name(function) not in ("get", "bool", "len")


def _combined(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool | None:
    settles = test[0] == "or"
    unknown = False
    for part in test[3]:
        answer = decide(ev, part, frame, position)
        if answer is settles:
            return settles
        unknown = unknown or answer is None
    return None if unknown else not settles


def _compared(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool | None:
    operator = test[3]
    left = ev.evaluate(test[4], frame, position)
    right = ev.evaluate(test[5], frame, position)
    negated = operator in ("is not", "!=", "not in")
    if operator in ("in", "not in"):
        answer = _contains(left, right)
    else:
        by_identity = operator.startswith("is") or (isinstance(left, CallResult) and left.dotted == "enum.auto")
        answer = _identical(left, right) if by_identity else None
        answer = _equal(left, right) if answer is None else answer
    return None if answer is None else answer is not negated


def _equal(left: Value, right: Value) -> bool | None:
    if is_none(left):
        left, right = right, left
    if is_none(right):
        if isinstance(left, Constant):
            return left.value is None
        if isinstance(left, Alternatives):
            answers = {_equal(one, right) for one in left.values}
            return answers.pop() if len(answers) == 1 else None
        return False if isinstance(left, _SOMETHING) else None
    a, b = constant_key(left), constant_key(right)
    if a is not ... and b is not ...:
        return bool(a == b)
    return _same_name(left, right) if isinstance(left, External) and isinstance(right, External) else None


def _same_name(left: External, right: External) -> bool | None:
    """Whether two names of libraries are the same; members of one enumeration are told apart."""
    (owner, _, a), (other, _, b) = left.dotted.rpartition("."), right.dotted.rpartition(".")
    if left.dotted == right.dotted:
        return True
    return False if owner == other and a.isupper() and b.isupper() else None


def _identical(left: Value, right: Value) -> bool | None:
    """Whether two objects are the same; one that was changed since is another value made at the same place."""
    if not isinstance(left, _MADE) or not isinstance(right, _MADE):
        return None
    if left is right:
        return True
    return False if left.place is not None and right.place is not None and left.place != right.place else None


def _contains(item: Value, container: Value) -> bool | None:
    key = constant_key(item)
    if key is ...:
        return None
    if isinstance(container, MapValue):
        return True if key in container.entries else None if container.rest else False
    if isinstance(container, Sequence):
        keys: list[Any] = [constant_key(one) if isinstance(one, Value) else ... for one in container.items]
        return True if key in [k for k in keys if k is not ...] else None if ... in keys else False
    if isinstance(container, Alternatives):
        answers = {_contains(item, one) for one in container.values}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(container, TextValue) and isinstance(key, str):
        found = [isinstance(stretch, str) and key in stretch for _, stretch in strings.stretches(container.pieces)]
        return True if any(found) else None if plain(container) is None else False
    return None


_KINDS = {
    "builtins.str": TextValue,
    "builtins.dict": MapValue,
    "builtins.list": Sequence,
    "builtins.tuple": Sequence,
    "builtins.set": Sequence,
}


def _called(ev: Evaluator, test: Expression, frame: Frame, position: int) -> bool | None:
    _, _, function, arguments, _ = ev.scope(frame.scope).calls[test[3]]
    if function[0] != "name" or function[3] != "isinstance" or len(arguments) != 2:
        return truth(ev.evaluate(test, frame, position))
    value = ev.evaluate(arguments[0], frame, position)
    cls = ev.evaluate(arguments[1], frame, position)
    options = cls.items if isinstance(cls, Sequence) else (cls,)
    answers = [_is_instance(ev, value, option) if isinstance(option, Value) else None for option in options]
    return True if True in answers else None if None in answers else False


def _is_instance(ev: Evaluator, value: Value, cls: Value) -> bool | None:
    if isinstance(value, Alternatives):
        answers = {_is_instance(ev, one, cls) for one in value.values}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(cls, External) and cls.dotted in _KINDS:
        expected = _KINDS[cls.dotted]
        if isinstance(value, Sequence) and expected is Sequence:
            return value.kind == cls.dotted.removeprefix("builtins.")
        if isinstance(value, expected):
            return True
        return False if isinstance(value, (*_SOMETHING, Constant)) else None
    if isinstance(value, CallResult) and isinstance(cls, External):
        return _is_message(ev, value.dotted, cls.dotted)
    if isinstance(value, Instance) and isinstance(cls, ClassValue):
        return _inherits(ev, value, cls)
    if isinstance(cls, ClassValue) and isinstance(value, (TextValue, MapValue, Sequence, Constant)):
        return False
    return None


def _inherits(ev: Evaluator, value: Instance, cls: ClassValue) -> bool | None:
    """Whether an object is of a class; one that is known by its type alone may be of a subclass."""
    family = classes.ancestry(ev, value.cls)
    if any(one.scope == cls.scope for one in family):
        return True
    known = all(isinstance(base, (ClassValue, External)) for one in family for base in classes.bases(ev, one))
    return False if value.arguments is not None and known else None


def _is_message(ev: Evaluator, made: str, cls: str) -> bool | None:
    """Whether a library's message object is of a class: classes for different roles are no bases of each other."""
    mine, other = ev.sdks.message(made), ev.sdks.message(cls)
    if made == cls:
        return True
    if mine is None or other is None or None in (mine[1].role, other[1].role):
        return None
    return None if mine[1].role == other[1].role else False
