"""Rules that keep the beginning of a request byte-identical, so that it can be read from a cache."""
