"""Which files a run parses, and what it says about those it cannot."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from promptopt.config import Config, SinkFunction
from promptopt.project import collect as collecting
from promptopt.project.collect import Collected, collect
from promptopt.project.walk import Fault, walk
from promptopt.readers.packing import PackedSource

CLIENT = (
    "import openai\n\ndef ask_model(question):\n    return openai.OpenAI().chat.completions.create(messages=question)\n"
)


@pytest.fixture(autouse=True)
def _searching_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat even the small projects of these tests as too large to be parsed whole."""
    monkeypatch.setattr(collecting, "_SMALL_PROJECT", 0)


def project(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def collected(
    root: Path, *paths: str, config: Config | None = None, max_bytes: int = collecting.MAX_BYTES
) -> Collected:
    """Collect a project for the given paths."""
    return collect(root, [root / path for path in paths or (".",)], config or Config(root=root), max_bytes=max_bytes)


@pytest.mark.parametrize(
    "text",
    [
        "import openai",
        "from openai import OpenAI",
        "import os, openai",
        "def f():\n\tfrom openai.types import x",
        "import  langchain_openai.chat_models as c",
        "# -*- coding: latin-1 -*-\r\nimport openai\r\n",
    ],
)
def test_files_that_import_an_sdk_are_parsed(tmp_path: Path, text: str) -> None:
    """However the import is written."""
    found = collected(project(tmp_path, {"a.py": text, "b.py": "import os\nx = 'import openai'\n"}))
    assert list(found.modules) == ["a.py"]
    assert found.files == ("a.py", "b.py")
    assert found.sources["a.py"].text == text


def test_callers_of_wrappers_are_parsed(tmp_path: Path) -> None:
    """Over several hops, by the names of functions and classes that lead to a request."""
    files = {
        "llm.py": CLIENT,
        "bot.py": "class Chatbot:\n    def reply_to(self, x):\n        return ask_model(x)\n",
        "web.py": "def handle_page(bot):\n    return bot.reply_to(1)\n",
        "other.py": "def unrelated():\n    return 1\n",
    }
    assert set(collected(project(tmp_path, files)).modules) == {"llm.py", "bot.py", "web.py"}


def test_common_names_count_with_their_module_only(tmp_path: Path) -> None:
    """`run` alone says nothing; `run` next to the module's name does. So do clients by name."""
    files = {
        "summarizer.py": "import openai\nclient = openai.OpenAI()\ndef run(x): return client.responses.create()\n",
        "uses.py": "from summarizer import run\nrun('a')\n",
        "shares.py": "import summarizer as s\ns.client.responses.create(input='b')\n",
        "apart.py": "def main():\n    server.run()\n    client.get('/')\n",
    }
    assert set(collected(project(tmp_path, files)).modules) == {"summarizer.py", "uses.py", "shares.py"}


def test_what_parsed_files_import_is_parsed(tmp_path: Path) -> None:
    """Constants in modules without any SDK, over several hops, packages on the way included."""
    files = {
        "llm.py": "from texts import system\n" + CLIENT,
        "texts/__init__.py": "from .parts.tone import TONE\n",
        "texts/system.py": "from . import shared\n",
        "texts/shared.py": "SHARED = 'x'\n",
        "texts/unused.py": "UNUSED = 'x'\n",
        "texts/parts/tone.py": "TONE = 'x'\n",
    }
    found = collected(project(tmp_path, files))
    assert set(found.modules) == files.keys() - {"texts/unused.py"}
    assert found.index.resolve("llm.py", "texts.system", 0) == "texts/system.py"


def test_names_that_many_files_mention_say_nothing(tmp_path: Path) -> None:
    """A wrapper whose name half of the project uses does not drag the project in."""
    files = {"llm.py": CLIENT.replace("ask_model", "transform")}
    files |= {f"m{n}.py": f"def f{n}(x): return x.transform()\n" for n in range(100)}
    assert list(collected(project(tmp_path, files)).modules) == ["llm.py"]


def test_sinks_of_the_configuration_count_as_requests(tmp_path: Path) -> None:
    """Files that mention one are parsed, and their callers."""
    files = {
        "a.py": "def compose_text(gateway):\n    gateway.dispatch('x')\n",
        "b.py": "compose_text(1)\n",
        "c.py": "x = 1\n",
    }
    root = project(tmp_path, files)
    assert not collected(root).modules
    config = Config(root=root, sinks=(SinkFunction("app.gateway.dispatch", 0),))
    assert list(collected(root, config=config).modules) == ["a.py", "b.py"]


def test_requests_of_an_unmistakable_shape_need_no_import(tmp_path: Path) -> None:
    """A client that comes from elsewhere is known by what is called on it."""
    files = {"a.py": "def f(c): c.chat.completions.create(messages=[])\n", "b.py": "def f(c): c.completions()\n"}
    assert list(collected(project(tmp_path, files)).modules) == ["a.py"]


def test_named_files_are_parsed_in_any_case(tmp_path: Path) -> None:
    """Even those that the configuration leaves out, unless it is to be enforced."""
    root = project(tmp_path, {"a.py": "x = 1\n", "out/b.py": "y = 1\n", "c.py": "z = 1\n", ".gitignore": "out/\n"})
    found = collected(root, "a.py", "out/b.py")
    assert (found.files, set(found.modules)) == (("a.py", "out/b.py"), {"a.py", "out/b.py"})
    forced = collected(root, "a.py", "out/b.py", config=Config(root=root, force_exclude=True))
    assert forced.files == ("a.py",)
    assert collected(root, "out").files == ("out/b.py",)


def test_paths_limit_what_is_reported_not_what_is_read(tmp_path: Path) -> None:
    """The whole project is read for one of its folders."""
    root = project(tmp_path, {"app/a.py": "from lib.llm import ask_model\nask_model('x')\n", "lib/llm.py": CLIENT})
    found = collected(root, "app")
    assert found.files == ("app/a.py",)
    assert set(found.modules) == {"app/a.py", "lib/llm.py"}


def test_small_projects_are_parsed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching does not pay below some size, and faults of every file are told."""
    monkeypatch.setattr(collecting, "_SMALL_PROJECT", 1_000)
    found = collected(project(tmp_path, {"a.py": "x = 1\n", "b.py": "y = (\n"}))
    assert set(found.modules) == {"a.py"}
    assert [(fault.path, fault.kind) for fault in found.faults] == [("b.py", "syntax")]


def test_syntax_errors_of_files_that_do_not_matter_are_not_told(tmp_path: Path) -> None:
    """Only what is parsed can be wrong; the file's text is there to show the place."""
    found = collected(project(tmp_path, {"a.py": "import openai\nx = = 1\n", "b.py": "y = = 1\n", "c.py": CLIENT}))
    (fault,) = found.faults
    assert (fault.path, fault.kind, fault.offset) == ("a.py", "syntax", 18)
    assert set(found.sources) == {"a.py", "c.py"}
    assert set(found.modules) == {"c.py"}


def test_unreadable_files_are_faults_and_the_rest_is_read(tmp_path: Path) -> None:
    """Bytes that are no text, too large files and folders with a file's name."""
    files: dict[str, str | bytes] = {
        "a.py": CLIENT,
        "latin.py": b"x = '\xe9'\n",
        "nul.py": b"import openai\nx = 1\0\n",
        "codec.py": "# coding: nonsense\nx = 'é'\n",
        "large.py": "x = 1\n" * 1_000,
    }
    found = collected(project(tmp_path, files), max_bytes=5_000)
    assert list(found.modules) == ["a.py"]
    assert [(fault.path, fault.kind) for fault in found.faults] == [
        ("codec.py", "unreadable"),
        ("large.py", "unreadable"),
        ("latin.py", "unreadable"),
        ("nul.py", "unreadable"),
    ]
    assert "above the limit" in found.faults[1].message


def test_missing_files_are_faults(tmp_path: Path) -> None:
    """A named file that does not exist is said, with the reason."""
    assert collected(project(tmp_path, {"a.py": CLIENT}), "gone.py").faults == [
        Fault("gone.py", "No such file or directory", None, "unreadable")
    ]


def test_pipes_are_not_read(tmp_path: Path) -> None:
    """A named pipe would block the run for ever."""
    os.mkfifo(tmp_path / "pipe.py")
    assert [fault.message for fault in collected(tmp_path, "pipe.py").faults] == ["not a regular file"]


def test_files_that_vanish_during_the_run_are_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the walk and the search, and between two rounds where contents are not kept."""
    root = project(tmp_path, {"a.py": CLIENT, "b.py": "ask_model(1)\n", "c.py": "x = 1\n"})
    monkeypatch.setattr(collecting, "_KEPT_BYTES", 0)

    def walk_then_delete(*args: object, **kwargs: object) -> list[str]:
        found = walk(*args, **kwargs)  # type: ignore[arg-type]
        (root / "c.py").unlink()
        return found

    sends = collecting._Search.sends

    def search_then_delete(self: collecting._Search, content: bytes) -> bool:
        if b"ask_model(1)" in content:
            (root / "b.py").unlink()
        return sends(self, content)

    monkeypatch.setattr(collecting, "walk", walk_then_delete)
    monkeypatch.setattr(collecting._Search, "sends", search_then_delete)
    found = collected(root)
    assert list(found.modules) == ["a.py"]
    assert {fault.path for fault in found.faults} == {"b.py", "c.py"}


def test_overlay_takes_the_place_of_files(tmp_path: Path) -> None:
    """An editor's text counts, for files that do not exist too."""
    root = project(tmp_path, {"a.py": "x = 1\n"})
    overlay = {"a.py": CLIENT.encode(), "new.py": b"ask_model(1)\n"}
    found = collect(root, [root / "a.py", root / "new.py"], Config(root=root), overlay=overlay)
    assert set(found.modules) == {"a.py", "new.py"}
    assert found.sources["a.py"].text == CLIENT
    assert not found.faults


def test_facts_do_not_depend_on_how_much_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading again gives what keeping gives."""
    root = project(tmp_path, {"a.py": CLIENT, "b.py": "ask_model(1)\n", "c.py": "x = 1\n"})
    kept = collected(root)
    monkeypatch.setattr(collecting, "_KEPT_BYTES", 0)
    assert collected(root).sources == kept.sources


def test_garbage_collection_goes_on_afterwards(tmp_path: Path) -> None:
    """It is paused while parsing, and only then."""
    collected(project(tmp_path, {"a.py": CLIENT}))
    assert gc.isenabled()
    gc.disable()
    try:
        collected(tmp_path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_empty_projects(tmp_path: Path) -> None:
    """Nothing to read is no fault."""
    found = collected(tmp_path)
    assert replace(found, index=None) == replace(Collected(()), index=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("large", "is_packed"), [(1_000_000, False), (100, True)])
def test_large_projects_are_kept_compressed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    large: int,
    is_packed: bool,  # noqa: FBT001 (a case)
) -> None:
    """From the first file on, and they say the same."""
    monkeypatch.setattr(collecting, "_LARGE_PROJECT", large)
    found = collected(project(tmp_path, {"a.py": CLIENT}))
    assert isinstance(found.sources["a.py"], PackedSource) is is_packed
    assert found.sources["a.py"].text == CLIENT
    assert [scope.name for scope in found.modules["a.py"].scopes] == ["", "ask_model"]
    assert found.modules["a.py"].scopes[1].params[0].name == "question"
