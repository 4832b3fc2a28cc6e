"""Acting on modules now where they are loaded, and as soon as they are where they are not yet."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Arrivals(MetaPathFinder):
    """Calls `act` with each of the named modules once it is loaded; closed, it watches no more."""

    def __init__(self, names: Iterable[str], act: Callable[[ModuleType], None]) -> None:
        self._expected = set(names)
        self._act = act

    def open(self) -> None:
        """Act on what is loaded, and wait for the rest."""
        for name in sorted(self._expected & sys.modules.keys()):
            self._expected.discard(name)
            self._act(sys.modules[name])
        if self._expected:
            sys.meta_path.insert(0, self)

    def close(self) -> None:
        """Wait no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, with a loader that tells when it is done."""
        if fullname not in self._expected:
            return None
        self._expected.discard(fullname)  # the next line asks all finders again
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        spec.loader = _Announcing(spec.loader, self._act)
        return spec


class _Announcing(Loader):
    """The loader that it is given, which it leaves in its place when the module is loaded."""

    def __init__(self, loader: Any, act: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """As the module's own loader does; then act."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._act(module)
