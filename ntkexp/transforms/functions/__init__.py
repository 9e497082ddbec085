"""The functions that transforms make of a network, as modules."""
