"""Path norms: sums over the paths from inputs to outputs of products of weights.

(Neyshabur, Tomioka and Srebro 2015.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array


def path_norm(outputs: ArrayLike, p: int) -> float:
    """(sum f_{|w|^p}(1))^{1/p} from the outputs of the net with weights |w|^p on the input of ones.

    With non-negative weights and inputs a ReLU net is linear, so this output is the sum over paths;
    max pools have to become sums for that, and biases count as paths from a unit of their own.
    """
    return float(array(outputs).sum() ** (1.0 / p))


def mlp_path_norm(
    weights: Sequence[ArrayLike], p: int, biases: Sequence[ArrayLike] | None = None
) -> float:
    """`path_norm` of a fully connected net: p = 1 the l1, p = 2 the l2 path norm.

    >>> mlp_path_norm([[[1.0, -2.0]], [[3.0]]], p=1)
    9.0
    """
    signal = np.ones(array(weights[0]).shape[1])
    offsets = biases if biases is not None else [np.zeros(len(array(W))) for W in weights]
    for W, b in zip(weights, offsets, strict=True):
        signal = np.abs(array(W)) ** p @ signal + np.abs(array(b)) ** p
    return path_norm(signal, p)
