"""From values to the model: what a request's slots hold as messages, blocks, parts and tools."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from promptopt.project import calls, strings, templates
from promptopt.project.describe import Describer, Description, location
from promptopt.project.growth import grows_in_loop, grows_without_end
from promptopt.project.values import (
    EMPTY_ARGUMENTS,
    Again,
    AgainItems,
    Alternatives,
    Arguments,
    CallResult,
    Constant,
    Derived,
    Either,
    EitherItems,
    External,
    Fixed,
    Function,
    Grown,
    Hole,
    Instance,
    Item,
    Items,
    Literal,
    MapValue,
    Member,
    Method,
    Parameter,
    Piece,
    Pieces,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Volatile,
    is_none,
    plain,
)
from promptopt.prompt import (
    UNKNOWN_LIFETIME,
    Block,
    CacheMarker,
    Cause,
    Choice,
    History,
    Interpolation,
    Media,
    Message,
    Part,
    Parts,
    Repeat,
    Segment,
    Text,
    Tool,
    ToolList,
    Volatility,
    flatten,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.values import ScopeRef
    from promptopt.sdks.schema import Sdk
    from promptopt.source import Location

MAX_PARTS: Final = 3_000
"""Parts of one prompt; what comes after them is unknown."""

_MEDIA: Final = ("image", "audio", "file", "video", "document")
_ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "function": "tool"}
_KNOWN_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})
_PER_REQUEST: Final = (Volatility.CALL, Volatility.REQUEST)
_OPAQUE: Final = (Volatile, Member, Unknown, Parameter, Grown)
_TURNS: Final = frozenset({"conversation-history", "growing-list", "loop-growth", "agent-state"})
_MAX_TOOL_TEXT: Final = 200


_AT_TERMINAL: Final = re.compile(r"([\w.]+\.)?(input|prompt|prompt_async|ask|readline)\(")


class Rounds(NamedTuple):
    """A loop around a request or a call that leads to it; `start` is where its function starts, `asks` says that each
    round asks the user for something."""

    loop: Place
    start: int
    asks: bool


class MessageBuilder:
    """Builds the model's values for one request of an SDK; `places` are the request's call and the calls that
    lead to it, `rounds` the loops around them, `made_once` says that its instructions are made with the object
    that keeps the conversation. `factories` are functions that made the function which sends the request."""

    def __init__(
        self,
        ev: Evaluator,
        describer: Describer,
        sdk: Sdk,
        places: tuple[Place, ...] = (),
        rounds: tuple[Rounds, ...] = (),
        *,
        made_once: bool = False,
        factories: frozenset[ScopeRef] = frozenset(),
    ) -> None:
        self.ev = ev
        self.describer = describer
        self.markers = sdk.markers or ("cache_control",)
        self.places = places
        self.rounds = rounds
        self.made_once = made_once
        self.factories = factories
        self.left = MAX_PARTS

    def parts(self, value: Value, place: Place | None = None) -> Parts:
        """A value as text."""
        return self.pieces(strings.to_pieces(value, place or _place(value), self.ev.text(place or _place(value))))

    def pieces(self, pieces: Pieces) -> Parts:
        """Pieces of text as parts."""
        return tuple(self._part(piece) for piece in pieces)

    def _part(self, piece: Piece) -> Part:
        # values share their parts: written out, a short program may make endless text
        self.left -= 1
        if self.left < 0:
            return Interpolation("...", Volatility.UNKNOWN)
        if isinstance(piece, Literal):
            return Text(piece.value, self._segments(piece))
        if isinstance(piece, Either):
            return Choice(piece.condition, tuple(self.pieces(run) for run in piece.alternatives))
        if isinstance(piece, Again):
            return Repeat(piece.label, piece.variable, (*self._repeated(piece), *self.pieces(piece.pieces)))
        return self._interpolation(piece)

    def _repeated(self, piece: Again) -> Parts:
        """How often a part is repeated changes with the sequence it is repeated for."""
        level, causes = self._seen(self.describer.repetition(piece.over))
        # what is printed of a conversation's turns stands inside; which of them are is often decided by their role
        told = ("conversation-history",) if _prints(piece.pieces) else ("conversation-history", "loop-growth")
        kept = tuple(cause for cause in causes if cause.kind not in told)
        if len(kept) < len(causes):
            level, causes = max((cause.volatility for cause in kept), default=Volatility.UNKNOWN), kept
        in_no_order = any(cause.kind.endswith("-order") for cause in causes)
        if level is Volatility.CONSTANT or (level is Volatility.UNKNOWN and not in_no_order):
            return ()
        inside = next((part.place for part in piece.pieces if isinstance(part, Hole)), None)
        where = inside or _place(piece.over) or piece.loop
        return (Interpolation(piece.label, level, causes, location(where) if where else None),)

    def _segments(self, piece: Literal) -> tuple[Segment, ...]:
        if piece.origin is None or not piece.value:
            return ()
        place = self.ev.locate(piece, 0, len(piece.value))
        return (Segment(0, len(piece.value), location(place or piece.origin)),)

    def _interpolation(self, hole: Hole) -> Interpolation:
        level, causes = self._seen(self.describer.hole(hole))
        if self.made_once or self._is_given_once(hole.value):
            level, causes = self._once(level, causes)
        if hole.passed is not None:
            via = location(hole.passed)
            causes = tuple(
                cause
                if via in cause.chain
                else Cause(
                    cause.kind, cause.label, cause.volatility, cause.expression, (*cause.chain, via), cause.by_name
                )
                for cause in causes
            )
        where = hole.place or hole.passed
        return Interpolation(hole.expression or self.ev.text(where), level, causes, location(where) if where else None)

    def _seen(self, description: Description) -> Description:
        """A description as this request sees it: a list that grows in a loop is complete where the request
        is sent behind that loop, and what is made ahead of the loop that sends requests is not made for each."""
        level, causes = description = self._made_ahead(description)
        kept = tuple(cause for cause in causes if cause.kind != "loop-growth" or self._is_around(cause.chain[:1]))
        if len(kept) == len(causes):
            return description
        left = max((cause.volatility for cause in kept), default=Volatility.UNKNOWN)
        return (level if level is Volatility.UNKNOWN else left), kept

    def _made_ahead(self, description: Description) -> Description:
        level, causes = description
        if level not in _PER_REQUEST or not self.rounds:
            return description
        seen = tuple(self._of_all_rounds(cause) for cause in causes)
        return max((cause.volatility for cause in seen), default=level), seen

    def _of_all_rounds(self, cause: Cause) -> Cause:
        if cause.volatility not in _PER_REQUEST or not cause.chain:
            return cause
        made = cause.chain[0]
        ahead = [
            one for one in self.rounds if one.loop.path == made.path and one.start <= made.span.start < one.loop.start
        ]
        if not ahead:
            return cause
        return replace(cause, volatility=Volatility.SESSION if any(one.asks for one in ahead) else Volatility.REQUEST)

    def _once(self, level: Volatility, causes: tuple[Cause, ...]) -> Description:
        """A description of what is made once for an object: a time is not another one on the next call, nor is what
        was asked for at a terminal before the object was made."""
        lasting = Volatility.SESSION
        kept = tuple(replace(one, volatility=lasting) if self._lasts(one) else one for one in causes)
        if level not in _PER_REQUEST or kept == causes:
            return level, causes
        return max(one.volatility for one in kept), kept

    def _is_given_once(self, value: Value) -> bool:
        """Whether a value is what the request's function was made with."""
        if isinstance(value, Parameter):
            return value.scope in self.factories
        if isinstance(value, Member):
            return self._is_given_once(value.base)
        return isinstance(value, Derived) and bool(value.inputs) and all(map(self._is_given_once, value.inputs))

    def _lasts(self, cause: Cause) -> bool:
        if cause.volatility is Volatility.CALL:
            return True
        asked = cause.volatility is Volatility.REQUEST and _AT_TERMINAL.match(cause.expression)
        return bool(asked) and not self._is_in_rounds(cause.chain[:1])

    def _is_in_rounds(self, places: tuple[Location, ...]) -> bool:
        return any(
            one.loop.path == place.path and one.loop.start <= place.span.start < one.loop.end
            for one in self.rounds
            for place in places
        )

    def _is_around(self, loops: tuple[Location, ...]) -> bool:
        """Whether the request, or a call on the way to it, stands inside a loop."""
        return any(
            loop.path == place.path and loop.span.start <= place.start < loop.span.end
            for loop in loops
            for place in self.places
        )

    def _grows_in(self, loop: Place | None) -> bool:
        """Whether a list that grows in a loop around the request is a conversation without end: each round asks the
        user for something, and nothing in it cuts a list."""
        asked = loop is not None and any(one.asks and one.loop == loop for one in self.rounds)
        return loop is not None and asked and grows_in_loop(self.ev, loop)

    def _grows_without_end(self, value: Value) -> bool:
        return grows_without_end(self.ev, value, asks=any(one.asks for one in self.rounds))

    def blocks(self, content: Value, place: Place | None) -> tuple[Block, ...]:
        """A message's content: one text, or a list of blocks."""
        if isinstance(content, Sequence):
            return tuple(block for item in content.items for block in self._block_items(item))
        if isinstance(content, MapValue) and ("text" in content.entries or "type" in content.entries):
            return self._block_items(content)
        if isinstance(content, CallResult) and self.ev.sdks.block(content.dotted) is not None:
            return self._block_items(content)
        if is_none(content):
            return ()
        if isinstance(content, Alternatives) and any(isinstance(one, (Sequence, MapValue)) for one in content.values):
            return max((self.blocks(one, place) for one in content.values), key=_block_weight)
        where = location(place) if place is not None else None
        return (Block(self.parts(content, place), None, where),)

    def _block_items(self, item: Item) -> tuple[Block, ...]:
        if isinstance(item, Splice):
            return (Block(self.pieces((Hole(item.value, item.place),))),)
        if isinstance(item, EitherItems):
            return tuple(b for run in item.alternatives for one in run for b in self._block_items(one))
        if isinstance(item, AgainItems):
            inner = tuple(b for one in item.items for b in self._block_items(one))
            parts = tuple(part for block in inner for part in block.parts)
            again = Again(item.variable, item.over, item.label, (), item.loop)
            return (Block((Repeat(item.label, item.variable, (*self._repeated(again), *parts)),)),)
        if isinstance(item, Instance):
            return (Block((Media("object", _location(item)),)),)
        if isinstance(item, MapValue):
            return (self._map_block(item),)
        if isinstance(item, CallResult):
            return (self._object_block(item),)
        return (Block(self.parts(item)),)

    def _map_block(self, item: MapValue) -> Block:
        marker = next((self._marker(item.entries[key], item) for key in self.markers if key in item.entries), None)
        where = location(item.place) if item.place is not None else None
        kind = plain(item.entries["type"]) if "type" in item.entries else None
        if kind is not None and kind.startswith(_MEDIA):
            return Block((Media(kind, where),), marker, where)
        for key in ("text", "content", "input_text"):
            if key in item.entries:
                return Block(self.parts(item.entries[key]), marker, where)
        values = (*item.entries.values(), *item.rest)
        return Block(self.pieces((Hole(Derived("block", values), item.place),)), marker, where)

    def _object_block(self, item: CallResult) -> Block:
        found = self.ev.sdks.block(item.dotted)
        where = location(item.place)
        if found is None:
            return Block(self.pieces((Hole(item, item.place),)), None, where)
        if found[1].media is not None:
            return Block((Media(found[1].media, where),), None, where)
        given = [self.ev.force(item.arguments.keywords[k]) for k in self.markers if k in item.arguments.keywords]
        marker = next((self._marker(one, item) for one in given), None)
        text = self.ev.world.argument(item.arguments, found[1].text, self.ev)
        return Block(self.parts(text if text is not None else Unknown("block")), marker, where)

    def _marker(self, value: Value, block: MapValue | CallResult) -> CacheMarker | None:
        if isinstance(value, Constant) and not value.value:
            return None
        known = isinstance(value, (Constant, MapValue))
        ttl = None if known else UNKNOWN_LIFETIME
        if isinstance(value, MapValue) and "ttl" in value.entries:
            ttl = plain(value.entries["ttl"]) or UNKNOWN_LIFETIME
        place = _place(value) or block.place
        return CacheMarker(ttl, location(place) if place is not None else None)

    def conversation(self, value: Value | None) -> tuple[Message | History, ...]:
        """The value of a slot that takes nothing but a list of messages."""
        if isinstance(value, _OPAQUE):
            return (self._history(value, _place(value)),)
        return self.messages(value)

    def messages(self, value: Value | None, role: str = "user") -> tuple[Message | History, ...]:
        """A slot's value as messages; text stands for one message of `role`."""
        if value is None or is_none(value):
            return ()
        if isinstance(value, Sequence):
            return self._items(value.items, role)
        if isinstance(value, Alternatives):
            return self._alternative_messages(value, role)
        if isinstance(value, (MapValue, CallResult, Instance)):
            return self._message(value, role)
        if isinstance(value, (Function, Method)):
            return self._returned(value, role, once=False)
        if self._is_list(value):
            return (self._history(value, _place(value)),)
        return (Message(role, self.blocks(value, _place(value)), _location(value)),)

    def hooked(self, function: Value, *, once: bool) -> tuple[Message | History, ...]:
        """Further system text that a function returns for each request, or once per conversation."""
        return self._returned(function, "system", once=once)

    def _returned(self, function: Value, role: str, *, once: bool) -> tuple[Message | History, ...]:
        before, self.made_once = self.made_once, once
        try:
            return self.messages(self._per_request(function), role)
        finally:
            self.made_once = before

    def _per_request(self, function: Value) -> Value:
        """What a callable used as instructions returns; its parameters are the run's context, and the agent
        itself where one is called so."""
        arguments = EMPTY_ARGUMENTS
        inner = function.function if isinstance(function, Method) else function
        if isinstance(inner, Function):
            params = self.ev.scope(inner.scope).params[1 if isinstance(function, Method) else 0 :]
            given = [fact.name for fact in params if fact.kind == "positional" and fact.default is None]
            arguments = Arguments(tuple(self._handed(name) for name in given))
        return calls.call_value(self.ev, function, arguments, Place("", 0, 0), None)

    def _handed(self, name: str) -> Value:
        if name in ("agent", "team"):
            return Unknown("agent", name=name)
        return self.ev.volatile("run-context", None, None)

    def _alternative_messages(self, value: Alternatives, role: str) -> tuple[Message | History, ...]:
        built = [self.messages(one, role) for one in value.values]
        histories = [one for messages in built for one in messages if isinstance(one, History)]
        chosen = max(built, key=_weight, default=())
        return tuple(_bounded(one, histories) if isinstance(one, History) else one for one in chosen)

    def _is_list(self, value: Value) -> bool:
        """Whether a value that is not known stands for a list of messages by its name or type."""
        if isinstance(value, Grown):
            return True
        if isinstance(value, (TextValue, Alternatives, Derived, Constant)):
            return False
        if isinstance(value, Parameter) and value.annotation is not None:
            head = value.annotation.strip("\"'").partition("[")[0].rpartition(".")[2].lower()
            if head == "str":
                return False
            if head in ("list", "sequence", "iterable"):
                return True
        level, causes = self.describer.of(value)
        return level is not Volatility.CONSTANT and any(cause.kind == "conversation-history" for cause in causes)

    def _items(self, items: Items, role: str) -> tuple[Message | History, ...]:
        return tuple(message for item in items for message in self._item(item, role))

    def _item(self, item: Item, role: str) -> tuple[Message | History, ...]:
        self.left -= 1
        if self.left < 0:
            return (History("unknown", (), "...", None, known=False),)
        if isinstance(item, Splice):
            if isinstance(item.value, Sequence):
                return self._items(item.value.items, role)
            if isinstance(item.value, Fixed):
                return ()
            return (self._history(item.value, item.place),)
        if isinstance(item, EitherItems):
            runs = [self._items(run, role) for run in item.alternatives]
            return tuple(_uncertain(one) for run in runs for one in run)
        if isinstance(item, AgainItems):
            return self._again(item, role)
        if isinstance(item, Alternatives):
            return tuple(_uncertain(one) for one in self.messages(item, role))
        if isinstance(item, (Parameter, Member, Unknown)):
            return (
                Message("user", (Block(self.pieces((Hole(item, _place(item)),))),), _location(item), certain=False),
            )
        return self._message(item, role)

    def _again(self, item: AgainItems, role: str) -> tuple[Message | History, ...]:
        loop = location(item.loop) if item.loop is not None else None
        if item.grows and loop is not None and self._is_around((loop,)):
            endless = isinstance(item.over, Grown)  # `while`
            return (History("loop", (), item.label, loop, unbounded=endless and self._grows_in(item.loop)),)
        built = self._items(item.items, role)
        if any(isinstance(one, History) for one in built):
            return built
        roles = {one.role for one in built if isinstance(one, Message)}
        over = item.over.inputs[0] if isinstance(item.over, Unknown) and item.over.why == "filter" else item.over
        if len(roles) > 1 or not roles <= _KNOWN_ROLES or self._is_list(over):
            if isinstance(over, (Grown, Fixed)) and loop is not None:  # steps of the same run, not turns before it
                return (History("loop", (), item.label, loop),)
            history = self._history(over, _place(over) or item.loop)
            return (replace(history, known=True),)
        return tuple(_uncertain(one) for one in built)

    def _history(self, value: Value, place: Place | None) -> History:
        where = location(place) if place is not None else None
        words = self.ev.text(place)
        if isinstance(value, Grown):
            in_loop = value.where == "loop"
            unbounded = self._grows_in(value.place) if in_loop else self._grows_without_end(value)
            return History(value.where, (), words, where, unbounded=unbounded)
        if isinstance(value, Member) and value.how in ("slice", "window"):
            inner = self._history(value.base, place)
            return History(inner.grows_in, (value.how,), words, where, inner.known)
        if isinstance(value, Alternatives):
            ways = [self._history(one, place) for one in value.values]
            return _bounded(max(ways, key=lambda one: one.known), ways)
        if isinstance(value, Sequence):
            known = any(isinstance(one, History) and one.known for one in self._items(value.items, "user"))
            return History("parameter", (), words, where, known)
        _, causes = self.describer.of(value)
        known = any(cause.kind in _TURNS for cause in causes)
        unbounded = known and self._grows_without_end(value)
        return History("parameter" if known else "unknown", (), words, where, known, unbounded)

    def _message(self, item: Value, role: str) -> tuple[Message | History, ...]:
        if isinstance(item, MapValue):
            return self._map_message(item, role)
        if isinstance(item, CallResult):
            return self._object_message(item, role)
        if isinstance(item, Sequence) and len(item.items) == 2:
            first, content = item.items
            name = plain(first) if isinstance(first, Value) else None
            if name is not None and _role(name) in _KNOWN_ROLES and isinstance(content, Value):
                return (Message(_role(name), self.blocks(content, _place(content)), _location(item)),)
        if isinstance(item, Instance) and item.arguments is not None:
            return self._instance_message(item, role)
        return (Message(role, self.blocks(item, _place(item)), _location(item)),)

    def _map_message(self, item: MapValue, role: str) -> tuple[Message | History, ...]:
        where = location(item.place) if item.place is not None else None
        given = item.entries.get("role")
        if given is None and "type" in item.entries and "text" in item.entries:
            return (Message(role, self.blocks(item, item.place), where),)
        if given is None and "messages" in item.entries:
            return self.messages(item.entries["messages"], role)
        if given is None and not ({"content", "parts"} & item.entries.keys()):
            if "input" in item.entries:
                return self.messages(item.entries["input"], role)
            return (Message(role, self.blocks(Unknown("message"), item.place), where, certain=False),)
        content = item.entries.get("content", item.entries.get("parts", Unknown("content")))
        name = self._role_name(given) if given is not None else role
        return (Message(_role(name or "?"), self.blocks(content, _place(content) or item.place), where),)

    def _role_name(self, value: Value) -> str | None:
        if isinstance(value, External):
            return value.dotted.rpartition(".")[2].lower()
        if isinstance(value, Alternatives):
            return next((name for one in value.values if (name := self._role_name(one))), None)
        return plain(value)

    def _object_message(self, item: CallResult, role: str) -> tuple[Message | History, ...]:
        found = self.ev.sdks.message(item.dotted)
        if found is None:
            if self.ev.sdks.template(item.dotted) is not None:
                return self.messages(templates.rendered(self.ev, item, {}, {}), role)
            if self.ev.sdks.block(item.dotted) is not None:
                return (Message(role, self.blocks(item, item.place), location(item.place)),)
            if self._is_list(item):
                return (self._history(item, item.place),)
            return (Message(role, self.blocks(item, item.place), location(item.place)),)
        content = self.ev.world.argument(item.arguments, found[1].content, self.ev)
        if found[1].placeholder:
            return (History("store", (), self.ev.text(item.place), location(item.place)),)
        name = self.ev.world.role(item, self.ev)
        value = content if content is not None else Unknown("content")
        return (Message(_role(name or "?"), self.blocks(value, _place(value) or item.place), location(item.place)),)

    def _instance_message(self, item: Instance, role: str) -> tuple[Message | History, ...]:
        """An object of a project's own message class, if it has a role and content."""
        given = self.ev.attribute(item, "role", None)
        name = self._role_name(given)
        where = location(item.place) if item.place is not None else None
        if name is None:
            return (Message(role, self.blocks(Unknown("message"), item.place), where, certain=False),)
        content = self.ev.attribute(item, "content", item.place)
        return (Message(_role(name), self.blocks(content, item.place), where),)

    def system(self, value: Value) -> tuple[Message | History, ...]:
        """A slot of instructions: text, blocks, texts, messages, or a callable that returns them."""
        if isinstance(value, Sequence) and not self._holds_messages(value):
            return (Message("system", self.blocks(value, value.place), _location(value)),)
        return self.messages(value, "system")

    def _holds_messages(self, value: Sequence) -> bool:
        for item in value.items:
            if isinstance(item, MapValue) and "role" in item.entries:
                return True
            if isinstance(item, CallResult) and self.ev.sdks.message(item.dotted) is not None:
                return True
        return False

    def tools(self, value: Value | None) -> ToolList | None:
        """A slot of tool definitions."""
        if value is None or is_none(value):
            return None
        if isinstance(value, Alternatives):
            built = [self.tools(one) for one in value.values]
            return max((one for one in built if one), key=lambda one: len(one.tools), default=None)
        if not isinstance(value, Sequence):
            return ToolList((), complete=False, location=_location(value))
        tools = tuple(self._tool(item) for item in value.items if isinstance(item, Value))
        complete = len(tools) == len(value.items)
        cause = self.describer.cause(value.order) if value.order is not None else self._spliced_order(value)
        return ToolList(tools, complete, cause, _location(value))

    def _spliced_order(self, value: Sequence) -> Cause | None:
        for item in value.items:
            if isinstance(item, Splice) and isinstance(item.value, Sequence) and item.value.order is not None:
                return self.describer.cause(item.value.order)
        return None

    def _tool(self, value: Value) -> Tool:
        where = _location(value)
        if isinstance(value, Function):
            scope = self.ev.scope(value.scope)
            text = scope.docstring[3] if scope.docstring is not None else ""
            return Tool(scope.name.rpartition(".")[2], (Text(text),) if text else (), None, where)
        if isinstance(value, MapValue):
            marker = next((self._marker(value.entries[k], value) for k in self.markers if k in value.entries), None)
            name = plain(value.entries["name"]) if "name" in value.entries else None
            return Tool(name, tuple(self._schema(value, 0)), marker, where)
        return Tool(None, (), None, where)

    def _schema(self, value: Value, depth: int) -> list[Part]:
        if isinstance(value, TextValue):
            return list(self.pieces(value.pieces))
        inner: list[Part] = []
        if depth < 8 and isinstance(value, MapValue):
            for key, one in value.entries.items():
                inner += [Text(f'"{key}":'), *self._schema(one, depth + 1)]
        elif depth < 8 and isinstance(value, Sequence):
            for item in value.items[:_MAX_TOOL_TEXT]:
                inner += self._schema(item, depth + 1) if isinstance(item, Value) else []
        elif isinstance(value, Volatile):
            inner.append(self._interpolation(Hole(value, value.place)))
        return inner


def _weight(messages: tuple[Message | History, ...]) -> int:
    return len(messages) + sum(_block_weight(message.blocks) for message in messages if isinstance(message, Message))


def _block_weight(blocks: tuple[Block, ...]) -> int:
    """How much is known of a message's content: constant characters, then parts."""
    parts = [part for block in blocks for part in flatten(block.parts)]
    return sum(len(part.value) if isinstance(part, Text) else 1 for part in parts)


def _prints(pieces: Pieces) -> bool:
    """Whether a round of a loop prints anything for certain."""
    return any(
        (isinstance(one, Literal) and one.value.strip() != "")
        or isinstance(one, Hole)
        or (isinstance(one, Again) and _prints(one.pieces))
        or (isinstance(one, Either) and all(map(_prints, one.alternatives)))
        for one in pieces
    )


def _bounded(history: History, ways: list[History]) -> History:
    """A conversation with what limits it in any of several ways: `turns[-10:] if len(turns) > 10 else turns`."""
    bounds = tuple(dict.fromkeys(bound for one in ways for bound in one.bounds))
    return replace(history, bounds=bounds, unbounded=False) if bounds else history


def _uncertain(message: Message | History) -> Message | History:
    if isinstance(message, History):
        return message
    return Message(message.role, message.blocks, message.location, certain=False)


def _role(name: str) -> str:
    return _ROLES.get(name.lower(), name.lower())


def _place(value: object) -> Place | None:
    place = getattr(value, "place", None)
    if isinstance(place, Place):
        return place
    if isinstance(value, TextValue) and value.pieces:
        first = value.pieces[0]
        return first.origin if isinstance(first, Literal) else getattr(first, "place", None)
    return None


def _location(value: object) -> Location | None:
    place = _place(value)
    return location(place) if place is not None else None
