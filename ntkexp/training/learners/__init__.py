"""The routes by which a function of the examples is trained, one update at a time."""
