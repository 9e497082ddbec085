"""Many works in one run: side by side, or as one stack of networks."""
