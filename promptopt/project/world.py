"""The project as a whole: modules, imports, classes, and the catalogues they are read against."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from promptopt.project import calls, classes
from promptopt.project.frames import END
from promptopt.project.imports import ImportIndex
from promptopt.project.jinja import Rendering, Units
from promptopt.project.targets import assigned_names, last_name
from promptopt.project.values import (
    EMPTY_ARGUMENTS,
    Arguments,
    CallResult,
    ClassValue,
    Constant,
    External,
    Function,
    Instance,
    Lazy,
    MapValue,
    Member,
    Method,
    ModuleValue,
    Pipe,
    Place,
    ScopeRef,
    Unknown,
    Value,
    literal,
    plain,
)

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame
    from promptopt.readers.facts import Expression, Module, Scope
    from promptopt.sdks.catalogue import SdkCatalogue
    from promptopt.sdks.schema import Argument
    from promptopt.source import SourceFile
    from promptopt.sources.catalogue import SourceCatalogue
    from promptopt.sources.schema import Source

_ANNOTATION: Final = re.compile(r"[A-Za-z_][\w.]*")
_WRAPPERS: Final = frozenset({"Optional", "Union", "Annotated", "None", "type", "Type", "typing", "str", "int", "Any"})
_MAX_IMPORTS: Final = 40

Segments = tuple[tuple[int, int, int, int], ...]


class World:
    """The modules of one project with what is known about libraries.

    Look-ups that go through several modules are memoised here; values are the evaluator's. `literals`
    are the values of string literals that were evaluated, by place. `units` are the
    templates of the project, `renderings` what they were rendered with, in the order of evaluation. `braced` is JSON
    in format strings, with its braces.
    """

    def __init__(
        self,
        modules: Mapping[str, Module],
        files: Mapping[str, SourceFile],
        sdks: SdkCatalogue,
        sources: SourceCatalogue,
        read_text: Callable[[str], str | None],
        paths: Iterable[str] = (),
        roots: Iterable[str] = (),
        *,
        units: Units | None = None,
    ) -> None:
        self.modules = dict(modules)
        self.units = units or Units()
        self.renderings: list[Rendering] = []
        self.braced: dict[Place, tuple[Place, ...]] = {}
        self._python = frozenset(modules)
        self.files = files
        self.sdks = sdks
        self.sources = sources
        self.read_text = read_text
        self.index = ImportIndex({*paths, *modules}, roots, sdks.packages)
        self.pending: set[object] = set()
        self.literals: dict[Place, str] = {}
        self._segments: dict[Place, Segments] = {}
        self._writers: dict[str, dict[str, list[ScopeRef]]] = {}
        self._writes: dict[ScopeRef, dict[str, list[tuple[ScopeRef, str]]]] = {}
        self._derived: tuple[list[ScopeRef], dict[str, list[int]]] | None = None
        self._subclasses: dict[ScopeRef, list[ScopeRef]] = {}
        self._annotations: dict[tuple[str, ScopeRef], Value | None] = {}
        self._importing: set[tuple[str, str]] = set()
        self._reading: dict[str, Source | None] = {}
        self._calling: dict[str, list[str]] | None = None
        self._calls: dict[str, tuple[tuple[ScopeRef, int], ...]] = {}
        self.ancestries: dict[ScopeRef, list[ClassValue]] = {}

    def imported(self, importer: str, binding: tuple[str, str | None, str, int], ev: Evaluator) -> Value:
        """What an import binding brings into the importing module."""
        module, name, alias, level = binding
        path = self.index.resolve(importer, module, level)
        if name is None:
            return (
                ModuleValue(path) if path is not None else External(module if alias != module.split(".")[0] else alias)
            )
        if path is not None:
            return self.module_attribute(path, name, ev)
        return External(f"{module}.{name}") if level == 0 else Unknown("import", name=name)

    def module_attribute(self, path: str, name: str, ev: Evaluator) -> Value:
        """A module's global, its submodule, or what it imports with a star."""
        module = self.modules.get(path)
        if module is None:
            submodule = self.index.submodule(path, name)
            return ModuleValue(submodule) if submodule is not None else Unknown("module", name=name)
        if (path, name) in self._importing:
            return Unknown("cycle", name=name)
        self._importing.add((path, name))
        try:
            frame = ev.open_frame(ScopeRef(path, 0))
            if name in ev.flow(frame.scope).versions:
                return ev.final(name, frame)
            starred = self.star(path, name, ev)
        finally:
            self._importing.discard((path, name))
        if starred is not None:
            return starred
        submodule = self.index.submodule(path, name)
        return ModuleValue(submodule) if submodule is not None else Unknown("attribute", name=name)

    def star(self, path: str, name: str, ev: Evaluator) -> Value | None:
        """A name that `from module import *` brings in."""
        if name == "__file__":
            return literal(path)
        module = self.modules.get(path)
        for imported, attribute, _, level in module.imports if module is not None else ():
            if attribute == "*":
                target = self.index.resolve(path, imported, level)
                if target is not None and target in self.modules and target != path:
                    found = self.module_attribute(target, name, ev)
                    if not isinstance(found, (Unknown, ModuleValue)):
                        return found
        return None

    def global_writers(self, path: str) -> dict[str, list[ScopeRef]]:
        """Functions of a module that assign its globals, by name."""
        found = self._writers.get(path)
        if found is None:
            found = self._writers[path] = {}
            for index, scope in enumerate(self.modules[path].scopes):
                for name in scope.globals:
                    found.setdefault(name, []).append(ScopeRef(path, index))
        return found

    def calls_named(self, name: str) -> tuple[tuple[ScopeRef, int], ...]:
        """All calls of the project by the last name of what they call."""
        if self._calling is None:
            self._calling = {}
            for path, module in list(self.modules.items()):
                for called in module.calls_by_name:
                    self._calling.setdefault(called, []).append(path)
        found = self._calls.get(name)
        if found is None:
            found = self._calls[name] = tuple(
                (ScopeRef(path, scope), call)
                for path in self._calling.get(name, ())
                for scope, call in self.modules[path].calls_by_name[name]
            )
        return found

    def dotted(self, ref: ScopeRef, name: str) -> str:
        """The dotted name that a project's function goes by in configuration (`app.clock.stamp`)."""
        module = ref.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return f"{module}.{name}"

    def read_source(self, dotted: str) -> Source | None:
        """What reading a library's name yields, if it is volatile."""
        if dotted not in self._reading:
            self._reading[dotted] = self.sources.attribute(dotted)
        return self._reading[dotted]

    def seeds(self, path: str) -> bool:
        """Whether a module seeds the random generator with a constant."""
        module = self.modules.get(path)
        for scope, call in module.calls_by_name.get("seed", ()) if module is not None else ():
            arguments = module.scopes[scope].calls[call][3] if module is not None else ()
            if arguments and arguments[0][0] == "const":
                return True
        return False

    def segments(self, origin: Place, reader: Callable[[str, Expression], Segments]) -> Segments:
        """The map of a literal's characters to its source, read once."""
        found = self._segments.get(origin)
        if found is None:
            source = self.files[origin.path]
            if self.is_python(origin.path):
                found = reader(source.text, ("lit", origin.start, origin.end, self.literals.get(origin, "")))
            else:
                found = ((0, origin.end - origin.start, origin.start, origin.end),)
            self._segments[origin] = found
        return found

    def is_python(self, path: str) -> bool:
        """Whether a file is a module of the project; others are text as it is sent."""
        return path in self._python

    def call(self, function: Value, receiver: Value | None, ev: Evaluator) -> Value:
        """Call without arguments; `receiver` binds a plain function (a property)."""
        if receiver is not None and isinstance(function, Function):
            function = Method(function, receiver)
        place = receiver.place if isinstance(receiver, Instance) and receiver.place else Place("", 0, 0)
        return calls.call_value(ev, function, EMPTY_ARGUMENTS, place, None)

    def apply(
        self, function: Value, values: tuple[Value, ...], place: Place, frame: Frame | None, ev: Evaluator
    ) -> Value:
        """Call with values."""
        return calls.call_value(ev, function, Arguments(values), place, frame)

    def bind(self, ref: ScopeRef, arguments: Arguments, *, skip: int, ev: Evaluator) -> dict[str, Lazy | Value]:
        """Arguments by parameter name."""
        return calls.bind(ev, ref, arguments, skip=skip)

    def argument(self, arguments: Arguments, references: Iterable[Argument], ev: Evaluator) -> Value | None:
        """The first argument that is passed, of those an SDK file refers to; None where none is.

        A spread mapping that is not known may pass any keyword: then the value is unknown.
        """
        for reference in references:
            found = self._referenced(arguments, reference, ev)
            if found is not None:
                return found
        return None

    def _referenced(self, arguments: Arguments, reference: Argument, ev: Evaluator) -> Value | None:
        head, *tail = reference.split(".") if isinstance(reference, str) else [str(reference)]
        given: Lazy | Value | None = None
        if head.isdigit():
            index = int(head)
            if index < len(arguments.positional):
                given = arguments.positional[index]
        else:
            given = arguments.keywords.get(head)
        if given is None:
            return None
        value = ev.force(given)
        for step in tail:
            inner = self._inside(value, step, ev)
            if inner is None:
                return None
            value = inner
        return value

    def _inside(self, value: Value, step: str, ev: Evaluator) -> Value | None:
        if isinstance(value, MapValue):
            if step in value.entries:
                return value.entries[step]
            return Member(value.rest[0], step, "item") if value.rest else None
        if isinstance(value, (CallResult, Instance)) and value.arguments is not None:
            return self._referenced(value.arguments, step, ev)
        if isinstance(value, Constant):
            return None
        return Member(value, step)

    def role(self, message: CallResult, ev: Evaluator) -> str | None:
        """The role of a message object."""
        found = self.sdks.message(message.dotted)
        if found is None:
            return None
        shape = found[1]
        given = self.argument(message.arguments, shape.role_argument, ev) if shape.role_argument else None
        if given is None:
            return shape.role or "user"
        if isinstance(given, External):
            return given.dotted.rpartition(".")[2].lower()
        return plain(given)

    def runnable(self, value: Value) -> bool:
        """Whether a value composes with `|`."""
        if isinstance(value, Pipe):
            return True
        if not isinstance(value, CallResult):
            return False
        client = self.sdks.client(value.dotted)
        return self.sdks.template(value.dotted) is not None or (client is not None and client[1].runnable)

    def fields(self, cls: ClassValue, ev: Evaluator) -> list[str]:
        """Annotated fields of a class in the order of a generated constructor."""
        names: dict[str, None] = {}
        for one in reversed(classes.ancestry(ev, cls)):
            for statement in ev.scope(one.scope).body:
                if statement[0] == "annotated" and statement[5][0] == "name":
                    names[statement[5][3]] = None
        return list(names)

    def methods(self, cls: ScopeRef) -> list[ScopeRef]:
        """Scopes of the functions defined in a class body."""
        scopes = enumerate(self.modules[cls.path].scopes)
        return [
            ScopeRef(cls.path, index) for index, one in scopes if one.parent == cls.number and one.kind == "function"
        ]

    def writes(self, cls: ClassValue, ev: Evaluator) -> dict[str, list[tuple[ScopeRef, str]]]:
        """Attributes that the methods of a class and its bases assign or mutate: the methods and the
        dotted path they do it by, constructors first."""
        found = self._writes.get(cls.scope)
        if found is None:
            found = self._writes[cls.scope] = {}
            for one in classes.ancestry(ev, cls):
                for ref in self.methods(one.scope):
                    scope = ev.scope(ref)
                    if not scope.params:
                        continue
                    prefix = f"{scope.params[0].name}."
                    for path in _written_paths(scope, prefix):
                        found.setdefault(path.removeprefix(prefix), []).append((ref, path))
            for rows in found.values():
                rows.sort(key=lambda row: not ev.scope(row[0]).name.endswith("__init__"))
        return found

    def subclasses(self, cls: ScopeRef, ev: Evaluator) -> list[ScopeRef]:
        """Project classes that derive from a class, at any depth."""
        found = self._subclasses.get(cls)
        if found is None:
            candidates = self._deriving_from(ev.scope(cls).name.rpartition(".")[2])
            found = self._subclasses[cls] = [
                ref for ref in candidates if any(one.scope == cls for one in classes.ancestry(ev, ClassValue(ref))[1:])
            ]
        return found

    def _deriving_from(self, name: str) -> list[ScopeRef]:
        """Classes with a base that goes by a name, or by the name of such a class, and so on: only these need to be
        looked at to find the subclasses of one."""
        if self._derived is None:
            self._derived = self._by_base()
        refs, by_base = self._derived
        found: set[int] = set()
        names = [name]
        while names:
            fresh = [index for index in by_base.get(names.pop(), ()) if index not in found]
            found.update(fresh)
            names += [self._simple_name(refs[index]) for index in fresh]
        return [refs[index] for index in sorted(found)]

    def _simple_name(self, ref: ScopeRef) -> str:
        return self.modules[ref.path].scopes[ref.number].name.rpartition(".")[2]

    def _by_base(self) -> tuple[list[ScopeRef], dict[str, list[int]]]:
        """Classes that have bases, and their numbers by the bases' last names, as they are where they are defined."""
        refs: list[ScopeRef] = []
        by_base: dict[str, list[int]] = {}
        for path, module in self.modules.items():
            aliases = {alias: name for _, name, alias, _ in module.imports if name is not None}
            for index, scope in enumerate(module.scopes):
                if scope.kind != "class" or not scope.bases:
                    continue
                refs.append(ScopeRef(path, index))
                for base in scope.bases:
                    named = base[3] if base[0] == "index" else base
                    if named[0] in ("name", "attr"):
                        name = last_name(named)
                        by_base.setdefault(aliases.get(name, name), []).append(len(refs) - 1)
        return refs, by_base

    def annotated(self, annotation: str | None, ref: ScopeRef, ev: Evaluator) -> Value | None:
        """The class that an annotation names, looked up where the function is defined."""
        if annotation is None:
            return None
        key = (annotation, ref)
        if key not in self._annotations:
            self._annotations[key] = self._annotated(annotation, ref, ev)
        return self._annotations[key]

    def _annotated(self, annotation: str, ref: ScopeRef, ev: Evaluator) -> Value | None:
        if re.match(r"\W*(?:typing\.)?(?:[Ll]ist|[Dd]ict|[Ss]equence|Iterable|tuple|Callable|Mapping)\b", annotation):
            return None
        parent = ev.parent(ref)
        frame = ev.open_frame(parent) if parent is not None else ev.open_frame(ref)
        for name in _ANNOTATION.findall(annotation):
            if name.rpartition(".")[2] in _WRAPPERS or name in _WRAPPERS:
                continue
            root, *rest = name.split(".")
            value = ev.name(root, frame, END)
            for step in rest:
                value = ev.attribute(value, step, None)
            if isinstance(value, (ClassValue, External)):
                return value
        return None


def _written_paths(scope: Scope, prefix: str) -> list[str]:
    """Dotted paths of one step below `prefix` that a function's statements assign or mutate."""
    names = assigned_names(scope.body, scope.calls)
    return [name for name in names if name.startswith(prefix) and name.count(".") == 1]
