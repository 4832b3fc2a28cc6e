"""Request sites: which calls send prompts, and which arguments carry what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from promptopt.project import calls, templates
from promptopt.project.values import (
    Alternatives,
    Arguments,
    CallResult,
    ClassValue,
    External,
    Function,
    Instance,
    Lazy,
    MapValue,
    Member,
    Method,
    Parameter,
    Pipe,
    Place,
    ScopeRef,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptopt.project.callers import Callers
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import CallFact, Expression
    from promptopt.sdks.schema import Argument, CallShape, Sdk


MAX_HOPS: Final = 3
"""Callers of callers that are asked for a client."""

RECOGNITION_FUEL: Final = 4_000
"""Evaluation steps for finding out whether a call sends a request."""

MAX_ASKED: Final = 8
"""Callers of one function that are asked for a client."""


@dataclass(frozen=True, slots=True)
class Site:
    """One call that sends a request, or makes an object that will. `certain` is false where the client's
    type is not known and only the call's shape tells."""

    scope: ScopeRef
    call: int
    place: Place
    sdk: Sdk
    shape: CallShape
    certain: bool


@dataclass(frozen=True, slots=True)
class Slots:
    """What a request carries, evaluated in one frame; parameters with the places of their arguments."""

    tools: Value | None
    system: tuple[Value, ...]
    messages: Value | None
    input: Value | None
    parameters: dict[str, tuple[Value, Place | None]] = field(default_factory=dict)
    unresolved: bool = False
    client: CallResult | None = None


class Requests:
    """Finds request sites and reads their slots."""

    def __init__(self, ev: Evaluator, callers: Callers) -> None:
        self.ev = ev
        self.callers = callers
        self._asked: set[tuple[ScopeRef, str]] = set()

    def sites(self) -> Iterator[Site]:
        """All request sites of the project, in order of path and offset."""
        names = self.ev.sdks.method_names
        for path in sorted(self.ev.world.modules):
            module = self.ev.world.modules[path]
            found = sorted(
                (module.scopes[scope].calls[call][0], scope, call)
                for name in module.calls_by_name.keys() & names
                for scope, call in module.calls_by_name[name]
            )
            for _, scope, call in found:
                self.ev.refuel(RECOGNITION_FUEL)
                site = self.recognise(ScopeRef(path, scope), call)
                if site is not None:
                    yield site

    def recognise(self, ref: ScopeRef, call: int) -> Site | None:
        """The site, if the call sends a request."""
        ev = self.ev
        fact = ev.scope(ref).calls[call]
        if ev.flow(ref).is_dead(fact[0]):
            return None
        frame, position = ev.open_frame(ref), ev.flow(ref).call_position(call)
        place = Place(ref.path, fact[0], fact[1])
        function = fact[2][3] if fact[2][0] == "index" else fact[2]
        if function[0] not in ("attr", "name"):
            return None
        value = ev.evaluate(function, frame, position)
        found = self._called(value)
        if found is None and not isinstance(value, (Function, Method)):
            found = self._on_client(function, frame, position) or self._runnable(function, fact, frame, position)
        if found is not None:
            return Site(ref, call, place, found[0], found[1], certain=True)
        shape = self._unmistakable(function, fact, value)
        return None if shape is None else Site(ref, call, place, shape[0], shape[1], certain=False)

    def _called(self, value: Value) -> tuple[Sdk, CallShape] | None:
        sdks = self.ev.sdks
        if isinstance(value, Alternatives):
            return next((found for one in value.values if (found := self._called(one))), None)
        if isinstance(value, External):
            return sdks.function(value.dotted) or sdks.constructor(value.dotted)
        if isinstance(value, Method):
            value = value.function
        if isinstance(value, Function):
            return sdks.function(self.ev.world.dotted(value.scope, self.ev.scope(value.scope).name))
        return None

    def _on_client(self, function: Expression, frame: Frame, position: int) -> tuple[Sdk, CallShape] | None:
        for base, path in _prefixes(function):
            client = self.client(self.ev.evaluate(base, frame, position))
            if client is not None:
                return self.ev.sdks.method(client[0], path)
        return None

    def client(self, value: Value) -> tuple[Sdk, CallResult | None] | None:
        """The SDK whose client a value is."""
        sdks = self.ev.sdks
        if isinstance(value, Alternatives):
            return next((found for one in value.values if (found := self.client(one))), None)
        if isinstance(value, CallResult):
            made = sdks.client(value.dotted)
            return (made[0], value) if made is not None else None
        if isinstance(value, Parameter):
            typed = self.ev.world.annotated(value.annotation, value.scope, self.ev)
            annotated = sdks.client_annotation(typed.dotted) if isinstance(typed, External) else None
            return (annotated[0], None) if annotated is not None else self._passed_client(value)
        if isinstance(value, Member) and value.how == "attribute":
            return self._annotated_attribute(value)
        return None

    def _passed_client(self, value: Parameter) -> tuple[Sdk, CallResult | None] | None:
        """The client that callers pass for a parameter."""
        key = (value.scope, value.name)
        if key in self._asked or len(self._asked) >= MAX_HOPS:
            return None
        self._asked.add(key)
        try:
            for site in self.callers.of(value.scope)[:MAX_ASKED]:
                passed = self.callers.passed(value, site)
                found = self.client(passed) if passed is not None else None
                if found is not None:
                    return found
        finally:
            self._asked.discard(key)
        return None

    def _annotated_attribute(self, value: Member) -> tuple[Sdk, CallResult | None] | None:
        """A client that a class declares as a field: `client: AsyncOpenAI`."""
        base = value.base
        cls = base.cls if isinstance(base, Instance) else base if isinstance(base, ClassValue) else None
        if cls is None:
            return None
        for statement in self.ev.scope(cls.scope).body:
            if statement[0] == "annotated" and statement[5][0] == "name" and statement[5][3] == value.name:
                typed = self.ev.world.annotated(statement[6], cls.scope, self.ev)
                found = self.ev.sdks.client_annotation(typed.dotted) if isinstance(typed, External) else None
                return (found[0], None) if found is not None else None
        return None

    def _runnable(
        self, function: Expression, fact: tuple[object, ...], frame: Frame, position: int
    ) -> tuple[Sdk, CallShape] | None:
        """A composed chain that ends in a model, or any receiver that is handed LangChain messages."""
        if function[0] != "attr":
            return None
        base = self.ev.evaluate(function[3], frame, position)
        if isinstance(base, Pipe):
            for step in base.steps:
                client = self.client(step)
                if client is not None:
                    return self.ev.sdks.method(client[0], function[4])
            template = next((step for step in base.steps if self._template(step)), None)
            return self._template_sdk_method(template, function[4])
        if isinstance(base, (Instance, ClassValue)) or not isinstance(fact[3], tuple) or not fact[3]:
            return None
        for given in self._passed_on(self.ev.evaluate(fact[3][0], frame, position)):
            for item in given.items if isinstance(given, Sequence) else ():
                message = self.ev.sdks.message(item.dotted) if isinstance(item, CallResult) else None
                if message is not None:
                    return self.ev.sdks.method(message[0], function[4])
        return None

    def _passed_on(self, given: Value) -> Iterator[Value]:
        """A value and, where it is a parameter, what its callers pass for it."""
        yield given
        if isinstance(given, Parameter):
            for site in self.callers.of(given.scope)[:MAX_ASKED]:
                passed = self.callers.passed(given, site)
                if passed is not None:
                    yield passed

    def _template(self, value: Value) -> bool:
        return isinstance(value, CallResult) and self.ev.sdks.template(value.dotted) is not None

    def _template_sdk_method(self, template: Value | None, method: str) -> tuple[Sdk, CallShape] | None:
        if not isinstance(template, CallResult):
            return None
        found = self.ev.sdks.template(template.dotted)
        return self.ev.sdks.method(found[0], method) if found is not None else None

    def _unmistakable(self, function: Expression, fact: CallFact, value: Value) -> tuple[Sdk, CallShape] | None:
        if isinstance(value, (Function, Method, ClassValue)) or function[0] != "attr":
            return None
        path = ".".join(_names(function))
        found = self.ev.sdks.unmistakable(path)
        if found is None:
            return None
        shape = found[1]
        keywords = fact[4]
        passed = {name for name, _ in keywords}
        wanted = {str(one).partition(".")[0] for one in (*shape.messages, *shape.system, *shape.input)}
        return found if passed & wanted or None in passed else None

    def slots(self, site: Site, frame: Frame) -> Slots:
        """The values of a site's slots in a frame of its scope."""
        ev = self.ev
        fact = ev.scope(site.scope).calls[site.call]
        position = ev.flow(site.scope).call_position(site.call)
        arguments = calls.arguments_of(ev, fact, frame, position)
        function = fact[2]
        client, pipe = self._receiver(function, frame, position)
        messages = self._slot(site.shape.messages, arguments, client)
        if pipe is not None:
            messages = self._piped(pipe, messages)
        system = [self._slot((reference,), arguments, client) for reference in site.shape.system]
        parameters = {
            name: (value, _place_of(references, arguments))
            for name, references in site.shape.parameters.items()
            if (value := self._passed(references, arguments, client)) is not None
        }
        tools = self._slot(site.shape.tools, arguments, client)
        if tools is None and client is not None:
            tools = client.extra.get("tools")
        return Slots(
            tools,
            tuple(value for value in system if value is not None),
            messages,
            self._slot(site.shape.input, arguments, client),
            parameters,
            bool(arguments.rest) or arguments.open,
            client,
        )

    def _receiver(self, function: Expression, frame: Frame, position: int) -> tuple[CallResult | None, Pipe | None]:
        for base, _ in _prefixes(function):
            value = self.ev.evaluate(base, frame, position)
            if isinstance(value, Pipe):
                models = [found[1] for step in value.steps if (found := self.client(step))]
                return (models[0] if models else None), value
            client = self.client(value)
            if client is not None:
                return client[1], None
        return None, None

    def _slot(self, references: tuple[Argument, ...], arguments: Arguments, client: CallResult | None) -> Value | None:
        """A slot's value; where it may be in a spread mapping that is not known, an item of that mapping."""
        found = self._passed(references, arguments, client)
        if found is None and references and arguments.rest and not str(references[0]).startswith("client."):
            rest = self.ev.force(arguments.rest[0])
            name = next((one for one in references if isinstance(one, str)), "")
            return Member(rest, name, "item") if name and isinstance(rest, (Parameter, Member)) else None
        return found

    def _passed(
        self, references: tuple[Argument, ...], arguments: Arguments, client: CallResult | None
    ) -> Value | None:
        """The first argument of those referred to that is passed by name or position."""
        for reference in references:
            source, key = arguments, reference
            if isinstance(reference, str) and reference.startswith("client."):
                if client is None:
                    continue
                source, key = client.arguments, reference.removeprefix("client.")
            found = self.ev.world.argument(source, (key,), self.ev)
            if found is not None:
                return found
        return None

    def _piped(self, pipe: Pipe, given: Value | None) -> Value | None:
        """The messages that reach a chain's model: its template rendered with the chain's input."""
        current = given
        for step in pipe.steps:
            if isinstance(step, MapValue) and isinstance(current, MapValue):
                current = MapValue({**current.entries, **step.entries}, current.rest, current.place)
            elif isinstance(step, MapValue):
                current = step
            elif self._template(step) and isinstance(step, CallResult):
                arguments = Arguments((current,) if current is not None else ())
                values, places = templates.variables(self.ev, arguments, step.place)
                return templates.rendered(self.ev, step, values, places)
            elif self.client(step) is not None:
                return current
            elif isinstance(step, (Function, Method)) and current is not None:
                current = self.ev.world.apply(step, (current,), Place("", 0, 0), None, self.ev)
        return None


def _place_of(references: tuple[Argument, ...], arguments: Arguments) -> Place | None:
    """Where the first of the arguments that is passed stands."""
    for reference in references:
        given = arguments.keywords.get(str(reference).partition(".")[0])
        if isinstance(given, Lazy):
            return given.place
    return None


def _prefixes(function: Expression) -> Iterator[tuple[Expression, str]]:
    """Every object that a method may be called on, with the path from it: longest path last."""
    names: list[str] = []
    while function[0] == "attr":
        names.insert(0, function[4])
        function = function[3]
        yield function, ".".join(names)
    if not names:
        yield function, "__call__"


def _names(function: Expression) -> list[str]:
    names: list[str] = []
    while function[0] == "attr":
        names.insert(0, function[4])
        function = function[3]
    return names
