"""Facts about models are dated, traced and never inherited."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

from promptopt.tokens import (
    breakpoint_limit,
    caches_from_first_block,
    find_model,
    known_models,
    largest_cache_minimum,
    lookback,
    needs_markers,
    token_counter,
)
from promptopt.tokens.encodings import encoding_names

TABLES = tomllib.loads((Path(__file__).parents[2] / "promptopt" / "tokens" / "models.toml").read_text("utf-8"))


def test_every_entry_has_a_source_and_a_date() -> None:
    """A source is one of those listed, and nobody has read it in the future."""
    cited = [*TABLES["models"], *TABLES["framings"].values(), *TABLES["caching"].values()]
    assert len(cited) > 100
    for entry in cited:
        sources = [part.split(":")[-1].strip() for part in entry["source"].split(";")]
        assert set(sources) <= set(TABLES["sources"]), entry
        assert date(2026, 1, 1) < entry["date"]


def test_no_name_stands_twice() -> None:
    """Each name has one entry."""
    names = [name for entry in TABLES["models"] for name in entry["names"]]
    assert len(names) == len(set(names)) == len(known_models())


def test_figures_are_plausible() -> None:
    """A reading from a cache is not dearer than fresh input, a minimum fits the window, encodings exist."""
    for name, model in known_models().items():
        assert model.encoding is None or model.encoding in encoding_names(), name
        assert model.provider in TABLES["prefixes"], name
        assert (model.cache_minimum or 0) < (model.window or 10**9), name
        assert model.provider == "openai" or model.estimate, name
        if model.prices and model.prices.cache_read:
            assert model.prices.cache_read <= model.prices.input, name


@pytest.mark.parametrize(
    "name", ["gpt-4o-house-edition", "gpt-5-2031-01-01", "GPT-5", "anthropic/gpt-5", "azure/gpt-5", ""]
)
def test_a_longer_name_inherits_nothing(name: str) -> None:
    """What is not listed is unknown, whatever it begins with."""
    assert find_model(name) is None


def test_a_provider_may_stand_before_its_model() -> None:
    """As routers write it."""
    assert find_model("openai/gpt-5") == find_model("gpt-5") is not None
    assert find_model("google/gemini-2.5-pro") == find_model("gemini-2.5-pro") is not None
    assert find_model("openai:gpt-5") == find_model("gpt-5")
    assert find_model("anthropic:gpt-5") is find_model("house:openai/gpt-5") is None


def test_tokenizers_that_are_not_public_are_estimates() -> None:
    """Text for Claude and Gemini is counted with another's encoding, and says so."""
    assert token_counter("claude-opus-5").estimate
    assert token_counter("gemini-2.5-pro").estimate
    assert not token_counter("gpt-5").estimate
    assert not token_counter().estimate


def test_limits_are_known_for_some_providers() -> None:
    """Where they are not, there is none to exceed."""
    assert breakpoint_limit("anthropic") == 4
    assert breakpoint_limit("house") is breakpoint_limit(None) is None


def test_what_providers_say_about_markers() -> None:
    """Which need them, how far back they look, and the most that a model of theirs asks for."""
    assert needs_markers("anthropic")
    assert not needs_markers("openai")
    assert not needs_markers(None)
    assert lookback("anthropic") == 20
    assert lookback("openai") is None
    assert largest_cache_minimum("anthropic") == 4096
    assert largest_cache_minimum("house") is None
    assert breakpoint_limit("deepseek") == 0


def test_engines_and_models_that_cache_otherwise() -> None:
    """Engines that people run themselves have no minimum; some models are not cached at all."""
    assert caches_from_first_block("vllm")
    assert not caches_from_first_block("openai")
    assert not caches_from_first_block(None)
    caching = {name: model.caches for name, model in known_models().items()}
    assert caching["gpt-4"] is False
    assert caching["gpt-5"] is None
