"""SuperNat (figure 5, section 4.1.2): gradient descent that reshapes its features as it goes.

c_j = u_j^T (f - y) is the residual in mode j, and grad_f L is a multiple of it: 2 / n times for the
paper's mean squared loss, once for |f - y|^2 / 2. The step is given in units of the residual, so
the multiple changes nothing but the rescaling with kappa = 1. kappa, which Proposition 3 leaves
open, decides the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ntkexp.theory.choices import Kappa as Kappa
from ntkexp.theory.choices import Loss as Loss
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.rescaling import optimal_for_update, rescaling_matrix


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
    rescaled = eigs * np.abs(gradient) / kappa(gradient, eigs, kind)
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
