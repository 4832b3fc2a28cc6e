"""The arithmetic behind all advice: what a request spends its time on."""

from __future__ import annotations

import json

import pytest

from promptopt.cli import main
from promptopt.latency import DEFAULT_RATES, Rates, latency


def printed(capsys: pytest.CaptureFixture[str], words: str) -> str:
    """Output of an estimate that succeeds."""
    assert main(["estimate", *words.split()]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("tokens_in", "tokens_out", "total"), [(10_000, 200, 2.3), (500, 2_000, 20.015)])
def test_totals(tokens_in: int, tokens_out: int, total: float) -> None:
    """A long prompt with a short answer is fast, a short prompt with a long answer slow."""
    assert latency(tokens_in, tokens_out).total == pytest.approx(total)


def test_an_output_token_costs_about_300_input_tokens() -> None:
    """At 30 ms per 1,000 tokens in and 100 tokens/s out."""
    assert DEFAULT_RATES.output_per_input == pytest.approx(333.3, abs=0.1)
    assert Rates(0, 100).output_per_input == float("inf")


@pytest.mark.parametrize(("tokens_in", "tokens_out", "low", "high"), [(500, 2_000, 0, 0.01), (150_000, 500, 0.4, 0.5)])
def test_what_caching_gains_depends_on_the_shape(tokens_in: int, tokens_out: int, low: float, high: float) -> None:
    """Next to nothing where decoding dominates, nearly half on a very long prompt."""
    times = latency(tokens_in, tokens_out)
    assert low < times.prefill / times.total < high
    assert latency(tokens_in, tokens_out, cached=1).total == pytest.approx(times.decode)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines: where the time goes, what would save some."""
    assert printed(capsys, "--input 10000 --output 200") == (
        "10,000 in, 200 out:   prefill 0.30 s   decode 2.00 s   total 2.30 s   decode-bound (87%)\n"
        "caching the whole prefix would save 0.30 s (13%); halving the answer 1.00 s (43%)\n"
    )
    assert "save 0.01 s (under 1%)" in printed(capsys, "--input 500 --output 2000")
    assert "prefill-bound" in printed(capsys, "--input 200000 --output 100")


def test_what_is_cached_already(capsys: pytest.CaptureFixture[str]) -> None:
    """The gain so far, against the request without a cache."""
    assert printed(capsys, "--input 150000 --output 500 --cached 0.8") == (
        "150,000 in (80% cached), 500 out:   prefill 0.90 s   decode 5.00 s   total 5.90 s   decode-bound (85%)\n"
        "the cache saves 3.60 s (38%)\n"
        "caching the rest would save 0.90 s (15%); halving the answer 2.50 s (42%)\n"
    )


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Seconds, with the time to the first token."""
    report = json.loads(printed(capsys, "--input 10000 --output 200 --json"))
    assert (report["prefill"], report["decode"], report["ttft"], report["total"]) == (0.3, 2.0, 0.31, 2.3)
    assert report["bound"] == "decode"


def test_own_rates(capsys: pytest.CaptureFixture[str]) -> None:
    """Given on the command line."""
    words = "--input 1000 --output 10 --prefill-ms-per-1k 1000 --tokens-per-second 10"
    assert "prefill 1.00 s   decode 1.00 s" in printed(capsys, words)


def test_nothing_takes_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    """No division by zero."""
    assert "total 0.00 s" in printed(capsys, "--input 0 --output 0")


@pytest.mark.parametrize(
    "words",
    [
        "--input 10",
        "--input -1 --output 1",
        "--input x --output 1",
        "--input 1 --output 1 --cached 2",
        "--input 1 --output 1 --cached nan",
        "--input 1 --output 1 --tokens-per-second 0",
        "--input 1 --output 1 --tokens-per-second inf",
    ],
)
def test_wrong_figures_are_refused(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """On one line, with exit status 2."""
    assert main(["estimate", *words.split()]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
