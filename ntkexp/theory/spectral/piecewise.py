"""A ReLU network of one input is piecewise linear: its exact pieces, and their Fourier transform.

With breakpoints x_1 < ... < x_J inside [0, 1] and slopes s_0, ..., s_J of f between them, twice
integrating by parts gives (Lemma 3.1 in one dimension, with the sign of a transform exp(-ikx))

    int_0^1 f(x) exp(-ikx) dx = (f(0) - f(1) exp(-ik)) / (ik)
        - (s_0 - s_J exp(-ik) + sum_j (s_j - s_{j-1}) exp(-ik x_j)) / k^2.

The first part are the two jumps of f 1_[0,1]. They fall as 1/k and hide the 1/k^2 of the kinks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntkexp.theory.float64 import Array, array

# Weights (out, in) and biases (out,) of every affine map, the output's last.
Layers = Sequence[tuple[Array, Array]]
ROWS = 1 << 14


@dataclass(frozen=True)
class Pieces:
    """f on [0, 1]: `x` are 0, the points where some unit changes its side, and 1; `values` f(x)."""

    x: Array
    values: Array

    @property
    def regions(self) -> int:
        """N_f: the linear pieces."""
        return len(self.x) - 1

    @property
    def slopes(self) -> Array:
        return array(np.diff(self.values) / np.diff(self.x))

    @property
    def lipschitz(self) -> float:
        """L_f = max |slope|."""
        return float(np.abs(self.slopes).max())

    def jumps(self, k: ArrayLike) -> NDArray[np.complex128]:
        """The part of the transform that the ends 0 and 1 make, at angular frequencies k > 0."""
        w = array(k)
        ends = self.values[0] - self.values[-1] * np.exp(-1j * w)
        return np.asarray(ends / (1j * w), dtype=np.complex128)

    def kinks(self, k: ArrayLike) -> NDArray[np.complex128]:
        """The part that the changes of slope make, those at the ends included."""
        w = array(k)
        slopes = np.concatenate([[0.0], self.slopes, [0.0]])
        changes = np.diff(slopes)
        turned = np.array([np.exp(-1j * frequency * self.x) @ changes for frequency in w])
        return np.asarray(-turned / w**2, dtype=np.complex128)

    def transform(self, k: ArrayLike) -> NDArray[np.complex128]:
        """int_0^1 f(x) exp(-ikx) dx at angular frequencies k > 0.

        >>> hat = Pieces(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 0.0]))
        >>> exact = -(1 - np.exp(-0.5j * 3)) ** 2 * 2 / 3**2
        >>> bool(np.isclose(hat.transform([3.0])[0], exact))
        True
        """
        return self.jumps(k) + self.kinks(k)


def pieces(layers: Layers) -> Pieces:
    """The exact pieces on [0, 1] of a ReLU network of one input and one output.

    Layer by layer: between two points where nothing earlier changes, every unit of the next layer
    is linear, so it changes its side at most once, at a zero that its two values give.
    """
    x = np.array([0.0, 1.0])
    hidden = x[:, None]
    for W, b in layers[:-1]:
        before = hidden @ W.T + b
        x, hidden = _with_zeros(x, before)
        hidden = np.maximum(hidden, 0)
    W, b = layers[-1]
    return Pieces(x, (hidden @ W.T + b)[:, 0])


def _with_zeros(x: Array, values: Array) -> tuple[Array, Array]:
    """Points and values (points, units), with the zeros between neighbours put among them."""
    new = np.unique(np.concatenate([x, *_zeros(x, values)]))
    # Values between two old points are linear.
    left = np.clip(np.searchsorted(x, new, side="right") - 1, 0, len(x) - 2)
    share = ((new - x[left]) / (x[left + 1] - x[left]))[:, None]
    return new, values[left] + share * (values[left + 1] - values[left])


def _zeros(x: Array, values: Array) -> Iterator[Array]:
    for start in range(0, len(x) - 1, ROWS):
        low, high = values[start : start + ROWS], values[start + 1 : start + 1 + ROWS]
        low = low[: len(high)]
        place, unit = np.nonzero(low * high < 0)
        a, b = low[place, unit], high[place, unit]
        yield x[start + place] + (x[start + place + 1] - x[start + place]) * a / (a - b)
