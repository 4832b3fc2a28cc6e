"""What pytest loads: options, hooks and fixtures. Nothing else is imported before it is asked for."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptopt.calls import LlmCalls
    from pytest_promptopt.rendering import Renderer

UPDATE = "--promptopt-update"
MARKER = "token_budget"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--promptopt` and `--promptopt-update`."""
    group = parser.getgroup("promptopt", "promptopt: prompts and their budgets")
    group.addoption("--promptopt", action="store_true", help="Test the budgets of the project's prompts, too.")
    group.addoption(
        UPDATE, action="store_true", help="Write the sizes of today to promptopt.lock; implies --promptopt."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
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
    """Rewrite the lock file, once, before any worker of pytest-xdist reads it."""
    if session.config.getoption(UPDATE) and not hasattr(session.config, "workerinput"):
        from pytest_promptopt.items import update_lock  # noqa: PLC0415 (loads the readers and the linker)

        update_lock(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for each budget, before `-k` and `-m` choose."""
    if config.getoption("--promptopt") or config.getoption(UPDATE):
        from pytest_promptopt.items import budget_items  # noqa: PLC0415

        items += budget_items(session)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Watch over marked tests, where there are some."""
    if any(item.get_closest_marker(MARKER) for item in session.items):
        from pytest_promptopt.marker import TokenBudgets  # noqa: PLC0415

        session.config.pluginmanager.register(TokenBudgets(), "promptopt-token-budgets")
