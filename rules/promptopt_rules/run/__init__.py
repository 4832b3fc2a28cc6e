"""Rules about the run itself: files that cannot be read, and comments that silence rules."""
