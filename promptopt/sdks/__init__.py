"""Facts about SDKs and frameworks: one TOML file each, read into one catalogue."""

from __future__ import annotations

from promptopt.sdks.catalogue import SdkCatalogue, SdkDataError, build_catalogue, load_catalogue

__all__ = ["SdkCatalogue", "SdkDataError", "build_catalogue", "load_catalogue"]
