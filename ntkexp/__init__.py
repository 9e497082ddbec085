"""Watch what a neural network's tangent features do while it learns."""

__version__ = "0.2.0"
