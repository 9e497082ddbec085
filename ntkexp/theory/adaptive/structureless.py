"""The model whose M is any matrix: Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.adaptive.penalties import Penalty, effective
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.linear_regression import min_norm_solution


@dataclass(frozen=True)
class Structureless:
    """The solution of (4) with any M: Theorem 1, equation (8).

    beta is the least solution of J beta = r, s the z of omega~(|beta|), and
    M = I + (s - 1) beta beta^T / |beta|^2, theta - theta_0 = beta / s.
    """

    beta: Array  # (P,)
    s: float

    @property
    def transform(self) -> Array:
        """M."""
        direction = self.beta / np.linalg.norm(self.beta)
        return array(np.eye(len(self.beta)) + (self.s - 1) * np.outer(direction, direction))

    @property
    def step(self) -> Array:
        """theta - theta_0."""
        return array(self.beta / self.s)


def structureless(features: ArrayLike, r: ArrayLike, penalty: Penalty) -> Structureless:
    """Theorem 1 for features J (n, P) and residuals r = y - f_0 (n,)."""
    beta = min_norm_solution(features, r)
    return Structureless(beta, float(penalty.minimiser(np.linalg.norm(beta))))


def structureless_objective(features: ArrayLike, r: ArrayLike, penalty: Penalty) -> float:
    """The least Omega(M) + |theta - theta_0|^2: omega~(|beta|)."""
    return float(effective(penalty, np.linalg.norm(min_norm_solution(features, r))))


def structureless_kernel(kernel: ArrayLike, r: ArrayLike, penalty: Penalty) -> Array:
    """K = K_0 + (s^2 - 1) r r^T / |beta|^2: equation (9), with |beta|^2 = r^T K_0^+ r."""
    K, residual = array(kernel), array(r)
    square = float(residual @ np.linalg.lstsq(K, residual, rcond=None)[0])
    s = float(penalty.minimiser(np.sqrt(square)))
    return array(K + (s**2 - 1) / square * np.outer(residual, residual))
