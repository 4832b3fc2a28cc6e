"""Where volatility comes from: TOML data by area, read into one catalogue."""

from __future__ import annotations

from promptopt.sources.catalogue import SourceCatalogue, load_sources
from promptopt.sources.loading import SourceDataError

__all__ = ["SourceCatalogue", "SourceDataError", "load_sources"]
