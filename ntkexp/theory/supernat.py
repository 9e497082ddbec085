"""SuperNat, equation (17), and the rescalings of the feature matrix that optimise the bounds.

Phi = sum_j sqrt(lambda_j) u_j v_j^T, and A_nu of equation (15) turns lambda_j into lambda_j / nu_j.
SuperNat takes the nu of Proposition 3 after every step: in mode j, residual and eigenvalue alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


class Kappa(StrEnum):
    """grad_norm: |c|, so that lambda_j shrinks by |c_j| / |c| <= 1.
    grad_max: max_j |c_j|, so that the mode with the largest residual keeps its eigenvalue.
    const: what keeps the largest eigenvalue of the kernel constant.
    none: 1, equation (17) to the letter, whose kernel scales with the gradient and the loss.
    """

    grad_norm = "grad_norm"
    grad_max = "grad_max"
    const = "const"
    none = "none"


class Loss(StrEnum):
    """mean: sum (f - y)^2 / n, the paper's mean squared loss. half_sum: |f - y|^2 / 2."""

    mean = "mean"
    half_sum = "half_sum"

    def gradient_over_residual(self, examples: int) -> float:
        """grad_f L = this times (f - y)."""
        return 2.0 / examples if self is Loss.mean else 1.0


def rescaling_matrix(nu: ArrayLike, V: ArrayLike) -> Array:
    """A_nu = sum_j sqrt(nu_j) v_j v_j^T + Id elsewhere (15); V has columns v_j."""
    vectors = array(V)
    weights = np.sqrt(array(nu)) - 1.0
    return np.eye(len(vectors)) + (vectors * weights) @ vectors.T


def solution_bound(nu: ArrayLike, eigs: ArrayLike, Uy: ArrayLike) -> float:
    """|w*|_{A_nu} sqrt(Tr K_{A_nu}), n times the bound (60) of the min-norm solution (83).

    `Uy` holds u_j^T y: |w*|^2 = sum_j (nu_j / lambda_j) (u_j^T y)^2, Tr K = sum_j lambda_j / nu_j.
    By Cauchy and Schwarz it is at least sum_j |u_j^T y|, whatever the spectrum.
    """
    nus, lam, y = (array(x) for x in (nu, eigs, Uy))
    return float(np.sqrt(np.sum(nus / lam * y**2) * np.sum(lam / nus)))


def optimal_for_solution(eigs: ArrayLike, Uy: ArrayLike, kappa: float = 1.0) -> Array:
    """nu*_j = kappa lambda_j / |u_j^T y|: Proposition 14, equation (82)."""
    lam, y = array(eigs), array(Uy)
    return kappa * lam / np.abs(y)


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


def scaled_spectrum(eigs: ArrayLike, c: float) -> Array:
    """l_j^c = 1 + c (l_j - 1), from white features at c = 0 to the given ones at c = 1 (B.5)."""
    return 1.0 + c * (array(eigs) - 1.0)


def kappa(gradient: Array, eigs: Array, kind: Kappa) -> Array:
    """The constant of Proposition 3, for gradients and eigenvalues (..., modes): (..., 1)."""
    sizes = np.abs(gradient)
    match kind:
        case Kappa.grad_norm:
            return array(np.linalg.norm(gradient, axis=-1, keepdims=True))
        case Kappa.grad_max:
            return array(sizes.max(axis=-1, keepdims=True))
        case Kappa.const:
            grown = (eigs * sizes).max(axis=-1, keepdims=True)
            return array(grown / eigs.max(axis=-1, keepdims=True))
        case Kappa.none:
            return np.ones_like(sizes[..., :1])


def gradient_descent_step(residual: Array, eigs: Array, eta: Array | float) -> Array:
    """c_j <- (1 - eta lambda_j) c_j."""
    return (1.0 - eta * eigs) * residual


def supernat_step(
    residual: Array,
    eigs: Array,
    eta: Array | float,
    kind: Kappa,
    gradient_over_residual: float = 1.0,
) -> tuple[Array, Array]:
    """One step (17): c_j <- (1 - eta lambda_j) c_j and lambda_j <- lambda_j |g_j| / kappa, with g_j
    the gradient in mode j, a multiple of c_j."""
    gradient = gradient_over_residual * residual
    constant = kappa(gradient, eigs, kind)
    # A gradient that has fallen to zero asks for no kernel: the last one stays.
    grown = eigs * np.abs(gradient)
    rescaled = np.divide(grown, constant, out=eigs.copy(), where=constant > 0)
    return gradient_descent_step(residual, eigs, eta), rescaled


@dataclass(frozen=True)
class ExplicitState:
    """Weights, rescaled features (n, P) and the product A_t = A~_0 ... A~_t of the algorithm."""

    weights: Array
    features: Array
    rescaling: Array


def explicit_start(features: Array) -> ExplicitState:
    """w = 0, Phi_0 = Phi, A_0 = I."""
    dimension = features.shape[1]
    return ExplicitState(np.zeros(dimension), features, np.eye(dimension))


def explicit_step(state: ExplicitState, y: Array, eta: float, kind: Kappa) -> ExplicitState:
    """The three steps of the algorithm in figure 5, as matrices.

    1. w~ <- w - eta Phi_t^T (Phi_t w - y)
    2. A~ = A_nu with nu_j = kappa / |u_j^T grad_f L|, the gradient that of step 1
    3. w <- A~^T w~ and Phi_{t+1}^T <- A~^{-1} Phi_t^T, which leaves the predictions as they are
    """
    U, singular_values, Vt = np.linalg.svd(state.features, full_matrices=False)
    gradient = state.features @ state.weights - y
    stepped = state.weights - eta * state.features.T @ gradient
    projected = U.T @ gradient
    nu = optimal_for_update(projected, kappa(projected, singular_values**2, kind))
    A = rescaling_matrix(nu, Vt.T)
    features = array(np.linalg.solve(A, state.features.T).T)
    return ExplicitState(A.T @ stepped, features, state.rescaling @ A)


def original_weights(state: ExplicitState) -> Array:
    """The weights of the features Phi that the algorithm began with: Phi_t = A_t^{-1} Phi."""
    return array(np.linalg.solve(state.rescaling.T, state.weights))


def natural_gradient_update(state: ExplicitState, features: Array, y: Array, eta: float) -> Array:
    """-eta g_{A_t}^{-1} grad_w L with g_{A_t} = A_t A_t^T, in the original features (Amari)."""
    gradient = features.T @ (features @ original_weights(state) - y)
    return array(-eta * np.linalg.solve(state.rescaling @ state.rescaling.T, gradient))
