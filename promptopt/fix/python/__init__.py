"""Edits of Python: of the smallest expression that says it, comments and layout kept."""
