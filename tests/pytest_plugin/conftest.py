"""Runs of pytest with the plugin, in folders of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """A run of pytest in a process of its own; only the plugins that are named are loaded beside ours."""

    def start(*words: str, plugins: tuple[str, ...] = ()) -> pytest.RunResult:
        pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        named = [word for plugin in plugins for word in ("-p", plugin)]
        return pytester.runpytest_subprocess(
            "-p", "pytest_promptopt.plugin", "-p", "no:cacheprovider", *named, *words, timeout=120
        )

    return start
