"""What pytest loads: options, hooks and fixtures. Nothing else is imported before it is asked for."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptopt.calls import LlmCalls
    from pytest_promptopt.rendering import Renderer

UPDATE = "--promptopt-update"
REPORT = "--promptopt-report"
MARKER = "token_budget"
FILES = "promptopt_files"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--promptopt` and `--promptopt-update`."""
    group = parser.getgroup("promptopt", "promptopt: prompts and their budgets")
    group.addoption(
        "--promptopt", action="store_true", help="Check the project's prompts and their budgets as tests, too."
    )
    group.addoption(
        UPDATE, action="store_true", help="Write the sizes of today to promptopt.lock; implies --promptopt."
    )

    group.addoption(
        REPORT, metavar="FILE", help="Print a table of every prompt that was checked, and write it to FILE as JSON."
    )
    parser.addini(FILES, "Prompt files that are collected as tests: patterns such as prompts/*.j2", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, collect prompt files where the configuration names some, keep notes where a report is
    asked for."""
    if patterns := config.getini(FILES):
        from pytest_promptopt.items import PromptFiles  # noqa: PLC0415 (loads the readers and the linker)

        config.pluginmanager.register(PromptFiles(patterns), "promptopt-files")
    report = config.getoption(REPORT)
    if report or config.getoption("xmlpath", None):
        from pytest_promptopt.reporting import Reporting  # noqa: PLC0415

        file = config.invocation_params.dir / report if report else None
        config.pluginmanager.register(Reporting(file), "promptopt-report")
    config.addinivalue_line(
        "markers",
        f"{MARKER}(max_tokens, model=None, encoding=None): fail where a prompt that the test renders or sends is "
        "longer, or where it renders and sends none.",
    )


@pytest.fixture
def llm_calls(request: pytest.FixtureRequest) -> Iterator[LlmCalls]:
    """The LLM requests that clients send in this test, recorded without sending anything.

    A sequence of `LlmCall`s with `assert_within`, `assert_capped`, `assert_streamed` and `assert_stable_prefix`.
    """
    from pytest_promptopt.marker import seen_by  # noqa: PLC0415 (loads what counts and records)

    seen = seen_by(request.node)
    with seen.watch:
        yield seen.record()


@pytest.fixture
def render_prompt(request: pytest.FixtureRequest) -> Renderer:
    """A function that renders a prompt file: `render_prompt("prompts/answer.j2", question="Where is it?")`."""
    from pytest_promptopt.marker import seen_by  # noqa: PLC0415
    from pytest_promptopt.rendering import Renderer  # noqa: PLC0415 (loads Jinja)

    return Renderer(request.config.rootpath, request.path.parent, seen_by(request.node).rendered.append)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before any worker of pytest-xdist starts: refuse faulty configuration, and rewrite the lock file, once."""
    config = session.config
    if hasattr(config, "workerinput") or not _wanted(config):
        return
    from pytest_promptopt.items import check_configuration, update_lock  # noqa: PLC0415 (loads readers and linker)

    check_configuration(config)
    if config.getoption(UPDATE):
        update_lock(config)


def _wanted(config: pytest.Config) -> bool:
    return bool(config.getoption("--promptopt") or config.getoption(UPDATE))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for each prompt file and budget, before `-k` and `-m` choose."""
    if _wanted(config):
        from pytest_promptopt.items import project_items  # noqa: PLC0415

        items += project_items(session, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Watch over marked tests, where there are some."""
    if any(item.get_closest_marker(MARKER) for item in session.items):
        from pytest_promptopt.marker import TokenBudgets  # noqa: PLC0415

        session.config.pluginmanager.register(TokenBudgets(), "promptopt-token-budgets")
