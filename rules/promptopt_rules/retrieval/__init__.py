"""Retrieval: how much of what was found is sent."""
