"""Rescalings of the feature matrix's singular values, and the ones that optimise the bounds.

Phi = sum_j sqrt(lambda_j) u_j v_j^T, and A_nu of equation (15) turns lambda_j into lambda_j / nu_j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def rescaling_matrix(nu: ArrayLike, V: ArrayLike) -> Array:
    """A_nu = sum_j sqrt(nu_j) v_j v_j^T + Id elsewhere (15); V has columns v_j."""
    vectors = array(V)
    weights = np.sqrt(array(nu)) - 1.0
    return np.eye(len(vectors)) + (vectors * weights) @ vectors.T


def solution_bound(nu: ArrayLike, eigs: ArrayLike, Uy: ArrayLike) -> float:
    """|w*|_{A_nu} sqrt(Tr K_{A_nu}), n times the bound (60) of the min-norm solution (83).

    `Uy` holds u_j^T y: |w*|^2 = sum_j (nu_j / lambda_j) (u_j^T y)^2, Tr K = sum_j lambda_j / nu_j.
    """
    nus, lam, y = (array(x) for x in (nu, eigs, Uy))
    return float(np.sqrt(np.sum(nus / lam * y**2) * np.sum(lam / nus)))


def optimal_for_solution(eigs: ArrayLike, Uy: ArrayLike, kappa: float = 1.0) -> Array:
    """nu*_j = kappa lambda_j / |u_j^T y|: Proposition 14, equation (82)."""
    lam, y = array(eigs), array(Uy)
    return kappa * lam / np.abs(y)


def least_solution_bound(Uy: ArrayLike) -> float:
    """The value at nu* of `solution_bound`: sum_j |u_j^T y|, whatever the spectrum.

    By Cauchy and Schwarz sum_j |u_j^T y| <= |w*|_{A_nu} sqrt(Tr K_{A_nu}) for every nu.
    """
    return float(np.sum(np.abs(array(Uy))))


def update_bound(nu: ArrayLike, eigs: ArrayLike, Ug: ArrayLike, eta: float = 1.0) -> float:
    """|dw|_{A_nu} |A_nu^{-1} Phi_t^T|_F of SuperNat's step 2, for dw = -eta Phi_t^T grad_f L.

    `Ug` holds u_j^T grad_f L: |dw|^2 = eta^2 sum_j nu_j lambda_j (u_j^T g)^2. Equation (88) prints
    |A^{-1} Phi^T|_F = Tr K; the trace is the square of that norm.
    """
    nus, lam, g = (array(x) for x in (nu, eigs, Ug))
    return float(eta * np.sqrt(np.sum(nus * lam * g**2) * np.sum(lam / nus)))


def optimal_for_update(Ug: ArrayLike, kappa: float | ArrayLike = 1.0) -> Array:
    """nu*_j = kappa / |u_j^T grad_f L|: Propositions 3 and 15, equations (16) and (85)."""
    return array(kappa) / np.abs(array(Ug))


def least_update_bound(eigs: ArrayLike, Ug: ArrayLike, eta: float = 1.0) -> float:
    """The value at nu* of `update_bound`: eta sum_j lambda_j |u_j^T grad_f L|."""
    lam, g = array(eigs), array(Ug)
    return float(eta * np.sum(lam * np.abs(g)))


def scaled_spectrum(eigs: ArrayLike, c: float) -> Array:
    """l_j^c = 1 + c (l_j - 1), from white features at c = 0 to the given ones at c = 1 (B.5)."""
    return 1.0 + c * (array(eigs) - 1.0)
