"""Margin-normalised products of spectral norms, for nets of any depth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array
from ntkexp.theory.measures.margins import positive
from ntkexp.theory.measures.norms import (
    displacements,
    frobenius,
    spectral,
    spectral_product,
    two_one,
)


def spectral_two_one(
    weights: Sequence[ArrayLike], initial: Sequence[ArrayLike], margin: float, examples: int
) -> float:
    """prod_l s_l (sum_l (|D_l|_{2,1} / s_l)^{2/3})^{3/2} / (gamma sqrt m).

    (Bartlett, Foster and Telgarsky 2017.)
    """
    moved = displacements(weights, initial)
    ratios = [two_one(D) / spectral(W) for D, W in zip(moved, weights, strict=True)]
    total = np.sum(np.power(ratios, 2 / 3)) ** 1.5
    return float(spectral_product(weights) * total / (positive(margin) * np.sqrt(examples)))


def spectral_frobenius(
    weights: Sequence[ArrayLike], initial: Sequence[ArrayLike], margin: float, examples: int
) -> float:
    """d prod_l s_l sqrt(sum_l h_l |D_l|_F^2 / s_l^2) / (gamma sqrt m), d layers of h_l outputs.

    (Neyshabur, Bhojanapalli and Srebro 2018.) The deep stand-in for the two-layer bound of
    Neyshabur et al. 2018.
    """
    moved = displacements(weights, initial)
    terms = [
        len(array(W)) * (frobenius(D) / spectral(W)) ** 2
        for D, W in zip(moved, weights, strict=True)
    ]
    product = len(terms) * spectral_product(weights) * np.sqrt(np.sum(terms))
    return float(product / (positive(margin) * np.sqrt(examples)))
