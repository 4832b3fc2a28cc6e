"""Conversations: what makes them grow."""
