"""Which file of the project an import refers to."""

from __future__ import annotations

import pytest

from promptopt.project.imports import ImportIndex

FILES = (
    "main.py",
    "prompts.py",
    "app/__init__.py",
    "app/llm.py",
    "app/openai.py",
    "app/sub/__init__.py",
    "app/sub/deep.py",
    "app/both.py",
    "app/both/__init__.py",
    "src/lib/__init__.py",
    "src/lib/core.py",
    "scripts/run.py",
    "scripts/shared.py",
    "spaces/texts/system.py",
    "spaces/main.py",
    "services/api/api/__init__.py",
    "services/api/api/routes.py",
    "services/api/tests/test_routes.py",
    "packages/kit/src/kit/__init__.py",
    "packages/kit/src/kit/tools.py",
    "flask/app.py",
    "agents/__init__.py",
    "agents/writer.py",
    "vendor/extra/thing.py",
    "queue.py",
    "test/support.py",
)
INDEX = ImportIndex(FILES, roots=["vendor/extra"], external=["openai", "agents", "langchain*"])


@pytest.mark.parametrize(
    ("importer", "module", "level", "path"),
    [
        ("main.py", "prompts", 0, "prompts.py"),
        ("main.py", "app", 0, "app/__init__.py"),
        ("main.py", "app.llm", 0, "app/llm.py"),
        ("main.py", "app.missing", 0, None),
        ("main.py", "requests", 0, None),
        ("app/sub/deep.py", "app.llm", 0, "app/llm.py"),
        ("app/sub/deep.py", "prompts", 0, "prompts.py"),
        ("app/sub/deep.py", "llm", 0, "app/llm.py"),
        ("app/sub/deep.py", "", 1, "app/sub/__init__.py"),
        ("app/sub/deep.py", "", 2, "app/__init__.py"),
        ("app/sub/deep.py", "llm", 2, "app/llm.py"),
        ("app/sub/__init__.py", "deep", 1, "app/sub/deep.py"),
        ("app/sub/deep.py", "main", 3, "main.py"),
        ("app/sub/deep.py", "main", 4, None),
        ("main.py", "app.both", 0, "app/both/__init__.py"),
        ("main.py", "lib.core", 0, "src/lib/core.py"),
        ("src/lib/core.py", "lib", 0, "src/lib/__init__.py"),
        ("scripts/run.py", "shared", 0, "scripts/shared.py"),
        ("spaces/main.py", "texts.system", 0, "spaces/texts/system.py"),
        ("services/api/tests/test_routes.py", "api.routes", 0, "services/api/api/routes.py"),
        ("main.py", "thing", 0, "vendor/extra/thing.py"),
        ("main.py", "kit.tools", 0, "packages/kit/src/kit/tools.py"),
    ],
)
def test_resolves(importer: str, module: str, level: int, path: str | None) -> None:
    """Folders above the importer, `src` layouts, configured roots and packages elsewhere are searched."""
    assert INDEX.resolve(importer, module, level) == path


@pytest.mark.parametrize(
    ("importer", "module", "path"),
    [
        ("app/llm.py", "openai", None),
        ("app/openai.py", "openai", None),
        ("main.py", "langchain_openai", None),
        ("main.py", "agents.writer", "agents/writer.py"),
        ("main.py", "agents", "agents/__init__.py"),
        ("app/llm.py", "app.openai", "app/openai.py"),
        ("main.py", "queue", None),
        ("main.py", "test.support", "test/support.py"),
    ],
)
def test_installed_packages_are_not_files_of_that_name(importer: str, module: str, path: str | None) -> None:
    """`llm/openai.py` is not what `import openai` means, and `queue.py` not `queue`."""
    assert INDEX.resolve(importer, module, 0) == path


def test_namespace_packages_are_folders() -> None:
    """A folder without `__init__.py` stands for itself; its modules are found through it."""
    package = INDEX.resolve("spaces/main.py", "texts", 0)
    assert package == "spaces/texts/__init__.py"
    assert INDEX.submodule(package, "system") == "spaces/texts/system.py"
    assert INDEX.submodule(package, "missing") is None
    assert INDEX.resolve("spaces/main.py", "texts", 1) == package


def test_a_folder_around_the_importer_is_not_the_library_of_its_name() -> None:
    """An example in a folder `flask` imports the library."""
    assert INDEX.resolve("flask/app.py", "flask", 0) is None


def test_submodules() -> None:
    """Modules and packages inside a package; modules have none."""
    assert INDEX.submodule("app/__init__.py", "llm") == "app/llm.py"
    assert INDEX.submodule("app/__init__.py", "sub") == "app/sub/__init__.py"
    assert INDEX.submodule("app/__init__.py", "missing") is None
    assert INDEX.submodule("app/llm.py", "sub") is None
    assert ImportIndex(["__init__.py", "a.py"]).submodule("__init__.py", "a") == "a.py"


def test_a_name_that_several_top_level_packages_have_is_not_guessed() -> None:
    """Far packages are found only where no other has the name."""
    index = ImportIndex(["a/kit/__init__.py", "b/kit/__init__.py", "main.py"])
    assert index.resolve("main.py", "kit", 0) is None
    assert index.resolve("a/main.py", "kit", 0) == "a/kit/__init__.py"


def test_order_of_paths_does_not_matter() -> None:
    """The same files give the same answers."""
    backwards = ImportIndex(reversed(FILES), roots=["vendor/extra/"])
    assert backwards.resolve("main.py", "app.both", 0) == "app/both/__init__.py"
