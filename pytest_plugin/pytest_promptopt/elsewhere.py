"""Building a prompt in another process, where strings hash otherwise and sets have another order."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from promptopt.wire import SentPrompt

_CHILD: Final = "from pytest_promptopt.elsewhere import answer; answer()"


def built_elsewhere(build: Callable[..., Any], value: object, seeds: Sequence[int]) -> list[SentPrompt]:
    """What `build` makes of a value in processes with these hash seeds, started at the same time.

    Raises:
        ValueError: `build` or the value cannot be handed to another process, or fails there.
    """
    request = _request(build, value)
    running = [_start(seed, request) for seed in seeds]
    return [_result(process, request) for process in running]


def _request(build: Callable[..., Any], value: object) -> bytes:
    module = sys.modules.get(getattr(_function(build), "__module__", "") or "")
    try:
        asked = pickle.dumps((build, value))
    except Exception as error:  # pickling runs the objects' own code
        raise ValueError(
            f"build cannot be called in another process ({error}): give a function of a module, no lambda and none "
            "that is defined in a test"
        ) from error
    place = (module.__name__, getattr(module, "__file__", None)) if module else ("", None)
    return pickle.dumps((sys.path, place, asked))


def _function(build: Any) -> Any:
    """The function behind partial applications and methods."""
    while inner := getattr(build, "func", None) or getattr(build, "__func__", None):
        build = inner
    return build


def _start(seed: int, request: bytes) -> subprocess.Popen[bytes]:
    ours = Path(__file__).parent.parent
    paths = [str(ours), *(path for path in sys.path if path)]
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(  # noqa: S603 (this interpreter, a fixed program)
        [sys.executable, "-c", _CHILD],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _result(process: subprocess.Popen[bytes], request: bytes) -> SentPrompt:
    output, errors = process.communicate(request)
    if process.returncode:
        last = errors.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise ValueError(f"build failed under another PYTHONHASHSEED: {last[-1]}")
    made = pickle.loads(output)  # noqa: S301 (what our own process has written)
    if not isinstance(made, SentPrompt):
        raise ValueError(f"build failed under another PYTHONHASHSEED: {type(made).__name__} came back")  # noqa: TRY004
    return made


def answer() -> None:
    """Read a request from standard input, build, and write the prompt; what the build prints goes to stderr."""
    request = pickle.load(sys.stdin.buffer)  # noqa: S301 (from the process that started this)
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    sys.excepthook = _told
    output.write(pickle.dumps(_build(*request)))


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write a traceback, and in the last line what was raised: notes would stand there."""
    traceback.print_exception(kind, error, trace)
    sys.stderr.write(f"{kind.__name__}: {error}\n")


def _build(paths: list[str], place: tuple[str, str | None], asked: bytes) -> SentPrompt:
    from pytest_promptopt.building import built  # noqa: PLC0415 (in the other process only)

    sys.path[:] = paths
    name, file = place
    if name and file:
        _load(name, Path(file))
    build, value = pickle.loads(asked)  # noqa: S301
    return built(build, value, repr(value))


def _load(name: str, file: Path) -> ModuleType:
    """The module of that name, from its file where it cannot be found by its name, as test modules often cannot."""
    try:
        module = importlib.import_module(name)
        if getattr(module, "__file__", None) and Path(str(module.__file__)).samefile(file):
            return module
    except ImportError:
        pass
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    _load_packages(name, file)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _load_packages(name: str, file: Path) -> None:
    """Stand-ins for the packages around a module that cannot be found by their names: pytest's import mode
    `importlib` gives test modules such names."""
    folder = file.parent
    while name := name.rpartition(".")[0]:
        if name not in sys.modules:
            package = sys.modules[name] = ModuleType(name)
            package.__path__ = [str(folder)]
        folder = folder.parent
