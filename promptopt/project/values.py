"""What expressions evaluate to: strings in pieces, lists with gaps, objects, and the unknown.

Values are immutable and compared by identity, so that a list and the same list with one more element
share their common items. A `Place` is a path with half-open character offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from promptopt.prompt import Volatility

if TYPE_CHECKING:
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression


class Place(NamedTuple):
    """A stretch of one file, in character offsets."""

    path: str
    start: int
    end: int


class ScopeRef(NamedTuple):
    """One scope of one module: `number` is its index in `Module.scopes`."""

    path: str
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """Anything an expression may evaluate to."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknown(Value):
    """Not resolved. `inputs` are values it was computed from, `name` the identifier it goes by."""

    why: str
    inputs: tuple[Value, ...] = ()
    name: str | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Value):
    """A number, boolean or None."""

    value: int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Volatile(Value):
    """A value of the source catalogue: `kind` is the entry, `expression` the source text at `place`."""

    kind: str
    label: str
    volatility: Volatility
    expression: str
    place: Place | None
    by_name: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Derived(Value):
    """Computed from `inputs` by something that keeps what they say; as volatile as they are.

    `how` is `json` for serialised mappings, `member` for a part of something, `lookup` for a record that was fetched by
    its keys, `record` for the text it is about, `kept` and `request` for what another
    method has stored at some time or in each request, else free text.
    """

    how: str
    inputs: tuple[Value, ...]
    place: Place | None = None
    ordered: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Fixed(Value):
    """Not known in detail, but the same on every call: a library's constant, an unread file."""

    what: str
    volatility: Volatility = Volatility.CONSTANT
    place: Place | None = None


class Literal(NamedTuple):
    """Constant characters. `origin` is the literal they come from, `offset` their place in its value;
    an offset of -1 says that characters do not correspond any more."""

    value: str
    origin: Place | None
    offset: int = 0


class Hole(NamedTuple):
    """A value inside text; `place` is where it stands, `expression` its source text, `passed` where it
    was handed to a template."""

    value: Value
    place: Place | None
    expression: str = ""
    passed: Place | None = None


class Either(NamedTuple):
    """Alternative pieces under a condition (its source text)."""

    condition: str
    alternatives: tuple[Pieces, ...]


class Again(NamedTuple):
    """Pieces repeated for each element of `over`; `loop` is the statement that repeats them."""

    variable: str
    over: Value
    label: str
    pieces: Pieces
    loop: Place | None = None


Piece: TypeAlias = Literal | Hole | Either | Again
Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TextValue(Value):
    """A string in pieces."""

    pieces: Pieces


class Splice(NamedTuple):
    """A sequence of unknown elements inside a sequence."""

    value: Value
    place: Place | None = None


class EitherItems(NamedTuple):
    """Alternative runs of items under a condition."""

    condition: str
    alternatives: tuple[Items, ...]


class AgainItems(NamedTuple):
    """Items repeated for each element of `over`; `loop` is the loop that adds them, `grows` says that
    the reader of the list stands inside that loop and sees the items of earlier rounds."""

    variable: str
    over: Value
    label: str
    items: Items
    loop: Place | None = None
    grows: bool = False


Item: TypeAlias = Value | Splice | EitherItems | AgainItems
Items: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Value):
    """A list, tuple or set. `order` says why the order of its elements changes, if it does."""

    kind: str
    items: Items
    order: Volatile | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MapValue(Value):
    """A mapping with string (or other constant) keys in order; `rest` are spread mappings not known."""

    entries: Mapping[Any, Value]
    rest: tuple[Value, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives(Value):
    """One of several values; `condition` is the source text of what decides."""

    condition: str
    values: tuple[Value, ...]

    def over(self, change: Callable[[Value], Value]) -> Alternatives:
        """The same choice of changed values."""
        return Alternatives(self.condition, tuple(change(one) for one in self.values))

    def reached(self, take: Callable[[Value], Value]) -> Value:
        """A member or an item of whichever value it is; None has none, so it is not what was asked."""
        values = tuple(take(one) for one in self.values if not is_none(one))
        return alternatives(self.condition, values) if values else NONE


@dataclass(frozen=True, slots=True, eq=False)
class Function(Value):
    """A function or lambda of the project and the frame it was defined in."""

    scope: ScopeRef
    closure: Frame | None


@dataclass(frozen=True, slots=True, eq=False)
class Method(Value):
    """A function bound to a receiver."""

    function: Function
    receiver: Value


@dataclass(frozen=True, slots=True, eq=False)
class ClassValue(Value):
    """A class of the project."""

    scope: ScopeRef


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An object of a project class; `arguments` is None for `self` inside a method nobody was traced to.

    `state` leads to what was done to it since it was made (see `objects`); None where it is kept by
    others, who may have changed it.
    """

    cls: ClassValue
    arguments: Arguments | None
    place: Place | None = None
    at_import: bool = False
    state: object = None


@dataclass(frozen=True, slots=True, eq=False)
class ModuleValue(Value):
    """A module of the project."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class External(Value):
    """A name of a library or builtin, by its dotted path (`openai.OpenAI`)."""

    dotted: str


@dataclass(frozen=True, slots=True, eq=False)
class CallResult(Value):
    """What a call of a library's function or class returned. `extra` holds what configuring methods
    added (`bind_tools`)."""

    dotted: str
    arguments: Arguments
    place: Place
    function: Value | None = None
    extra: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Member(Value):
    """An attribute (`how` is `attribute`), item, element, slice or call result of something not known."""

    base: Value
    name: str
    how: str = "attribute"
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Value):
    """A function's parameter that no traced call binds."""

    scope: ScopeRef
    name: str
    annotation: str | None
    default: Lazy | None
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Pipe(Value):
    """Steps composed with `|`."""

    steps: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Variable(Value):
    """A template's variable that nothing has filled in."""

    name: str
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class JinjaTemplate(Value):
    """A template of Jinja: its text, the environment that it was got from, and where it was got."""

    text: TextValue
    environment: Value | None
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Namespace(Value):
    """The macros and variables of a template that another one imports."""

    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Grown(Value):
    """Items that other methods, earlier rounds or a store have added to a list. `where` is loop,
    session or store; `steady` says that some are added for each request."""

    where: str
    place: Place | None = None
    steady: bool = True


@dataclass(slots=True, eq=False)
class Lazy:
    """An expression to be evaluated in a frame when its value is asked for."""

    expression: Expression
    frame: Frame
    position: int

    @property
    def place(self) -> Place:
        """Where the expression stands."""
        return Place(self.frame.scope.path, self.expression[1], self.expression[2])


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """Arguments of a call. `rest` are `**mapping`s, `open` says that a `*sequence` could not be
    unpacked, so positions after it are not known."""

    positional: tuple[Lazy | Value, ...] = ()
    keywords: Mapping[str, Lazy | Value] = field(default_factory=dict)
    rest: tuple[Lazy | Value, ...] = ()
    open: bool = False


Predicate: TypeAlias = Callable[[Value], bool]

NONE = Constant(None)
EMPTY_ARGUMENTS = Arguments()


def literal(text: str, origin: Place | None = None) -> TextValue:
    """Text known as a whole."""
    return TextValue((Literal(text, origin),)) if text else TextValue(())


def plain(value: Value) -> str | None:
    """The string, if every character is known."""
    if not isinstance(value, TextValue):
        return None
    parts = [piece.value for piece in value.pieces if isinstance(piece, Literal)]
    return "".join(parts) if len(parts) == len(value.pieces) else None


def plain_options(value: Value, limit: int = 32) -> list[str]:
    """All strings that a value may be, if it is one of a few constant ones; else none."""
    if isinstance(value, Alternatives):
        return [text for one in value.values for text in plain_options(one, limit)]
    return _texts(value.pieces, limit) if isinstance(value, TextValue) else []


def _texts(pieces: Pieces, limit: int) -> list[str]:
    texts = [""]
    for piece in pieces:
        if isinstance(piece, Literal):
            endings = [piece.value]
        elif isinstance(piece, Either):
            endings = [text for run in piece.alternatives for text in _texts(run, limit)]
        else:
            return []
        texts = [text + ending for text in texts for ending in endings]
        if len(texts) > limit:
            return []
    return texts


def constant_key(value: Value) -> Any:
    """The value as a mapping key: a string, number, boolean or None; `...` where not constant."""
    if isinstance(value, Constant):
        return value.value
    text = plain(value)
    return ... if text is None else text


def item_values(items: Items) -> list[Value]:
    """All values among items, whatever run or repetition they stand in."""
    values: list[Value] = []
    for one in items:
        if isinstance(one, EitherItems):
            values += [value for run in one.alternatives for value in item_values(run)]
        elif isinstance(one, AgainItems):
            values += [one.over, *item_values(one.items)]
        else:
            values.append(one.value if isinstance(one, Splice) else one)
    return values


MAX_NESTED: Final = 2_000
"""Pieces of a text or items of a list, those of choices and repetitions included: what is rewritten under one
condition after another doubles with each."""


def is_large(run: Pieces | Items) -> bool:
    """Whether a text or a list has more than `MAX_NESTED` pieces or items."""
    total = 0
    stack: list[Pieces | Items] = [run]
    while stack and total <= MAX_NESTED:
        parts = stack.pop()
        total += len(parts)
        for part in parts:
            if isinstance(part, (Either, EitherItems)):
                stack.extend(part.alternatives)
            elif isinstance(part, (Again, AgainItems)):
                stack.append(part.pieces if isinstance(part, Again) else part.items)
    return total > MAX_NESTED


def with_parts(value: Value, parts: Callable[[Value], Iterable[Value]]) -> Iterator[Value]:
    """The value, its parts and theirs, each once however many it is part of, in order."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            stack.extend(reversed(list(parts(one))))


def is_none(value: object) -> bool:
    """Whether a value is known to be None."""
    return isinstance(value, Constant) and value.value is None


MAX_OBJECTS: Final = 40
"""Alternatives where each is an object: which provider's client it is matters little."""

_OBJECTS: Final = (CallResult, Instance, ClassValue, Function, Method, External)


def alternatives(condition: str, values: tuple[Value, ...], limit: int = 8) -> Value:
    """Join values that a condition chooses from: identical ones merge, shared beginnings and ends of
    texts and lists are kept outside the choice; more than `limit` alternatives are unknown."""
    flat = _distinct(one for value in values for one in (value.values if isinstance(value, Alternatives) else (value,)))
    whole = {id(one.base) for one in flat if isinstance(one, Member) and one.how == "window"}
    flat = [one for one in flat if id(one) not in whole]  # a list that is cut where it is long is one that is cut
    if len(flat) == 1:
        return flat[0]
    if len(flat) > limit and any(isinstance(value, _OBJECTS) for value in flat):
        flat = [value for value in flat if isinstance(value, _OBJECTS)]
    if len(flat) > (MAX_OBJECTS if isinstance(flat[0], _OBJECTS) else limit):
        return Unknown("bound", tuple(flat[:limit]))
    if all(isinstance(value, Sequence) for value in flat):
        return _join_sequences(condition, [v for v in flat if isinstance(v, Sequence)])
    if all(isinstance(value, TextValue) for value in flat):
        return _join_texts(condition, [v for v in flat if isinstance(v, TextValue)])
    if all(isinstance(value, MapValue) for value in flat):
        return _join_maps(condition, [v for v in flat if isinstance(v, MapValue)])
    return Alternatives(condition, tuple(flat))


def _distinct(values: Iterable[Value]) -> list[Value]:
    """The values in order, of those that are the same the first."""
    distinct: list[Value] = []
    seen: set[object] = set()
    texts: list[Pieces] = []
    for value in values:
        if isinstance(value, TextValue):
            # compared one by one: their hash would take in every piece of them
            if value.pieces in texts:
                continue
            texts.append(value.pieces)
        else:
            identity = _identity(value)
            if identity in seen:
                continue
            seen.add(identity)
        distinct.append(value)
    return distinct


def _identity(value: Value) -> object:
    if isinstance(value, Constant):
        return type(value.value), value.value
    if isinstance(value, External):
        return External, value.dotted
    if isinstance(value, (ClassValue, Function)):
        return type(value), value.scope
    return id(value)


def _shared(runs: list[tuple[Any, ...]]) -> tuple[int, int]:
    shortest = min(len(run) for run in runs)
    first = runs[0]
    head = 0
    while head < shortest and all(_alike(run[head], first[head]) for run in runs):
        head += 1
    tail = 0
    while tail < shortest - head and all(_alike(run[-1 - tail], first[-1 - tail]) for run in runs):
        tail += 1
    return head, tail


def _alike(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, (Literal, Hole)) and type(a) is type(b) and a == b)


def _join_sequences(condition: str, values: list[Sequence]) -> Value:
    runs = [value.items for value in values]
    if _is_record(values):
        columns = zip(*runs, strict=True)
        items = tuple(
            alternatives(condition, tuple(one for one in column if isinstance(one, Value))) for column in columns
        )
        return Sequence("tuple", items, None, values[0].place)
    head, tail = _shared(runs)
    middle = tuple(run[head : len(run) - tail] for run in runs)
    joined: Items = (*runs[0][:head], EitherItems(condition, middle), *runs[0][len(runs[0]) - tail :])
    order = next((value.order for value in values if value.order), None)
    return Sequence(values[0].kind, joined, order, values[0].place)


def _is_record(values: list[Sequence]) -> bool:
    """Whether the values are tuples of one shape, such as what a function returns as `count, messages`. Pairs that
    start with different texts are kept apart: messages written as `("system", text)`."""
    if any(value.kind != "tuple" or value.order is not None for value in values):
        return False
    if any(not isinstance(item, Value) for value in values for item in value.items):
        return False
    heads = {plain(value.items[0]) for value in values if value.items and isinstance(value.items[0], Value)}
    return len({len(value.items) for value in values}) == 1 and (len(heads) == 1 or not heads - {None})


def _join_texts(condition: str, values: list[TextValue]) -> Value:
    runs = [value.pieces for value in values]
    head, tail = _shared(runs)
    middle = tuple(run[head : len(run) - tail] for run in runs)
    return TextValue((*runs[0][:head], Either(condition, middle), *runs[0][len(runs[0]) - tail :]))


def _join_maps(condition: str, values: list[MapValue]) -> Value:
    keys = list(dict.fromkeys(key for value in values for key in value.entries))
    differ = any(len(value.entries) != len(keys) for value in values)
    if differ and any({"role", "content"} <= set(value.entries) for value in values):
        return Alternatives(condition, tuple(values))
    entries = {key: alternatives(condition, tuple(value.entries.get(key, NONE) for value in values)) for key in keys}
    rest = {id(one): one for value in values for one in value.rest}
    return MapValue(entries, tuple(rest.values()), values[0].place)
