"""What leads to a request: names by which files without an SDK import may still reach one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from promptopt.readers.facts import Module, Scope

COMMON_NAMES: Final = frozenset(
    (
        "__aenter__", "__aexit__", "__call__", "__enter__", "__exit__", "__init__", "__post_init__", "add", "agent",
        "agents", "app", "apply", "args", "async_main", "build", "call", "chain", "check", "client", "close", "config",
        "create", "data", "delete", "demo", "example", "execute", "fetch", "forward", "func", "function", "get",
        "handle", "handler", "init", "inner", "invoke", "index", "item", "list", "llm", "load", "loop", "main",
        "model", "open", "parse", "post", "process", "put", "query", "read", "reset", "response", "result", "run",
        "save", "search", "send", "service", "setup", "start", "step", "stop", "stream", "test", "tool", "tools",
        "update", "wrapper", "write",
    )
)  # fmt: skip
"""Names too common to say anything by themselves; they count together with their module's name."""

_SHORTEST: Final = 4
_RARE: Final = 25
"""Files that may mention a name in projects of any size."""


def is_telling(name: str, mentions: int, files: int) -> bool:
    """Whether a name that `mentions` of `files` files mention says anything about them.

    A plain word (`count`, `chat`) may be anybody's; a name of several words is rarely two things.
    """
    share = 0.03 if name.isalpha() and name.islower() else 0.1
    return mentions <= max(_RARE, share * files)


@dataclass(frozen=True, slots=True)
class Leads:
    """Names that lead to a request: `names` alone, `members` where the module's name stands too."""

    names: frozenset[str]
    members: frozenset[tuple[str, str]]


@dataclass(slots=True)
class LeadFinder:
    """Finds the leads of modules as they come in.

    A function leads to a request if it, or anything defined in it, calls a name imported from an SDK,
    calls by one of the names `requests` in a file that imports an SDK, calls by one of the names
    `sinks`, or calls by a distinctive name that leads to a request itself. A class does if a method or
    a base does, a variable of a module if it is assigned from such a call. `is_sdk` tells whether a
    top-level module is an SDK, `files` is the size of the project.
    """

    is_sdk: Callable[[str], bool]
    requests: AbstractSet[str]
    sinks: AbstractSet[str] = frozenset()
    files: int = 0
    _users: defaultdict[str, list[Module]] = field(default_factory=lambda: defaultdict(list))
    _names: set[str] = field(default_factory=set)
    _members: set[tuple[str, str]] = field(default_factory=set)
    _reported: Leads = Leads(frozenset(), frozenset())

    def add(self, modules: Iterable[Module]) -> None:
        """Take further modules into account."""
        pending: list[str] = []
        for module in modules:
            names = {*module.calls_by_name, *_base_names(module)}
            for name in names:
                self._users[name].append(module)
            for name in (names & self._names) | (names & self._own_names(module)):
                pending += self._lead(module, name)
        while pending:
            name = pending.pop()
            users = self._users[name]
            if is_telling(name, len(users), self.files):
                for module in users:
                    pending += self._lead(module, name)

    def take(self) -> Leads:
        """The leads found since the last time."""
        names, members = frozenset(self._names), frozenset(self._members)
        fresh = Leads(names - self._reported.names, members - self._reported.members)
        self._reported = Leads(names, members)
        return fresh

    def _own_names(self, module: Module) -> AbstractSet[str]:
        """Names whose call is a request, or makes a client, in this file."""
        aliases = {
            alias for root, _, alias, level in module.imports if not level and self.is_sdk(root.partition(".")[0])
        }
        return aliases | self.requests | self.sinks if aliases else self.sinks

    def _lead(self, module: Module, name: str) -> list[str]:
        """Note what leads to calls by `name` in a module; returns the distinctive names that are new."""
        fresh = []
        for found in _leading(module, name):
            if found in COMMON_NAMES or len(found) < _SHORTEST:
                self._members.add((_stem(module.path), found))
            elif found not in self._names:
                self._names.add(found)
                fresh.append(found)
        return fresh


def _base_names(module: Module) -> Iterator[str]:
    for scope in module.scopes:
        for base in scope.bases:
            if base[0] in ("name", "attr"):
                yield base[-1]


def _leading(module: Module, name: str) -> set[str]:
    """Names of the definitions that call or extend `name`, and of what encloses them."""
    scopes = module.scopes
    places = module.calls_by_name.get(name, ())
    found: set[str] = set()
    for inner in {index for index, _ in places} | set(_derived(scopes, name)):
        index = inner
        while index > 0:
            scope = scopes[index]
            if scope.kind != "lambda":
                found.add(scope.name.rpartition(".")[2])
            index = scope.parent
    top = {call for index, call in places if index == 0}
    found.update(_variables(scopes[0], top) if top else ())
    return found


def _derived(scopes: tuple[Scope, ...], name: str) -> Iterator[int]:
    for index, scope in enumerate(scopes):
        if scope.bases and any(base[0] in ("name", "attr") and base[-1] == name for base in scope.bases):
            yield index


def _variables(scope: Scope, calls: set[int]) -> Iterator[str]:
    """Variables assigned at the top of a module from one of the calls."""
    for statement in scope.body:
        tag, _, _, first, last = statement[:5]
        if tag in ("assign", "annotated") and any(call in calls for call in range(first, last)):
            for target in statement[5] if tag == "assign" else (statement[5],):
                if target[0] == "name":
                    yield target[3]


def _stem(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
