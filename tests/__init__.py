"""The tests, in folders as those of ntkexp, and what they share."""
