"""Readers: one file in, facts out; no syntax tree leaves this room."""
