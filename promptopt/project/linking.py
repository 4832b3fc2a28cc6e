"""From request sites to prompts: expand callers until the text is known, then build the model."""

from __future__ import annotations

import gc
import posixpath
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, closures, hooks, keeping, retrieval, standing, template_uses
from promptopt.project.callers import Callers, CallSite
from promptopt.project.choices import choices
from promptopt.project.collect import garbage_collection_paused
from promptopt.project.describe import Describer, location
from promptopt.project.evaluate import Evaluator
from promptopt.project.frames import Frame
from promptopt.project.interfaces import Interfaces, passes_on
from promptopt.project.jinja import Units
from promptopt.project.messages import MessageBuilder, Rounds
from promptopt.project.needs import open_parameters
from promptopt.project.reach import is_reached
from promptopt.project.requests import Requests, Site, Slots
from promptopt.project.targets import ASKING, last_name
from promptopt.project.values import (
    ClassValue,
    Constant,
    Function,
    Instance,
    Method,
    Place,
    ScopeRef,
    Value,
    Volatile,
    plain,
)
from promptopt.project.variants import variants
from promptopt.project.world import World
from promptopt.prompt import (
    Absent,
    Block,
    BracedText,
    Call,
    CallContext,
    ChatTemplate,
    History,
    Interpolation,
    Keeping,
    Message,
    Parameter,
    Prompt,
    PromptTemplate,
    Retrieval,
)
from promptopt.readers.jinja.environment import DEFAULT_SYNTAX, TemplateSyntax

if TYPE_CHECKING:
    from promptopt.readers.facts import Module
    from promptopt.sdks.catalogue import SdkCatalogue
    from promptopt.source import SourceFile
    from promptopt.sources.catalogue import SourceCatalogue

MAX_CHAIN: Final = 7
"""Hops from a request site outwards."""

MAX_PROMPTS: Final = 60
"""Prompts of one request site."""

SITE_STEPS: Final = 40_000
"""Evaluation steps for all prompts of one request site; callers that are left then are not followed."""

RECURSION: Final = 12_000
"""Interpreter frames that nested evaluations may take; the evaluator's own bound is reached first."""


@dataclass(frozen=True, slots=True)
class Linked:
    """What linking a project gave.

    `bounds_hit` counts evaluations that were cut off. `faults` are prompt templates that could not be read: what is
    wrong and at which offset, by path; `other_templates` counts those of another engine than Jinja, `strangers` are
    templates that were looked at and are no prompts.
    """

    prompts: tuple[Prompt, ...]
    calls: tuple[Call, ...]
    templates: tuple[PromptTemplate | ChatTemplate | BracedText, ...] = ()
    bounds_hit: int = 0
    faults: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    other_templates: int = 0
    strangers: frozenset[str] = frozenset()
    retrievals: tuple[Retrieval, ...] = ()
    keeping: tuple[Keeping, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """`paths` are all files of the project, parsed or not; `roots` further import roots; `read_text`
    reads a file of the project by its path, None where there is none; `templates` are the paths of template files,
    which `syntax` cuts unless code says otherwise, and `all_prompts` says that all of them are prompts."""

    paths: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    read_text: Callable[[str], str | None] = field(default=lambda _path: None)
    templates: tuple[str, ...] = ()
    syntax: TemplateSyntax = DEFAULT_SYNTAX
    all_prompts: bool = False


def link(
    modules: Mapping[str, Module],
    files: Mapping[str, SourceFile],
    sdks: SdkCatalogue,
    sources: SourceCatalogue,
    options: LinkOptions | None = None,
) -> Linked:
    """Resolve every request of the project.

    Args:
        modules: facts by path.
        files: the parsed files' text by path.
        sdks: what is known about SDKs.
        sources: where volatility comes from.
        options: see `LinkOptions`.
    """
    options = options or LinkOptions()
    units = Units(options.templates, options.syntax, all_prompts=options.all_prompts)
    world = World(modules, files, sdks, sources, options.read_text, options.paths, options.roots, units=units)
    with _deep_recursion(), garbage_collection_paused(), _facts_set_aside():
        return _Linker(world).run()


@contextmanager
def _facts_set_aside() -> Iterator[None]:
    """Keep collections, which free values that refer to each other, from walking through all facts."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Hops from the outermost caller inwards to the request site; `scopes` are the functions on the way.

    `receiver` is the object whose method the outermost function is, made at `made`, where its
    constructor supplies text.
    """

    hops: tuple[CallSite, ...]
    scopes: tuple[ScopeRef, ...]
    receiver: Instance | None = None
    made: CallSite | None = None


class _Linker:
    def __init__(self, world: World) -> None:
        self.world = world
        self.ev = Evaluator(world)
        self.callers = Callers(self.ev)
        self.describer = Describer(self.ev, self.callers)
        self.requests = Requests(self.ev, self.callers)
        self.interfaces = Interfaces(self.callers)
        self.names: dict[str, int] = {}

    def run(self) -> Linked:
        prompts: list[Prompt] = []
        calls: dict[object, Call] = {}
        hooked = hooks.find(self.ev)
        seen: set[Hashable] = set()
        found: dict[Place, list[Prompt]] = {}
        sites = [site for site in self.requests.sites() if self._has_room()]
        for site in sorted(sites, key=self._adapts):
            self._has_room()
            self.ev.refuel()
            found[site.place] = list(self._prompts(site, hooked.get(site.place, ())))
        for site in sites:
            for prompt in found.pop(site.place, ()):
                calls.setdefault(prompt.call.location, prompt.call)
                if (key := _identity(prompt)) not in seen:
                    seen.add(key)
                    prompts.append(self._name(prompt))
        prompts.extend(self._name(prompt) for prompt in hooks.prompts(self.ev, self.describer))
        alone = standing.find(self.ev, self.describer, self.callers, prompts)
        prompts.extend(self._name(prompt) for prompt in alone.prompts)
        return Linked(
            tuple(prompts),
            tuple(calls.values()),
            (
                *template_uses.find(self.ev, prompts),
                *template_uses.chat_templates(self.ev),
                *template_uses.braced(self.ev),
            ),
            self.ev.bounds_hit,
            alone.faults,
            alone.others,
            alone.strangers,
            retrieval.find(self.ev, self.describer, prompts),
            tuple(keeping.find(self.ev, prompts)),
        )

    def _has_room(self) -> bool:
        """Between two sites: forget values when there are many, so that memory stays bounded."""
        if self.ev.is_full():
            self.ev.forget()
            self.describer.forget()
            self.callers.forget()
            gc.collect()
            # what is left stays: later collections need not walk through it
            gc.freeze()
        return True

    def _adapts(self, site: Site) -> bool:
        """Whether a request site changes what its function is given: those that do not come first."""
        self.ev.refuel()
        return not passes_on(self.requests.slots(site, self.ev.open_frame(site.scope)))

    def _prompts(self, site: Site, hooked: tuple[hooks.Hooked, ...]) -> Iterator[Prompt]:
        """The prompts of one site: one for each way its text is supplied."""
        queue = [_Chain((), (site.scope,))]
        made, steps, limit = 0, 0, self.ev.allowed(SITE_STEPS)
        while queue and made < MAX_PROMPTS and steps < limit:
            chain = queue.pop(0)
            steps += self.ev.used
            self.ev.refuel()
            frame = self._frame(chain)
            if self._is_switched_off(chain) or not self._is_reached(site, chain, frame):
                continue
            slots = self.requests.slots(site, frame)
            wider = self._wider(chain, slots) if len(chain.hops) < MAX_CHAIN else []
            if wider:
                chosen = [one for one in wider if self._chooses(one)]
                queue.extend(chosen[: MAX_PROMPTS - made])
                continue
            for messages in choices(slots.messages):
                built = self._build(site, replace(slots, messages=messages), chain, hooked)
                for prompt in variants(self.interfaces.widened(built, chain.hops, chain.scopes[1:])):
                    made += 1
                    yield prompt

    def _is_reached(self, site: Site, chain: _Chain, frame: Frame) -> bool:
        """Whether what the callers pass lets each call on the way happen."""
        at: Frame | None = frame
        for call in (site.call, *(hop.call for hop in reversed(chain.hops))):
            if at is not None and call >= 0 and not is_reached(self.ev, at, call):
                return False
            at = at.caller if at is not None else None
        return True

    def _is_switched_off(self, chain: _Chain) -> bool:
        """Whether nobody sends this request: its function is called, or its object made, in dead branches only."""
        outer = chain.scopes[0]
        owner = self.ev.self_of(outer)
        if isinstance(owner, Instance):
            made = classes.constructor(self.ev, owner.cls)
            if made is not None and self.callers.is_never_made(made, owner.cls):
                return True
        return self.callers.is_switched_off(outer)

    def _chooses(self, chain: _Chain) -> bool:
        return not chain.hops or self.interfaces.chooses(chain.hops[0], chain.scopes[1])

    def _frame(self, chain: _Chain) -> Frame:
        """The site's frame with its parameters bound along the chain."""
        frame = self.ev.open_frame(chain.scopes[0])
        if chain.receiver is not None:
            frame = Frame(frame.scope, receiver=chain.receiver, closure=frame.closure, level=frame.level)
        for hop, inner in zip(chain.hops, chain.scopes[1:], strict=True):
            frame = self._bound(hop, inner, frame)
        return frame

    def _bound(self, hop: CallSite, ref: ScopeRef, caller: Frame) -> Frame:
        if hop.around:
            return Frame(ref, closure=self._around(ref, caller), call=hop.place, caller=caller, depth=caller.depth + 1)
        arguments = self.callers.arguments(hop, caller)
        receiver = self.callers.receiver(hop, caller, ref)
        skip = 1 if receiver is not None else 0
        bindings = self.world.bind(ref, arguments, skip=skip, ev=self.ev)
        parent = self.ev.parent(ref)
        closure = caller if parent == caller.scope else self.ev.open_frame(parent) if parent is not None else None
        return Frame(
            ref,
            bindings,
            receiver=receiver,
            closure=closure,
            call=hop.place,
            caller=caller,
            depth=caller.depth + 1,
        )

    def _around(self, ref: ScopeRef, outer: Frame) -> Frame:
        """The frame of the function around a nested one, as the nested one sees it."""
        if not closures.is_kept(self.ev.scope(ref), self.ev.scope(outer.scope)):
            return outer
        given = {
            name: self.ev.recurrence.lasting(self.ev.force(one), "session") for name, one in outer.bindings.items()
        }
        return outer.kept(given)

    def _wider(self, chain: _Chain, slots: Slots) -> list[_Chain]:
        """Chains one hop longer, for the callers that supply what is still open."""
        outer = chain.scopes[0]
        wanted = {parameter.scope for parameter in open_parameters(slots)}
        if outer in wanted:
            sites = [site for site in self.callers.of(outer) if site.scope not in chain.scopes]
            return [_Chain((site, *chain.hops), (site.scope, *chain.scopes)) for site in sites]
        around = self.callers.around(outer)
        if around is not None and around.scope not in chain.scopes and not wanted.isdisjoint(self._above(outer)):
            return [_Chain((around, *chain.hops), (around.scope, *chain.scopes))]
        if chain.receiver is None:
            return [wider for ref in wanted for wider in self._constructed(chain, ref)]
        return []

    def _enclosing(self, ref: ScopeRef) -> Iterator[ScopeRef]:
        """The functions around a nested function, the innermost first."""
        above = self.ev.parent(ref)
        while above is not None and self.ev.scope(above).kind in ("function", "lambda"):
            yield above
            above = self.ev.parent(above)

    def _above(self, ref: ScopeRef) -> Iterator[ScopeRef]:
        """The functions around a nested function, and the constructor of the object whose method the outermost is."""
        owner: Value | None = None
        for one in self._enclosing(ref):
            yield one
            owner = self.ev.self_of(one)
        if isinstance(owner, Instance) and (made := classes.constructor(self.ev, owner.cls)) is not None:
            yield made

    def _constructed(self, chain: _Chain, ref: ScopeRef) -> Iterator[_Chain]:
        """Chains for the places that make the object whose constructor's parameter is still open."""
        owner = self.ev.self_of(chain.scopes[0])
        if isinstance(owner, Instance) and classes.constructor(self.ev, owner.cls) == ref:
            for site, cls in self.callers.making(ref, owner.cls):
                yield self._with_receiver(chain, site, cls)

    def _with_receiver(self, chain: _Chain, site: CallSite, cls: ClassValue) -> _Chain:
        frame = self.ev.open_frame(site.scope)
        at_import = frame.level == "process"
        instance = Instance(cls, self.callers.arguments(site, frame), site.place, at_import)
        return replace(chain, receiver=instance, made=site)

    def _build(self, site: Site, slots: Slots, chain: _Chain, hooked: tuple[hooks.Hooked, ...]) -> Prompt:
        places = (site.place, *(hop.place for hop in chain.hops))
        made_once = site.shape.history == "agent"
        calls = ((site.scope, site.call), *((hop.scope, hop.call) for hop in chain.hops))
        rounds = tuple(one for where in calls for one in self._rounds(*where))
        builder = MessageBuilder(
            self.ev, self.describer, site.sdk, places, rounds, made_once=made_once, factories=self._factories(site)
        )
        messages: list[Message | History] = []
        for value in slots.system:
            messages.extend(builder.system(value))
        for one in hooked:
            messages.extend(builder.hooked(one.function, once=one.once))
        messages.extend(self._flags(site))
        messages.extend(self._conversation(builder, site, slots, hooked, tuple(messages)))
        call = self._call(site, slots)
        hops = (chain.made, *chain.hops) if chain.made is not None else chain.hops
        scope = hops[0].scope if hops else chain.scopes[0]
        place = hops[0].place if hops else site.place
        name = f"{scope.path}::{self.ev.scope(scope).name or '<module>'}"
        return Prompt(
            name,
            call,
            location(place),
            builder.tools(slots.tools),
            tuple(messages),
            tuple(location(hop.place) for hop in hops),
        )

    def _factories(self, site: Site) -> frozenset[ScopeRef]:
        """The functions around a request's function that are over when it runs."""
        found: set[ScopeRef] = set()
        inner = site.scope
        for outer in self._enclosing(site.scope):
            if found or closures.is_kept(self.ev.scope(inner), self.ev.scope(outer)):
                found.add(outer)
            inner = outer
        return frozenset(found)

    def _rounds(self, ref: ScopeRef, call: int) -> Iterator[Rounds]:
        """The loops around a call on the way to the request."""
        if call < 0:
            return
        flow, scope = self.ev.flow(ref), self.ev.scope(ref)
        for loop in flow.enclosing(flow.call_position(call)):
            inside = (fact for fact in scope.calls if loop.start <= fact[0] < loop.end)
            asks = any(last_name(fact[2]) in ASKING for fact in inside)
            yield Rounds(Place(ref.path, loop.start, loop.end), scope.start, asks)

    def _kept_in(self, site: Site, slots: Slots, hooked: tuple[hooks.Hooked, ...]) -> str:
        """What an agent's earlier messages stand behind: instructions made anew for each request (`agent`),
        or once for the object, so that its own loop never sees them change (`run`)."""
        if site.shape.history_when:
            keeps = self._passes_history(site) and not self._is_false(site)
            return "agent" if keeps else "run"
        per_request = any(isinstance(value, (Function, Method)) for value in slots.system)
        per_request = per_request or any(not one.once for one in hooked)
        return "agent" if per_request or any(True for _ in self._flags(site)) else "run"

    def _is_false(self, site: Site) -> bool:
        fact = self.ev.scope(site.scope).calls[site.call]
        given = [value for name, value in fact[4] if name in site.shape.history_when]
        return all(value[0] == "const" and not value[3] for value in given)

    def _conversation(
        self,
        builder: MessageBuilder,
        site: Site,
        slots: Slots,
        hooked: tuple[hooks.Hooked, ...],
        given: tuple[Message | History, ...],
    ) -> Iterator[Message | History]:
        """The messages behind what is `given` by the instructions."""
        shape = site.shape
        if shape.history == "server" and self._passes_history(site):
            yield History("server", (), "", location(site.place))
        listed = shape.messages[:1] == ("messages",)
        yield from builder.conversation(slots.messages) if listed else builder.messages(slots.messages)
        if shape.history == "agent" and not _is_input(slots, hooked, given):
            yield History(self._kept_in(site, slots, hooked), (), "", location(site.place))
        yield from builder.messages(slots.input)
        if slots.messages is None and (shape.messages and slots.unresolved):
            yield History("unknown", (), "", location(site.place), known=False)

    def _passes_history(self, site: Site) -> bool:
        fact = self.ev.scope(site.scope).calls[site.call]
        passed = {name for name, _ in fact[4]}
        return any(
            reference in passed or (isinstance(reference, int) and reference < len(fact[3]))
            for reference in site.shape.history_when
        )

    def _flags(self, site: Site) -> Iterator[Message]:
        """Text that the SDK itself puts at the end of the system prompt (`inject_date=True`)."""
        for flag in site.shape.flags:
            keyword = str(flag.argument)
            fact = self.ev.scope(site.scope).calls[site.call]
            given = next((value for name, value in fact[4] if name == keyword), None)
            if given is None:
                continue
            frame, position = self.ev.open_frame(site.scope), self.ev.flow(site.scope).call_position(site.call)
            value = self.ev.evaluate(given, frame, position)
            if not (isinstance(value, Constant) and value.value is flag.value):
                continue
            kind = flag.cause
            directives = next((v for name, v in fact[4] if name == str(flag.format)), None) if flag.format else None
            text = plain(self.ev.evaluate(directives, frame, position)) if directives is not None else None
            if text is not None:
                kind = self.ev.sources.formatted("time-of-day", text) or kind
            place = Place(site.scope.path, given[1], given[2])
            source = self.ev.sources.kind(kind)
            cause = self.describer.cause(Volatile(kind, source.label, source.volatility, f"{keyword}=True", place))
            part = Interpolation(f"{keyword}=True", source.volatility, (cause,), location(place))
            yield Message("system", (Block((part,)),), location(place))

    def _call(self, site: Site, slots: Slots) -> Call:
        scope = self.ev.scope(site.scope)
        loops = self.ev.flow(site.scope).enclosing(self.ev.flow(site.scope).call_position(site.call))
        targets = tuple(
            self.ev.text(Place(site.scope.path, *one.target[1:3])) if one.target else "while" for one in loops
        )
        parameters = {name: self._parameter(*given) for name, given in slots.parameters.items()}
        return Call(
            site.sdk.name,
            site.shape.endpoint,
            self._provider(site, slots),
            location(site.place),
            scope.name or "<module>",
            parameters.get("model"),
            MappingProxyType(parameters),
            slots.unresolved,
            CallContext("unknown", scope.is_async, targets),
            bool(site.sdk.markers),
        )

    def _provider(self, site: Site, slots: Slots) -> str | None:
        if not site.certain:
            return None
        if slots.client is not None:
            found = self.ev.sdks.client(slots.client.dotted)
            if found is not None:
                redirected = any(name in slots.client.arguments.keywords for name in found[1].base_url)
                return None if redirected else found[1].provider
        return site.shape.provider or site.sdk.provider

    def _parameter(self, value: Value, place: Place | None) -> Parameter:
        level, causes = self.describer.of(value)
        text = plain(value)
        known = text if text is not None else value.value if isinstance(value, Constant) else Absent.UNKNOWN
        return Parameter(known, location(place) if place is not None else None, level, causes)

    def _name(self, prompt: Prompt) -> Prompt:
        count = self.names.get(prompt.name, 0) + 1
        self.names[prompt.name] = count
        return prompt if count == 1 else replace(prompt, name=f"{prompt.name}#{count}")


def _is_input(slots: Slots, hooked: tuple[hooks.Hooked, ...], given: tuple[Message | History, ...]) -> bool:
    """Whether a function for instructions returns all messages of a request, and no earlier ones among them."""
    if hooked or len(slots.system) != 1 or not isinstance(slots.system[0], (Function, Method)):
        return False
    return len(given) > 1 and not any(isinstance(one, History) for one in given)


def _identity(prompt: Prompt) -> Hashable:
    """What tells prompts of one place apart. The same text sent through several wrapped methods of one SDK (with and
    without streaming, by providers that are compatible) is one prompt."""
    volatile = tuple((name, one) for name, one in prompt.call.params.items() if one.causes)
    return prompt.location, prompt.call.sdk, prompt.call.endpoint, prompt.tools, prompt.messages, volatile


def project_reader(root: str, read: Callable[[str], bytes | None]) -> Callable[[str], str | None]:
    """A function that reads text files of the project and nothing outside it."""

    def text(path: str) -> str | None:
        clean = posixpath.normpath(path)
        if clean.startswith(("..", "/")):
            return None
        content = read(posixpath.join(root, clean))
        if content is None:
            return None
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    return text
