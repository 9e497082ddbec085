"""Passes through a model, forward and backward, that leave it as it was found."""
