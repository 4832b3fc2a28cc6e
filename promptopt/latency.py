"""How long a request takes: prefill reads the prompt, decode writes the answer token by token.

Times are seconds. The rates are illustrative defaults; measure your own provider's. Queueing, network and the
growth of either rate with the length of the context are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PREFILL_MS_PER_1K: Final = 30.0
TOKENS_PER_SECOND: Final = 100.0


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast a model reads and writes.

    Attributes:
        prefill_ms_per_1k: milliseconds per 1,000 input tokens that are not cached.
        tokens_per_second: output tokens per second.
    """

    prefill_ms_per_1k: float = PREFILL_MS_PER_1K
    tokens_per_second: float = TOKENS_PER_SECOND

    @property
    def inter_token(self) -> float:
        """Inter-token latency (ITL) in seconds."""
        return 1 / self.tokens_per_second

    @property
    def output_per_input(self) -> float:
        """Input tokens that take as long as one output token."""
        return self.inter_token / (self.prefill_ms_per_1k / 1e6) if self.prefill_ms_per_1k else float("inf")


DEFAULT_RATES: Final = Rates()


@dataclass(frozen=True, slots=True)
class Latency:
    """Times of one request in seconds.

    Attributes:
        prefill: reading the input that is not cached; the time to first token (TTFT) but for its decoding.
        decode: writing the answer.
        uncached: reading the whole input.
    """

    prefill: float
    decode: float
    uncached: float

    @property
    def total(self) -> float:
        """From the request to the last token."""
        return self.prefill + self.decode

    @property
    def bound(self) -> Literal["prefill", "decode"]:
        """What takes more of the time."""
        return "prefill" if self.prefill > self.decode else "decode"

    @property
    def bound_share(self) -> float:
        """The share of that in the total, 0 to 1."""
        return max(self.prefill, self.decode) / self.total if self.total else 0.0

    @property
    def saved_by_cache(self) -> float:
        """Seconds that what is cached saves."""
        return self.uncached - self.prefill


def latency(input_tokens: int, output_tokens: int, cached: float = 0.0, rates: Rates = DEFAULT_RATES) -> Latency:
    """Times of a request.

    Args:
        input_tokens: tokens of the prompt.
        output_tokens: tokens of the answer.
        cached: share of the input whose prefix is cached, 0 to 1.
        rates: how fast the model reads and writes.
    """
    whole = input_tokens / 1000 * rates.prefill_ms_per_1k / 1000
    return Latency(whole * (1 - cached), output_tokens * rates.inter_token, whole)
