"""Norms of the weights of any net, without reference to data or margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def frobenius(W: ArrayLike) -> float:
    """|W|_F."""
    return float(np.linalg.norm(array(W)))


def spectral(W: ArrayLike) -> float:
    """The spectral norm, W's largest singular value; written s_l for layer l."""
    return float(np.linalg.norm(array(W), ord=2))


def two_one(W: ArrayLike) -> float:
    """|W|_{2,1} = sum over the units (rows) of the l2 norm of their incoming weights.

    Bartlett, Foster and Telgarsky (2017) write |W^T|_{2,1}, columns first.
    """
    return float(np.linalg.norm(array(W), axis=1).sum())


def parameters(weights: Sequence[ArrayLike]) -> int:
    """How many numbers there are in `weights`."""
    return sum(array(W).size for W in weights)


def l2(weights: Sequence[ArrayLike]) -> float:
    """sqrt(sum_l |W_l|_F^2)."""
    return float(np.sqrt(sum(frobenius(W) ** 2 for W in weights)))


def distance(weights: Sequence[ArrayLike], initial: Sequence[ArrayLike]) -> float:
    """sqrt(sum_l |W_l - W_l0|_F^2), the distance from initialisation."""
    return l2(displacements(weights, initial))


def displacements(weights: Sequence[ArrayLike], initial: Sequence[ArrayLike]) -> list[Array]:
    """D_l = W_l - W_l0."""
    return [array(W) - array(W0) for W, W0 in zip(weights, initial, strict=True)]


def frobenius_product(weights: Sequence[ArrayLike]) -> float:
    """prod_l |W_l|_F (Neyshabur, Tomioka and Srebro 2015)."""
    return float(np.prod([frobenius(W) for W in weights]))


def spectral_product(weights: Sequence[ArrayLike]) -> float:
    """prod_l s_l (Bartlett, Foster and Telgarsky 2017)."""
    return float(np.prod([spectral(W) for W in weights]))
