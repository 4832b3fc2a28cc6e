"""assert_retrieval_budget, assert_lint_clean and assert_latency."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptopt.errors import ConfigError, TokenError, TrimError, UsageError
from pytest_promptopt import (
    PromptBudgetError,
    PromptLatencyError,
    PromptLintError,
    assert_latency,
    assert_lint_clean,
    assert_retrieval_budget,
)
from pytest_promptopt.latencies import percentile

SHORT, LONG = "Parcels leave daily.", "Parcels are kept for two weeks. " * 5
DOCUMENT = SimpleNamespace(page_content=LONG, metadata={"title": "Parcels"})


def test_passages_within_their_budget() -> None:
    """The bound itself is allowed; texts, mappings and documents count by their text and title."""
    assert_retrieval_budget([SHORT, {"text": LONG}, DOCUMENT], 94, 3)
    assert_retrieval_budget([SHORT, SHORT], 20, repeats=True)


def test_passages_over_their_budget() -> None:
    """The largest come first."""
    with pytest.raises(PromptBudgetError) as caught:
        assert_retrieval_budget([SHORT, LONG, DOCUMENT], 50, 2)
    assert str(caught.value).splitlines() == [
        "3 passages have 94 tokens, 44 over their budget of 50",
        "  2  46  Parcels Parcels are kept for two week...",
        "  1  42  Parcels are kept for two weeks. Parce...",
        "  0   6  Parcels leave daily.",
        "3 passages were retrieved, 1 more than 2",
    ]
    with pytest.raises(
        PromptBudgetError, match=r"^12 passages were retrieved, 2 more than 10\n(.*\n){10}  and 2 more$"
    ):
        assert_retrieval_budget([f"passage {n}" for n in range(12)], max_passages=10)
    with pytest.raises(PromptBudgetError, match="have about 6 tokens"):
        assert_retrieval_budget([SHORT], 4, model="claude-opus-5")


def test_repeated_passages() -> None:
    """A text that comes twice is paid twice."""
    with pytest.raises(
        PromptBudgetError, match=r"^1 of 3 passages repeat another one, 6 tokens\n(.*\n)+  2 +6  .*  repeats 0"
    ):
        assert_retrieval_budget([SHORT, LONG, SHORT], 500)


def test_no_passages() -> None:
    """A budget that holds for nothing is no test."""
    with pytest.raises(PromptBudgetError, match="no passage was retrieved"):
        assert_retrieval_budget([], 500)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([SHORT],), ValueError, "give max_tokens, max_passages or both"),
        (([SHORT], 0), ValueError, "max_tokens is 0"),
        (([SHORT], None, -1), ValueError, "max_passages is -1"),
        ((SHORT, 5), TrimError, "passages is a string: give a list of passages"),
        (([7], 5), TrimError, "passage 0 is of type int: give a string"),
    ],
)
def test_misuse_of_retrieval_budgets(arguments: Any, error: type[Exception], message: str) -> None:
    """On one line."""
    with pytest.raises(error, match=message):
        assert_retrieval_budget(*arguments)
    with pytest.raises(TokenError, match="unknown model"):
        assert_retrieval_budget([SHORT], 5, model="no-such-model")


VOLATILE = '''\
import openai
from datetime import datetime

RULES = """Answer from the handbook only, and quote the paragraph that you rely on.""" * 100


def answer(question):
    system = f"Now: {datetime.now()}\\n{RULES}"
    return openai.OpenAI().responses.create(model="gpt-5", instructions=system, input=question, max_output_tokens=300)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one warning."""
    (tmp_path / "promptopt.toml").write_text("")
    (tmp_path / "app.py").write_text(VOLATILE)
    return tmp_path


def test_findings(project: Path) -> None:
    """The text of `promptopt check`, for files, folders and lists of them."""
    for path in (project, str(project / "app.py"), [project / "app.py"]):
        with pytest.raises(PromptLintError) as caught:
            assert_lint_clean(path)
        lines = str(caught.value).splitlines()
        assert lines[0].startswith("1 finding in ")
        assert lines[1].endswith("app.py:8:21 PO101 volatile-prefix  [warning]")
        assert any("^^^^" in line for line in lines)
        assert lines[-1].startswith("Found 1 warning in 1 of 1 file (")


def test_what_is_asked_for(project: Path) -> None:
    """Rules and severities."""
    assert_lint_clean(project, select=["PO2"])
    assert_lint_clean(project, ignore="volatile-prefix")
    assert_lint_clean(project, min_severity="error")
    with pytest.raises(PromptLintError, match="PO101"):
        assert_lint_clean(project, select="cache")


def test_misuse_of_linting(project: Path) -> None:
    """Nothing to check is no clean check."""
    (project / "empty").mkdir()
    cases: list[tuple[Callable[[], None], type[Exception], str]] = [
        (lambda: assert_lint_clean(project / "missing.py"), UsageError, "missing.py: no such file or folder"),
        (lambda: assert_lint_clean([]), UsageError, "path is empty"),
        (lambda: assert_lint_clean(project / "empty"), UsageError, "empty: no Python code and no prompt template"),
        (lambda: assert_lint_clean(project, select="PO999"), ConfigError, "PO999"),
        (lambda: assert_lint_clean(project, min_severity="bad"), ValueError, "'bad': use info, warning or error"),  # type: ignore[arg-type]
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


TIMES = [{"ttft": n / 100, "total": n / 10, "itl": [0.01, 0.02]} for n in range(1, 101)]


def test_latencies_within_their_bounds() -> None:
    """Mappings and objects; what a request does not tell is no sample."""
    assert_latency(TIMES, ttft_p95=0.951, total_p99=9.902, itl_p50=0.02)
    assert_latency([SimpleNamespace(**one) for one in TIMES], ttft_p50=0.51)
    assert_latency([*TIMES, {"ttft": None}, {}], ttft_p50=0.51)


def test_latencies_over_their_bounds() -> None:
    """Each with the spread of what was measured."""
    with pytest.raises(PromptLatencyError) as caught:
        assert_latency(TIMES, ttft_p95=0.5, total_p99=9.902, itl_p50=0.001)
    assert str(caught.value).splitlines() == [
        "ttft_p95 is 0.9505 s, 0.4505 s over 0.5 s",
        "  time to first token of 100 samples: p50 0.505 s, p90 0.901 s, p95 0.9505 s, slowest 1 s",
        "itl_p50 is 0.015 s, 0.014 s over 0.001 s",
        "  inter-token latency of 200 samples: p50 0.015 s, p90 0.02 s, p95 0.02 s, slowest 0.02 s",
    ]


@pytest.mark.parametrize(("limit", "needed"), [("p50", 2), ("p90", 10), ("p95", 20), ("p99", 100), ("p99_9", 1000)])
def test_too_few_samples_say_nothing(limit: str, needed: int) -> None:
    """One sample at least must lie above a percentile, else it is the slowest request's and nothing more."""
    assert_latency([{"total": 1.0}] * needed, **{f"total_{limit}": 2})
    message = f"{needed - 1} samples of total say nothing about total_{limit}: at least {needed} are needed"
    with pytest.raises(PromptLatencyError, match=message):
        assert_latency([{"total": 1.0}] * (needed - 1), **{f"total_{limit}": 2})


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.01, 0.999))
def test_percentiles_are_those_of_numpy(samples: list[float], share: float) -> None:
    """Its default, linear interpolation."""
    assert percentile(sorted(samples), share) == pytest.approx(float(np.percentile(samples, share * 100)), abs=1e-9)


@pytest.mark.parametrize(
    ("records", "limits", "message"),
    [
        (TIMES, {}, "give at least one limit"),
        (TIMES, {"ttfb_p95": 1}, "unknown limit 'ttfb_p95': give ttft, itl or total with a percentile"),
        (TIMES, {"ttft_p0": 1}, "unknown limit 'ttft_p0'"),
        (TIMES, {"ttft_p100": 1}, "unknown limit 'ttft_p100'"),
        (TIMES, {"ttft_p95": -1}, "ttft_p95 is -1: give seconds above 0"),
        ([{"ttft": "fast"}], {"ttft_p50": 1}, "ttft of record 0 is 'fast': give seconds"),
        ([{"itl": [0.1, float("nan")]}], {"itl_p50": 1}, "itl of record 0 is nan: give seconds"),
    ],
)
def test_misuse_of_latencies(records: Any, limits: dict[str, float], message: str) -> None:
    """On one line."""
    with pytest.raises(ValueError, match=message):
        assert_latency(records, **limits)
