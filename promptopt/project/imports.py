"""Which file of the project an import refers to, from the list of files alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

_PACKAGE: Final = "__init__"
_SOURCES: Final = "src/"


class ImportIndex:
    """Resolves imports of a project's files to files of the project.

    Args:
        paths: the project's Python files, relative to its root, with `/`.
        roots: further folders (relative) that modules are imported from.
        external: import roots of installed packages (globs such as `langchain*`). A file that merely
            has such a name (`llm/openai.py`) is not what `import openai` means.
    """

    def __init__(self, paths: Iterable[str], roots: Iterable[str] = (), external: Iterable[str] = ()) -> None:
        self._modules: dict[str, str] = {}
        for path in sorted(paths):
            stem = path.removesuffix(".py")
            if stem.rpartition("/")[2] == _PACKAGE:
                # of `a.py` and `a/__init__.py` the package is imported
                self._modules[stem[: -len(_PACKAGE) - 1]] = path
            else:
                self._modules.setdefault(stem, path)
        self._namespaces = self._folders_without_package()
        self._roots = ("", _SOURCES, *(_folder(root) for root in roots))
        self._external = tuple(external)
        self._tops = self._top_packages()
        self._bases: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str], str | None] = {}

    def _folders_without_package(self) -> frozenset[str]:
        folders = set()
        for path in self._modules.values():
            folder = path.rpartition("/")[0]
            while folder and folder not in folders and not self._is_package(folder):
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)

    def _top_packages(self) -> dict[str, str]:
        """The folder that holds each top-level package, for names that only one folder holds."""
        tops: dict[str, str] = {}
        several = set()
        for key, path in self._modules.items():
            folder, _, name = key.rpartition("/")
            if not path.endswith(f"/{_PACKAGE}.py") or self._is_package(folder):
                continue
            if name in tops:
                several.add(name)
            tops[name] = _folder(folder)
        return {name: base for name, base in tops.items() if name not in several}

    def _is_package(self, folder: str) -> bool:
        return self._modules.get(folder, "").endswith(f"{_PACKAGE}.py")

    def resolve(self, importer: str, module: str, level: int) -> str | None:
        """The file that `from <level dots><module> import ...` in `importer` refers to.

        A package is its `__init__.py`; a namespace package (a folder without one) is the path which that
        file would have. None where nothing of the project is meant.
        """
        folder = importer.rpartition("/")[0]
        if level:
            return self._relative(folder, module, level)
        if not module:
            return None
        key = (folder, module)
        if key not in self._found:
            self._found[key] = self._absolute(folder, module)
        found = self._found[key]
        return None if found == importer else found

    def submodule(self, package_path: str, name: str) -> str | None:
        """The file of module or package `name` inside the package whose `__init__.py` is given."""
        folder, _, file = package_path.rpartition("/")
        if file != f"{_PACKAGE}.py":
            return None
        return self._find(f"{folder}/{name}" if folder else name)

    def _relative(self, folder: str, module: str, level: int) -> str | None:
        parts = folder.split("/") if folder else []
        if level - 1 > len(parts):
            return None
        kept = parts[: len(parts) - level + 1]
        return self._find("/".join([*kept, *(module.split(".") if module else ())]))

    def _find(self, key: str) -> str | None:
        found = self._modules.get(key)
        return f"{key}/{_PACKAGE}.py" if found is None and key in self._namespaces else found

    def _absolute(self, folder: str, module: str) -> str | None:
        key = module.replace(".", "/")
        if self._means_external(module):
            # `agents/researcher.py` and a package `agents` at a root are the project's nevertheless
            found = next((self._modules[root + key] for root in self._roots if root + key in self._modules), None)
            return found if found and ("." in module or found.endswith(f"/{_PACKAGE}.py")) else None
        bases = self._search_path(folder)
        for base in bases:
            if base + key in self._modules:
                return self._modules[base + key]
        top = self._tops.get(module.partition(".")[0])
        if top is not None and top + key in self._modules:
            return self._modules[top + key]
        # a script in a folder `flask` that imports `flask` means the library
        own = f"{folder}/"
        for base in bases:
            if base + key in self._namespaces and not own.startswith(f"{base}{key}/"):
                return f"{base}{key}/{_PACKAGE}.py"
        return None

    def _means_external(self, module: str) -> bool:
        root = module.partition(".")[0]
        if root in sys.stdlib_module_names:
            return True
        return any(fnmatchcase(root, glob) for glob in self._external)

    def _search_path(self, folder: str) -> tuple[str, ...]:
        """Folders that a file's absolute imports start from, likeliest first.

        That is the nearest folder that is no package, the ones above it and the roots; then, for
        scripts that are run in place, the packages around the file.
        """
        if folder not in self._bases:
            parts = folder.split("/") if folder else []
            around = ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]
            outside = [place for place in around if not self._is_package(place)]
            inside = [place for place in around if self._is_package(place)]
            bases = [base for place in outside for base in (_folder(place), _folder(place) + _SOURCES)]
            bases += [*self._roots, *map(_folder, inside)]
            self._bases[folder] = tuple(dict.fromkeys(bases))
        return self._bases[folder]


def _folder(path: str) -> str:
    """The prefix of paths inside a folder: empty for the root, else with a closing `/`."""
    trimmed = path.strip("/")
    return f"{trimmed}/" if trimmed not in ("", ".") else ""
