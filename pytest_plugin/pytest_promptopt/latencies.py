"""How long requests take: percentiles of what was measured, against bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, isfinite
from typing import Any, Final

from pytest_promptopt.errors import PromptLatencyError

_LIMIT: Final = re.compile(r"(ttft|itl|total)_p(\d{1,2}(?:_\d+)?)")
_WORDS: Final = {"ttft": "time to first token", "itl": "inter-token latency", "total": "total time"}


def assert_latency(records: Iterable[object], **limits: float) -> None:
    """Fail where a percentile of what requests took is above its bound.

    Percentiles are interpolated linearly between samples, as numpy's are. One is judged only where at least one sample
    lies above it: a p99 takes 100 samples, a p95 20, a p50 2.

    Args:
        records: requests, as mappings or objects with `ttft`, `itl` and `total` in seconds, such as recorded calls;
            `itl` may be a number or the list of all gaps of a request. What a request does not tell (None, or no
            such field) is no sample.
        limits: seconds, by measure and percentile: `ttft_p95=0.5, itl_p50=0.02, total_p99_9=4`.

    Raises:
        PromptLatencyError: a percentile is above its bound, or there are too few samples to judge it.
        ValueError: no limit, an unknown one, or one that is no time; a sample that is none.
    """
    __tracebackhide__ = True
    if not limits:
        raise ValueError("give at least one limit, such as ttft_p95=0.5")
    bounds = [(name, *_parsed(name, seconds)) for name, seconds in limits.items()]
    kept = list(records)
    faults: list[str] = []
    for name, measure, share, limit in bounds:
        samples = sorted(_samples(kept, measure))
        needed = ceil(round(1 / (1 - share), 6))
        if len(samples) < needed:
            faults.append(f"{len(samples)} samples of {measure} say nothing about {name}: at least {needed} are needed")
            continue
        value = percentile(samples, share)
        if value > limit:
            faults.append(_over(name, value, limit, samples))
    if faults:
        raise PromptLatencyError("\n".join(faults))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of samples in ascending order lies, interpolated linearly (numpy's default)."""
    place = share * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _parsed(name: str, seconds: object) -> tuple[str, float, float]:
    found = _LIMIT.fullmatch(name)
    share = float(found[2].replace("_", ".")) / 100 if found else 0
    if not found or not 0 < share < 1:
        raise ValueError(f"unknown limit {name!r}: give ttft, itl or total with a percentile, such as ttft_p95")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not isfinite(seconds) or seconds <= 0:
        raise ValueError(f"{name} is {seconds!r}: give seconds above 0")
    return found[1], share, float(seconds)


def _samples(records: Sequence[object], measure: str) -> Iterator[float]:
    for index, record in enumerate(records):
        value: Any = record.get(measure) if isinstance(record, Mapping) else getattr(record, measure, None)
        for sample in value if isinstance(value, list | tuple) else () if value is None else (value,):
            if not isinstance(sample, int | float) or isinstance(sample, bool) or not isfinite(sample) or sample < 0:
                raise ValueError(f"{measure} of record {index} is {sample!r}: give seconds")
            yield float(sample)


def _over(name: str, value: float, limit: float, samples: Sequence[float]) -> str:
    measure = name.partition("_")[0]
    spread = ", ".join(
        f"p{p} {percentile(samples, p / 100):.4g} s" for p in (50, 90, 95) if len(samples) >= 100 / (100 - p)
    )
    return (
        f"{name} is {value:.4g} s, {value - limit:.4g} s over {limit:.4g} s\n"
        f"  {_WORDS[measure]} of {len(samples)} samples: {spread}, slowest {samples[-1]:.4g} s"
    )
