"""Rules about how much a request sends."""
