"""A run, from a final config to its end; with how many threads, in what process."""
