"""What pytest loads: options and hooks. Nothing else is imported before it is asked for."""

from __future__ import annotations

import pytest

UPDATE = "--promptopt-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--promptopt` and `--promptopt-update`."""
    group = parser.getgroup("promptopt", "promptopt: prompts and their budgets")
    group.addoption("--promptopt", action="store_true", help="Test the budgets of the project's prompts, too.")
    group.addoption(
        UPDATE, action="store_true", help="Write the sizes of today to promptopt.lock; implies --promptopt."
    )


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
