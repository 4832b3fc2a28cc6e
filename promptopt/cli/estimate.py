"""`promptopt estimate`: what a request of a given size spends its time on."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import click

from promptopt.cli.output import write
from promptopt.latency import PREFILL_MS_PER_1K, TOKENS_PER_SECOND, Latency, Rates, latency


@dataclass(frozen=True, slots=True)
class _Shape:
    """A request: tokens in and out, and the share of the input that is cached."""

    input: int
    output: int
    cached: float


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number that can be counted with")
    return value


_TOKENS = click.IntRange(0, 10**9)


@click.command("estimate", short_help="Say where a request of some size spends its time.")
@click.option("--input", "input_", type=_TOKENS, required=True, help="Tokens of the prompt.")
@click.option("--output", type=_TOKENS, required=True, help="Tokens of the answer.")
@click.option(
    "--cached",
    type=click.FloatRange(0, 1),
    default=0.0,
    callback=_finite,
    help="Share of the prompt that is read from the cache, 0 to 1 [0].",
)
@click.option(
    "--prefill-ms-per-1k",
    type=click.FloatRange(0, 1e9),
    default=PREFILL_MS_PER_1K,
    callback=_finite,
    help=f"Milliseconds to read 1,000 tokens [{PREFILL_MS_PER_1K:g}].",
)
@click.option(
    "--tokens-per-second",
    type=click.FloatRange(0, 1e9, min_open=True),
    default=TOKENS_PER_SECOND,
    callback=_finite,
    help=f"Tokens written per second [{TOKENS_PER_SECOND:g}].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; times are seconds.")
@click.option("-v", "--verbose", count=True, help="Twice: tracebacks of errors.")
def command(**options: Any) -> int:
    """Print prefill, decode and total time of a request, and what caching or a shorter answer would save."""
    shape = _Shape(options["input_"], options["output"], options["cached"])
    rates = Rates(options["prefill_ms_per_1k"], options["tokens_per_second"])
    times = latency(shape.input, shape.output, shape.cached, rates)
    write(_as_json(shape, times, rates) if options["as_json"] else _as_text(shape, times))
    return 0


def _as_text(shape: _Shape, times: Latency) -> str:
    cached = f" ({shape.cached:.0%} cached)" if shape.cached else ""
    heading = f"{shape.input:,} in{cached}, {shape.output:,} out:"
    figures = f"prefill {times.prefill:.2f} s   decode {times.decode:.2f} s   total {times.total:.2f} s"
    lines = [f"{heading}   {figures}   {times.bound}-bound ({times.bound_share:.0%})"]
    if shape.cached:
        lines.append(f"the cache saves {_gain(times.saved_by_cache, times.total + times.saved_by_cache)}")
    whole = _gain(times.prefill, times.total)
    halved = _gain(times.decode / 2, times.total)
    rest = "the rest" if shape.cached else "the whole prefix"
    lines.append(f"caching {rest} would save {whole}; halving the answer {halved}")
    return "\n".join(lines) + "\n"


def _gain(saved: float, total: float) -> str:
    share = saved / total if total else 0.0
    return f"{saved:.2f} s ({'under 1%' if 0 < share < 0.01 else f'{share:.0%}'})"


def _as_json(shape: _Shape, times: Latency, rates: Rates) -> str:
    report = {
        "input": shape.input,
        "output": shape.output,
        "cached": shape.cached,
        "prefill": round(times.prefill, 6),
        "decode": round(times.decode, 6),
        "ttft": round(times.prefill + (rates.inter_token if shape.output else 0), 6),
        "itl": round(rates.inter_token, 6),
        "total": round(times.total, 6),
        "bound": times.bound,
        "saved_by_cache": round(times.saved_by_cache, 6),
        "caching_all_would_save": round(times.prefill, 6),
        "halving_the_answer_would_save": round(times.decode / 2, 6),
    }
    return json.dumps(report, indent=2) + "\n"
