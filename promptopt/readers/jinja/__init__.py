"""Reads one Jinja template into facts: segments that tile its source, and its expressions with exact spans."""
