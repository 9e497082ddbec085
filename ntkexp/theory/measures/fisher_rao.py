"""The Fisher-Rao norm (Liang, Poggio, Rakhlin and Stokes 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import array


def fisher_rao(loss_gradients: ArrayLike, outputs: ArrayLike, layers: int) -> float:
    """(L + 1)^2 E[<grad_f loss, f>^2], over examples with `loss_gradients` and `outputs` (m, c).

    Theirs is the squared norm |w|_fr^2 = w^T I(w) w of a bias-free ReLU net of L hidden layers,
    whose L + 1 affine maps make it homogeneous of degree L + 1; `layers` is L.
    """
    products = np.sum(array(loss_gradients) * array(outputs), axis=1)
    return float((layers + 1) ** 2 * np.mean(products**2))
