"""Searches of an index whose passages reach a prompt: how many there are, and what narrows them on the way.

That passages reach a prompt is proved: a request's text holds them, a chain or an engine of a framework is made with
the retriever, or a pipeline leads from it to a prompt. Text made of them that is called a context or a prompt is taken
for one. That nothing narrows them cannot be proved: anything in the
files on the way that looks as if it did counts as a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Several
from typing import TYPE_CHECKING, Final, NamedTuple

from promptopt.project import calls
from promptopt.project.describe import Describer, location
from promptopt.project.targets import all_statements
from promptopt.project.values import (
    Alternatives,
    CallResult,
    Constant,
    Derived,
    External,
    MapValue,
    Parameter,
    Pipe,
    Place,
    ScopeRef,
    Sequence,
    TextValue,
    Unknown,
    Value,
    Volatile,
)
from promptopt.prompt import Interpolation, Prompt, Retrieval
from promptopt.source import Location, is_test_code

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression
    from promptopt.sdks.schema import Argument, RetrieverShape

KIND: Final = "retrieved-passages"

MAX_HOPS: Final = 3
"""Callers of callers that pass a number on."""

STEPS: Final = 2_000
"""Evaluation steps for what one call is given."""

_NARROWING: Final = re.compile(
    r"\w*(?:re_?rank|compress|cross_?encod|threshold|min_score|score_cutoff|trim|truncat|dedup|token_limit"
    r"|max_context|context_limit|context_budget|token_budget|max_char|max_doc|max_passage|max_len|num_tokens"
    r"|count_tokens|fusion|ensemble|rrf)\w*|\bscore\s*[<>]=?|\.sort\(|\bsorted\(",
    re.IGNORECASE,
)
"""Names of what reranks, filters or caps passages, or fuses several searches into one."""

_SLICED: Final = re.compile(
    r"(?:docs?|documents?|nodes?|chunks?|results?|passages?|matches|hits|points|found)\w*\[\s*:"
)
"""A list of passages of which the first few are taken."""

_BY_ENVIRONMENT: Final = re.compile(r"(?:getenv|environ\.get)\(\s*[\"'][^\"']*[\"']\s*,\s*[\"']?(\d+)[\"']?\s*\)")

_CONTEXT: Final = re.compile(r"(?:\w+_)?(?:context|prompt)(?:_(?:text|str|string|block))?")
"""Names of text that is made for a prompt."""

_MAPPINGS: Final = ("RunnableParallel", "RunnableMap", "RunnablePassthrough.assign")
"""What LangChain calls mappings at the head of a pipeline."""


class _Reach(NamedTuple):
    """A search's passages are put into a prompt at `feeds`; `bounds` narrow them, a reranker keeps `kept`."""

    search: Place
    feeds: Place
    bounds: tuple[str, ...]
    kept: int | None = None


def find(ev: Evaluator, describer: Describer, prompts: Several[Prompt]) -> tuple[Retrieval, ...]:
    """The project's searches whose passages reach a prompt, where their number is known."""
    finder = _Finder(ev, describer)
    return tuple(finder.run(prompts)) if finder.searches else ()


class _Finder:
    def __init__(self, ev: Evaluator, describer: Describer) -> None:
        self.ev = ev
        self.describer = describer
        self.sdks = ev.world.sdks
        self.searches: dict[Place, tuple[ScopeRef, int, RetrieverShape]] = {}
        for name in self.sdks.searching_methods:
            for ref, call in ev.world.calls_named(name):
                fact = ev.scope(ref).calls[call]
                shape = self.sdks.search(name, [key for key, _ in fact[4] if key]) if fact[2][0] == "attr" else None
                if shape is not None:
                    self.searches[Place(ref.path, *fact[:2])] = ref, call, shape

    def run(self, prompts: Several[Prompt]) -> Iterator[Retrieval]:
        """One for each search, at the first place that puts its passages into a prompt unnarrowed, if there is one."""
        reached: dict[Place, _Reach] = {}
        for one in (*self._asked(prompts), *self._used(), *self._piped(), *self._engines(), *self._gathered()):
            if one.search in self.searches and (one.search not in reached or reached[one.search].bounds):
                reached[one.search] = one
        for one in reached.values():
            yield from self._retrieval(one)

    def _asked(self, prompts: Several[Prompt]) -> Iterator[_Reach]:
        """Passages that stand in the text of a request."""
        for prompt in prompts:
            for part in prompt.flatten():
                if not isinstance(part, Interpolation):
                    continue
                for cause in part.causes:
                    if cause.kind == KIND and cause.chain:
                        feeds = part.location or prompt.location
                        way = {place.path for place in (*cause.chain, feeds, prompt.call.location)}
                        yield _Reach(_place(cause.chain[0]), _place(feeds), self._narrowed(way))

    def _used(self) -> Iterator[_Reach]:
        """Retrievers that a chain or an engine is made with."""
        for name in self.sdks.retriever_uses:
            for ref, call in self.ev.world.calls_named(name):
                fact = self.ev.scope(ref).calls[call]
                function = self._value(fact[2], ref, call)
                use = self.sdks.retriever_use(function.dotted) if isinstance(function, External) else None
                given = self._argument(use.retriever, ref, call) if use else None
                for search in self._origins(given) if use and given else ():
                    feeds = Place(ref.path, *fact[:2])
                    bounds = self._passed((*use.bounds, *use.reranker), ref, call) if use else ()
                    kept = self._kept(self._argument(use.reranker, ref, call)) if use and use.reranker else None
                    yield _Reach(search, feeds, (*bounds, *self._narrowed({search.path, ref.path})), kept)

    def _piped(self) -> Iterator[_Reach]:
        """Retrievers at the head of a pipeline, in the mapping that fills the variables of its prompt."""
        paths = {ref.path for ref, _, shape in self.searches.values() if shape.gives == "retriever"}
        for path in sorted(paths):
            for number, scope in enumerate(self.ev.world.modules[path].scopes):
                ref = ScopeRef(path, number)
                for pipe in (one for statement in all_statements(scope.body) for one in _pipes(statement)):
                    value = self.ev.apart(STEPS, pipe, ref, self.ev.flow(ref).end)
                    feeds = Place(path, *pipe[1:3])
                    for search in self._origins(value):
                        yield _Reach(search, feeds, self._narrowed({path}))

    def _engines(self) -> Iterator[_Reach]:
        """Engines that put what they find into a prompt of their own."""
        for place, (ref, call, shape) in self.searches.items():
            if shape.gives == "engine":
                bounds = (*self._passed(shape.bounds, ref, call), *self._narrowed({place.path}))
                yield _Reach(place, place, bounds, self._kept(self._argument(shape.bounds, ref, call)))

    def _gathered(self) -> Iterator[_Reach]:
        """Passages in text that its name says is made for a prompt, in files that search."""
        for path in sorted({place.path for place in self.searches}):
            for number, scope in enumerate(self.ev.world.modules[path].scopes):
                ref = ScopeRef(path, number)
                for name in self.ev.flow(ref).versions if scope.kind == "function" else ():
                    thunk = self.ev.flow(ref).last(name) if _CONTEXT.fullmatch(name) else None
                    if thunk is None or thunk[0] in ("unset", "param"):
                        continue
                    self.ev.refuel(STEPS)
                    value = self.ev.thunk(thunk, self.ev.open_frame(ref))
                    for cause in self.describer.of(value)[1] if isinstance(value, TextValue) else ():
                        if cause.kind == KIND and cause.chain:
                            search = _place(cause.chain[0])
                            yield _Reach(search, search, self._narrowed({path, search.path}))

    def _retrieval(self, reach: _Reach) -> Iterator[Retrieval]:
        ref, call, shape = self.searches[reach.search]
        given = self._argument(shape.k, ref, call)
        number = self._number(given) if given is not None else None
        if number is not None:
            bounds = (*self._passed(shape.bounds, ref, call), *reach.bounds)
            where, feeds = location(reach.search), location(reach.feeds)
            yield Retrieval(number, where, self.ev.text(reach.search), feeds, tuple(dict.fromkeys(bounds)), reach.kept)

    def _kept(self, value: Value | None) -> int | None:
        """How many passages a reranker keeps, or the only one of a list."""
        if isinstance(value, Sequence) and len(value.items) == 1 and isinstance(value.items[0], Value):
            value = self.ev.force(value.items[0])
        shape = self.sdks.reranker(value.dotted) if isinstance(value, CallResult) else None
        given = (
            self.ev.world.argument(value.arguments, shape.keeps, self.ev)
            if shape and isinstance(value, CallResult)
            else None
        )
        return self._number(given) if given is not None else None

    def _number(self, value: Value, hops: int = 0) -> int | None:
        """The least number that a value may be; for a parameter, of what its callers pass and its default."""
        if isinstance(value, Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
            return value.value
        if isinstance(value, Alternatives):
            return _least(self._number(one, hops) for one in value.values)
        if isinstance(value, Parameter):
            return _least(self._number(one, hops + 1) for one in self._passed_for(value)) if hops < MAX_HOPS else None
        read = (value, *value.inputs) if isinstance(value, (Unknown, Derived)) else (value,)
        set_by = (_BY_ENVIRONMENT.search(self.ev.text(getattr(one, "place", None))) for one in read)
        return next((int(found[1]) for found in set_by if found), None)

    def _passed_for(self, parameter: Parameter) -> Iterator[Value]:
        """What calls by the function's name pass for a parameter, its default where one passes nothing."""
        scope = self.ev.scope(parameter.scope)
        names = scope.name.split(".")
        name = names[-2] if names[-1] == "__init__" and len(names) > 1 else names[-1]
        default = self.ev.force(parameter.default) if parameter.default is not None else Unknown("parameter")
        position = next((at for at, one in enumerate(scope.params) if one.name == parameter.name), 0)
        if scope.params and scope.params[0].name in ("self", "cls"):
            position -= 1
        sites = [site for site in self.ev.world.calls_named(name) if not is_test_code(site[0].path)]
        for ref, call in sites:
            yield self._argument((parameter.name, position), ref, call) or default
        if not sites:
            yield default

    def _value(self, expression: Expression, ref: ScopeRef, call: int) -> Value:
        return self.ev.apart(STEPS, expression, ref, self.ev.flow(ref).call_position(call))

    def _argument(self, references: Iterable[Argument], ref: ScopeRef, call: int) -> Value | None:
        frame, position = self.ev.open_frame(ref), self.ev.flow(ref).call_position(call)
        arguments = calls.arguments_of(self.ev, self.ev.scope(ref).calls[call], frame, position)
        return self.ev.world.argument(arguments, references, self.ev)

    def _passed(self, references: Iterable[Argument], ref: ScopeRef, call: int) -> tuple[str, ...]:
        return tuple(str(one) for one in references if self._argument((one,), ref, call) is not None)

    def _origins(self, value: Value) -> Iterator[Place]:
        """The searches that a value asks, or whose passages it holds."""
        if isinstance(value, Volatile) and value.kind == KIND and value.place is not None:
            yield value.place
        elif isinstance(value, Pipe):
            yield from self._origins(value.steps[0])
        elif isinstance(value, MapValue):
            for entry in value.entries.values():
                yield from self._origins(entry)
        elif isinstance(value, CallResult) and value.dotted.endswith(_MAPPINGS):
            for given in (*value.arguments.positional, *value.arguments.keywords.values()):
                yield from self._origins(self.ev.force(given))

    def _narrowed(self, paths: Iterable[str]) -> tuple[str, ...]:
        """What in files looks as if it narrowed passages."""
        texts = [self.ev.world.files[path].text for path in sorted(set(paths)) if path in self.ev.world.files]
        found = (pattern.search(text) for text in texts for pattern in (_NARROWING, _SLICED))
        return tuple(match[0] for match in found if match)


def _least(numbers: Iterable[int | None]) -> int | None:
    """The least of several numbers, None where one is not known."""
    known = list(numbers)
    return min((one for one in known if one is not None), default=None) if None not in known else None


def _pipes(node: object) -> Iterator[Expression]:
    """The outermost pipelines among the expressions of a statement."""
    if isinstance(node, tuple) and node:
        if node[0] == "bin" and node[3] == "|":
            yield node
            return
        for part in node:
            yield from _pipes(part)


def _place(where: Location) -> Place:
    return Place(where.path, where.span.start, where.span.end)
