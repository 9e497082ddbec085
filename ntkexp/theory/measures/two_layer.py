"""Margin bounds for V relu(U x), as compared by Neyshabur et al. (2018, arXiv 1805.12076).

Their spectral (2,1) bound of two layers is `deep.spectral_two_one` times sqrt(m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array
from ntkexp.theory.measures.margins import positive
from ntkexp.theory.measures.norms import frobenius, spectral

CONFIDENCE = 0.01


def neyshabur_core(U: ArrayLike, V: ArrayLike, U0: ArrayLike, margin: float) -> float:
    """(|U0|_2 |V|_F + |U - U0|_F |V|_F) / gamma + sqrt H: what drives `neyshabur_bound`.

    Only the first two terms scale with the outputs, so only they are divided by the margin.
    """
    moved = frobenius(array(U) - array(U0))
    scaled = (spectral(U0) + moved) * frobenius(V) / positive(margin)
    return scaled + float(np.sqrt(len(array(U))))


def neyshabur_bound(
    U: ArrayLike,
    V: ArrayLike,
    U0: ArrayLike,
    inputs: ArrayLike,
    margin: float,
    delta: float = CONFIDENCE,
) -> float:
    """(R + 3 sqrt(5 H + log(max(1, gamma sqrt m) / delta)))^2, "Neyshabur 2018" in figure 6.

    R = 3 sqrt2 (sqrt(2 C) + 1) (|V|_F + 1)
        (sqrt(sum_h E[relu(u_h0 x)^2]) + |U - U0|_F sqrt(E|x|^2) + 1) / gamma,
    expectations over the m training inputs (m, d); it holds with probability 1 - delta.
    """
    x, initial = array(inputs), array(U0)
    units, classes, m = len(initial), len(array(V)), len(x)
    activity = np.sqrt(np.sum(np.maximum(x @ initial.T, 0.0) ** 2) / m)
    moved = frobenius(array(U) - initial) * _input_norm(x)
    factor = 3 * np.sqrt(2) * (np.sqrt(2 * classes) + 1) * (frobenius(V) + 1)
    R = factor * (activity + moved + 1) / positive(margin)
    counting = 3 * np.sqrt(5 * units + np.log(max(1.0, margin * np.sqrt(m)) / delta))
    return float((R + counting) ** 2)


def frobenius_bound(U: ArrayLike, V: ArrayLike, inputs: ArrayLike, margin: float) -> float:
    """|U|_F |V|_F sqrt(E|x|^2) / gamma (Neyshabur, Tomioka and Srebro 2015)."""
    return frobenius(U) * frobenius(V) * _input_norm(array(inputs)) / positive(margin)


def spectral_frobenius(
    U: ArrayLike, V: ArrayLike, U0: ArrayLike, V0: ArrayLike, inputs: ArrayLike, margin: float
) -> float:
    """sqrt(H (s_2 |U - U0|_F)^2 + C (s_1 |V - V0|_F)^2) max|x| s_1 / gamma.

    (Neyshabur, Bhojanapalli and Srebro 2018, PAC-Bayes.) The last s_1 stands in the code that made
    the published comparison; the theorem has no such factor, and with it the measure changes when
    U and U0 are multiplied and V and V0 divided by the same number, though the function does not.
    """
    classes, units = array(V).shape
    first = units * (spectral(V) * frobenius(array(U) - array(U0))) ** 2
    second = classes * (spectral(U) * frobenius(array(V) - array(V0))) ** 2
    largest = np.linalg.norm(array(inputs), axis=1).max()
    return float(np.sqrt(first + second) * largest * spectral(U) / positive(margin))


def _input_norm(inputs: ArrayLike) -> float:
    """sqrt(E|x|^2)."""
    x = array(inputs)
    return float(np.sqrt(np.sum(x**2) / len(x)))
