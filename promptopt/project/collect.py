"""Which files a run has to parse, and their facts.

Every file is read once and searched as bytes; only what may bear on a request is parsed:

1. files that import an SDK, call a configured sink, or were named by the user;
2. files that mention functions, classes or clients which lead to a request (`leads`);
3. what those files import inside the project.
"""

from __future__ import annotations

import gc
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from promptopt.config import Config
from promptopt.project.imports import ImportIndex
from promptopt.project.leads import LeadFinder, Leads, is_telling
from promptopt.project.prompt_files import SUFFIXES, is_template
from promptopt.project.walk import PYTHON, Fault, Selection, walk
from promptopt.readers.facts import Module
from promptopt.readers.packing import Packer
from promptopt.readers.python import PythonSyntaxError, read_module
from promptopt.sdks import SdkCatalogue, load_catalogue
from promptopt.source import SourceFile, UnreadableSourceError, decode_source

MAX_BYTES: Final = 10_000_000
_SMALL_PROJECT: Final = 256_000
"""Bytes of Python up to which searching is not worth it: everything is parsed."""
_LARGE_PROJECT: Final = 80_000_000
"""Bytes of Python from which on memory counts for more than the time that compressing takes."""
_KEPT_BYTES: Final = 64_000_000
"""Bytes of unparsed files that are kept between rounds; what exceeds them is read again."""
_LEAD_ROUNDS: Final = 4
_IMPORT_ROUNDS: Final = 5
_NO_WORD: Final = bytes(c if chr(c).isalnum() or c == 0x5F or c > 0x7F else 0x20 for c in range(256))


@dataclass(slots=True)
class Collected:
    """Facts of the files that matter.

    All keys and paths are relative to the project's root, with `/`. `files` are those that the user's
    paths cover, in order; `modules` and `sources` hold what was parsed, `faults` what could not be read
    or parsed. `index` resolves imports among all files of the project. `templates` are the project's template files.
    """

    files: tuple[str, ...]
    modules: dict[str, Module] = field(default_factory=dict)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    index: ImportIndex = field(default_factory=lambda: ImportIndex(()))
    templates: tuple[str, ...] = ()


def collect(
    root: Path,
    paths: Sequence[Path],
    config: Config,
    *,
    catalogue: SdkCatalogue | None = None,
    overlay: Mapping[str, bytes] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Collected:
    """Read the project at `root` and parse what bears on a request.

    Args:
        root: the project's folder.
        paths: files and folders that the user named; such files are parsed in any case.
        config: `include`, `exclude` and `force_exclude` choose files, `sinks` name further requests.
        catalogue: SDK facts; default: those that ship with promptopt.
        overlay: contents by relative path that take the place of files.
        max_bytes: larger files are faults.
    """
    faults: list[Fault] = []
    project, files, named, templates = _choose(root, paths, config, faults)
    known = catalogue or load_catalogue()
    index = ImportIndex([*project, *named], external=known.packages)
    collected = Collected(files, faults=faults, index=index, templates=templates)
    reader = _Reader(root, overlay or {}, max_bytes, collected)
    search = _Search(known, config)
    with garbage_collection_paused():
        _Rounds(reader, search, collected).run(dict.fromkeys([*project, *named]), named)
    collected.faults.sort(key=lambda fault: fault.path)
    return collected


def _choose(
    root: Path, paths: Sequence[Path], config: Config, faults: list[Fault]
) -> tuple[list[str], tuple[str, ...], list[str], tuple[str, ...]]:
    """Files of the project, those that `paths` cover, and those that are named themselves; templates apart."""
    every = walk(root, config, faults, suffixes=(*PYTHON, *SUFFIXES))
    project = [file for file in every if file.endswith(PYTHON)]
    templates = dict.fromkeys(file for file in every if is_template(file))
    chosen = Selection(root, config)
    covered: dict[str, None] = {}
    named: list[str] = []
    for path in paths:
        relative = os.path.relpath(path, root).replace(os.sep, "/")
        if relative == ".":
            covered.update(dict.fromkeys(project))
        elif is_template(relative) and not path.is_dir():
            templates[relative] = None
        elif not path.is_dir():
            if not (config.force_exclude and (relative not in project or chosen.excludes(relative))):
                named.append(relative)
                covered[relative] = None
        else:
            below = [file for file in project if file.startswith(f"{relative}/")]
            if not below and not config.force_exclude:
                below = walk(root, config, faults, folder=relative)
                project += below
            covered.update(dict.fromkeys(below))
    return project, tuple(covered), named, tuple(templates)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Reading or linking without collections of cyclic garbage."""
    # syntax trees are freed by reference counts alone; collections while they grow double the time
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Reader:
    """Contents of files: read once, kept until parsed as far as memory allows."""

    def __init__(self, root: Path, overlay: Mapping[str, bytes], max_bytes: int, collected: Collected) -> None:
        self._root = root
        self._overlay = overlay
        self._max_bytes = max_bytes
        self._collected = collected
        self._packer = Packer()
        self._kept: dict[str, bytes] = {}
        self._kept_bytes = 0

    def content(self, path: str) -> bytes | None:
        """The file's bytes, or None after a fault."""
        if path in self._overlay:
            return self._overlay[path]
        if path in self._kept:
            return self._kept[path]
        try:
            content = self._read(path)
        except OSError as error:
            self._fault(path, error.strerror or type(error).__name__)
            return None
        except UnreadableSourceError as error:
            self._fault(path, str(error))
            return None
        if self._kept_bytes + len(content) <= _KEPT_BYTES:
            self._kept[path] = content
            self._kept_bytes += len(content)
        return content

    def _read(self, path: str) -> bytes:
        file = self._root / path
        status = file.stat()
        # opening a named pipe would wait for a writer
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableSourceError("not a regular file")
        if status.st_size > self._max_bytes:
            size, limit = status.st_size / 1e6, self._max_bytes / 1e6
            raise UnreadableSourceError(f"{size:.0f} MB, above the limit of {limit:.0f} MB")
        return file.read_bytes()

    def compress_all(self) -> None:
        """Keep what is parsed from now on compressed."""
        self._packer.compress_all()

    def release(self, path: str) -> None:
        """Forget the file's bytes."""
        self._kept_bytes -= len(self._kept.pop(path, b""))

    def parse(self, path: str) -> bool:
        """Decode and parse a file into the collection; false after a fault."""
        content = self.content(path)
        if content is None:
            return False
        self.release(path)
        try:
            source = decode_source(content, path)
        except UnreadableSourceError as error:
            self._fault(path, str(error))
            return False
        self._collected.sources[path] = source
        try:
            module = read_module(source)
        except PythonSyntaxError as error:
            self._collected.faults.append(Fault(path, error.message, error.offset, "syntax"))
            return False
        self._collected.modules[path] = self._packer.module(module)
        self._collected.sources[path] = self._packer.source(source)
        return True

    def check_text(self, path: str, content: bytes) -> bool:
        """Whether the bytes are text at all; where not, that is a fault."""
        if content.isascii() and b"\0" not in content:
            return True
        try:
            decode_source(content, path)
        except UnreadableSourceError as error:
            self._fault(path, str(error))
            return False
        return True

    def _fault(self, path: str, message: str) -> None:
        self._collected.faults.append(Fault(path, message, None, "unreadable"))


class _Search:
    """Finds files that bear on a request by their bytes."""

    def __init__(self, catalogue: SdkCatalogue, config: Config) -> None:
        clients = {symbol for sdk in catalogue.sdks for client in sdk.clients for symbol in client.symbols}
        self.requests: AbstractSet[str] = catalogue.method_names | set(map(_last_name, clients))
        self.sinks: AbstractSet[str] = {_last_name(sink.function) for sink in config.sinks}
        packages = _import_paths(catalogue)
        self._split = [path.split(".") for path in packages]
        self._is_sdk: dict[tuple[str, str | None], bool] = {}
        names = "|".join(re.escape(path).replace(r"\*", r"\w*") for path in packages)
        shared = sorted(path.partition(".")[::2] for path in packages if "." in path)
        froms = "".join(rf"|{re.escape(root)}[ \t]+import[ \t]+{re.escape(name)}" for root, name in shared)
        imported = rf"^[ \t]*(?:from|import)[ \t]+(?:[\w.]+[ \t]*,[ \t]*)*(?:(?:{names}){froms})\b"
        self._import = re.compile(imported.encode(), re.MULTILINE)
        paths = {path for sdk in catalogue.sdks for call in sdk.calls for path in call.unmistakable if "." in path}
        self._requests = [f".{path}".encode() for path in sorted(paths)]
        self._sinks = [re.compile(rf"\b{re.escape(sink)}\b".encode()) for sink in sorted(self.sinks)]

    def is_sdk(self, module: str, attribute: str | None) -> bool:
        """Whether `from module import attribute`, or `import module`, imports from an SDK."""
        known = self._is_sdk.get((module, attribute))
        if known is None:
            parts = module.split(".") if attribute is None else [*module.split("."), attribute]
            known = any(all(map(fnmatchcase, parts, path)) for path in self._split if len(path) <= len(parts))
            self._is_sdk[module, attribute] = known
        return known

    def sends(self, content: bytes) -> bool:
        """Whether the file imports an SDK, sends a request of an unmistakable shape, or mentions a sink."""
        return (
            self._import.search(content) is not None
            or any(path in content for path in self._requests)
            or any(sink.search(content) for sink in self._sinks)
        )


def _import_paths(catalogue: SdkCatalogue) -> list[str]:
    """Import roots (globs) of the SDKs; of a root that others share (`google`), the SDKs' packages.

    A root is shared where all its symbols stand in packages of their own.
    """
    symbols: defaultdict[str, list[str]] = defaultdict(list)
    for symbol in _symbols(catalogue):
        root, _, suffix = symbol.partition(":")
        symbols[root].append(suffix)
    paths = []
    for root in catalogue.packages:
        shared = bool(symbols[root]) and all("." in suffix and suffix[0].islower() for suffix in symbols[root])
        below = sorted({suffix.partition(".")[0] for suffix in symbols[root]})
        paths += [f"{root}.{package}" for package in below] if shared else [root]
    return paths


def _symbols(catalogue: SdkCatalogue) -> Iterator[str]:
    for sdk in catalogue.sdks:
        for client in sdk.clients:
            yield from client.symbols
        for message in sdk.messages:
            yield from message.symbols
        for template in sdk.templates:
            yield from template.symbols
        for call in sdk.calls:
            yield from call.functions
            yield from call.constructors


def _last_name(symbol: str) -> str:
    return re.split("[.:]", symbol)[-1]


class _Rounds:
    """The rounds of collecting; `_rest` are the files not parsed so far."""

    def __init__(self, reader: _Reader, search: _Search, collected: Collected) -> None:
        self._reader = reader
        self._search = search
        self._collected = collected
        self._rest: dict[str, None] = {}
        self._files = 0

    def run(self, project: Mapping[str, None], named: Iterable[str]) -> None:
        """All rounds over the files of the project."""
        senders, size = [], 0
        self._files = len(project)
        for path in project:
            content = self._reader.content(path)
            if content is None:
                continue
            size += len(content)
            if self._search.sends(content):
                senders.append(path)
            elif self._reader.check_text(path, content):
                self._rest[path] = None
        if size > _LARGE_PROJECT:
            self._reader.compress_all()
        if size <= _SMALL_PROJECT:
            senders = [*senders, *self._rest]
        self._parse(dict.fromkeys([*senders, *(path for path in named if path in self._rest)]))
        if self._collected.modules:
            self._follow_leads()
            self._follow_imports()

    def _parse(self, paths: Iterable[str]) -> list[str]:
        parsed = []
        for path in paths:
            self._rest.pop(path, None)
            if self._reader.parse(path):
                parsed.append(path)
        return parsed

    def _follow_leads(self) -> None:
        search = self._search
        finder = LeadFinder(search.is_sdk, search.requests, search.sinks, self._files)
        fresh = list(self._collected.modules)
        for _ in range(_LEAD_ROUNDS):
            finder.add(self._collected.modules[path] for path in fresh)
            leads = finder.take()
            if not self._rest or not (leads.names or leads.members):
                return
            fresh = self._parse(self._mentioning(leads))

    def _mentioning(self, leads: Leads) -> list[str]:
        """Files of the rest that mention a lead; names that many files mention say nothing alone."""
        mentions: dict[str, AbstractSet[bytes]] = {}
        names = {name.encode() for name in leads.names}
        members: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for module, name in leads.members:
            members[module.encode()].add(name.encode())
        by_member = set()
        for path in self._rest:
            content = self._reader.content(path)
            if content is None:
                continue
            words = set(content.translate(_NO_WORD).split())
            if words & names:
                mentions[path] = words & names
            if any(not members[module].isdisjoint(words) for module in members.keys() & words):
                by_member.add(path)
        counts = Counter(name for found in mentions.values() for name in found)
        telling = {name for name, count in counts.items() if is_telling(name.decode(), count, self._files)}
        return [path for path in self._rest if path in by_member or not telling.isdisjoint(mentions.get(path, ()))]

    def _follow_imports(self) -> None:
        fresh = list(self._collected.modules)
        for _ in range(_IMPORT_ROUNDS):
            wanted = {path: None for name in fresh for path in self._imported(name) if path in self._rest}
            if not wanted:
                return
            fresh = self._parse(wanted)

    def _imported(self, path: str) -> Iterator[str]:
        """Files of the project that a parsed file imports, packages on the way included."""
        index = self._collected.index
        for module, attribute, _, level in self._collected.modules[path].imports:
            target = index.resolve(path, module, level)
            if target is not None:
                yield target
            if attribute not in (None, "*"):
                member = index.resolve(path, f"{module}.{attribute}" if module else str(attribute), level)
                if member is not None:
                    yield member
