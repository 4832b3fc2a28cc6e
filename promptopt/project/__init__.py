"""Linking: the facts of all files into prompts, calls and what surrounds them."""

from __future__ import annotations

from promptopt.project.linking import Linked, LinkOptions, link, project_reader

__all__ = ["LinkOptions", "Linked", "link", "project_reader"]
