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
_TESTS: Final = ("test_", "Test")
_RARE: Final = 25
"""Files that may mention a name in projects of any size."""


def is_telling(name: str, mentions: int, files: int) -> bool:
    """Whether a name that `mentions` of `files` files mention says anything about them."""
    return mentions <= max(_RARE, (0.03 if _is_plain(name) else 0.1) * files)


def _is_plain(name: str) -> bool:
    """Whether it is a single word (`count`, `Document`): such a name may be anybody's."""
    return name.isalpha() and name[1:].islower()


@dataclass(frozen=True, slots=True)
class Leads:
    """Names that lead to a request: `names` alone, `members` where their module or class is named too."""

    names: frozenset[str]
    members: frozenset[tuple[str, str]]


@dataclass(slots=True)
class LeadFinder:
    """Finds the leads of modules as they come in.

    A function leads to a request if it, or anything defined in it, calls a name imported from an SDK,
    calls by one of the names `requests` in a file that imports an SDK, calls by one of the names
    `sinks`, or calls by a distinctive name that leads to a request itself. A class does if a method or
    a base does, a variable of a module if it is assigned from such a call; making an instance sends
    nothing by itself. Plain words count by themselves only as functions that send a request directly.
    `is_sdk` tells whether an imported module (and attribute) is an SDK, `files` is the size of the
    project.
    """

    is_sdk: Callable[[str, str | None], bool]
    requests: AbstractSet[str]
    sinks: AbstractSet[str] = frozenset()
    files: int = 0
    _users: defaultdict[str, list[Module]] = field(default_factory=lambda: defaultdict(list))
    _derived: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _classes: set[str] = field(default_factory=set)
    _members: set[tuple[str, str]] = field(default_factory=set)
    _reported: Leads = Leads(frozenset(), frozenset())

    def add(self, modules: Iterable[Module]) -> None:
        """Take further modules into account."""
        pending: list[str] = []
        for module in modules:
            derived = self._derived[module.path] = _by_base(module)
            names = module.calls_by_name.keys() | derived.keys()
            for name in names:
                self._users[name].append(module)
            own = names & self._own_names(module)
            for name in own:
                pending += self._lead(module, name, direct=True)
            for name in names & self._names - own:
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
        imports = module.imports
        aliases = {alias for root, name, alias, level in imports if not level and self.is_sdk(root, name)}
        return aliases | self.requests | self.sinks if aliases else self.sinks

    def _lead(self, module: Module, name: str, *, direct: bool = False) -> list[str]:
        """Note what leads to calls by `name` in a module; returns the distinctive names that are new."""
        fresh = []
        places = module.calls_by_name.get(name, ()) if name not in self._classes else ()
        for owner, found, kind in _leading(module, places, self._derived[module.path].get(name, ())):
            if found.startswith(_TESTS):
                continue
            if (
                found in COMMON_NAMES
                or len(found) < _SHORTEST
                or (_is_plain(found) and not (direct and kind == "function"))
            ):
                self._members.update((holder, found) for holder in (owner, _stem(module.path)) if holder)
            elif found not in self._names:
                self._names.add(found)
                if kind == "class":
                    self._classes.add(found)
                fresh.append(found)
        return fresh


def _by_base(module: Module) -> dict[str, list[int]]:
    """Scopes of the classes that name a base, by its last name."""
    found: dict[str, list[int]] = {}
    for index, scope in enumerate(module.scopes):
        for base in scope.bases:
            if base[0] in ("name", "attr"):
                found.setdefault(base[-1], []).append(index)
    return found


def _leading(
    module: Module, places: Iterable[tuple[int, int]], derived: Iterable[int]
) -> set[tuple[str | None, str, str]]:
    """The definitions around the calls at `places` (scope and call) and around the scopes `derived`, these included.

    Each is its class, if it has one, its name and its kind.
    """
    scopes = module.scopes
    found: set[tuple[str | None, str, str]] = set()
    for inner in {index for index, _ in places} | set(derived):
        index = inner
        while index > 0:
            scope, outer = scopes[index], scopes[scopes[index].parent]
            if scope.kind != "lambda":
                found.add((_simple_name(outer) if outer.kind == "class" else None, _simple_name(scope), scope.kind))
            index = scope.parent
    top = {call for index, call in places if index == 0}
    found.update((None, variable, "variable") for variable in (_variables(scopes[0], top) if top else ()))
    return found


def _simple_name(scope: Scope) -> str:
    return scope.name.rpartition(".")[2]


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
