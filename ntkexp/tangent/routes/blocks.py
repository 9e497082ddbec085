"""The lower half of a symmetric matrix, cut into few large blocks."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

STRIPE = 250


def lower_blocks(size: int, least: int, start: int = 0) -> Iterator[tuple[slice, slice]]:
    """Rectangles that cover everything on and below the diagonal of a size x size matrix.

    Halving again and again leaves size^2 / 2 plus half of `least` x size to compute, in matrix
    products as large as possible.

    >>> [(r.start, r.stop, c.start, c.stop) for r, c in lower_blocks(4, 2)]
    [(0, 2, 0, 2), (2, 4, 0, 2), (2, 4, 2, 4)]
    """
    if size <= max(least, 1):
        yield slice(start, start + size), slice(start, start + size)
        return
    half = size // 2
    yield from lower_blocks(half, least, start)
    yield slice(start + half, start + size), slice(start, start + half)
    yield from lower_blocks(size - half, least, start + half)


def mirror(gram: Tensor) -> None:
    """Copy what is below the diagonal above it, in stripes the cache holds."""
    for start in range(0, len(gram), STRIPE):
        stripe = slice(start, start + STRIPE)
        gram[:start, stripe] = gram[stripe, :start].t()
        square = gram[stripe, stripe]
        square.copy_(square.tril() + square.tril(-1).t())


def times(examples: slice, k: int) -> slice:
    """The rows of a Gram matrix that belong to a range of examples."""
    return slice(examples.start * k, examples.stop * k)
