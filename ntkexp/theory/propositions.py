"""The errors of the paper's statements on linear models for given features and labels.

proposition_3: nu* = kappa / |u_j^T grad_f L| minimises SuperNat's step 2, equation (16).
proposition_4: metric G = Phi^T Phi and kernel K = Phi Phi^T share their spectrum (and (28) are
orthonormal eigenvectors of K).
proposition_14: nu* = kappa lambda_j / |u_j^T y| minimises the bound (60), equation (82).
natural_gradient: in the original features a step of SuperNat is one of natural gradient descent
with respect to g_{A_t} = A_t A_t^T (section 4.1.2).
solution_covariance: noise sigma^2 in the labels gives min-norm solutions the covariance
sum_j sigma^2 / lambda_j v_j v_j^T (below equation (81)).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ntkexp.theory.float64 import Array, array
from ntkexp.theory.linear_regression import min_norm_solution
from ntkexp.theory.spectrum import eigenvalues
from ntkexp.theory.supernat import (
    Kappa,
    explicit_start,
    explicit_step,
    natural_gradient_update,
    optimal_for_solution,
    optimal_for_update,
    original_weights,
    solution_bound,
    update_bound,
)

IDENTITIES = (
    "proposition_3",
    "proposition_4",
    "proposition_14",
    "natural_gradient",
    "solution_covariance",
)
# Rescalings tried beside the optimal one: near it and far from it.
TRIED, SPREADS = 200, (0.01, 0.1, 1.0)
STEPS = 3


def identity_errors(features: Array, y: Array, generator: np.random.Generator) -> dict[str, float]:
    """An error for each of IDENTITIES: relative differences; of the two minima by how much the best
    of the rescalings tried is below nu*, zero where none is."""
    U, singular, Vt = np.linalg.svd(features, full_matrices=False)
    eigs, Uy = singular**2, U.T @ y
    return {
        "proposition_3": _undercut(
            lambda nu: update_bound(nu, eigs, Uy), optimal_for_update(Uy), generator
        ),
        "proposition_4": _spectrum_error(features),
        "proposition_14": _undercut(
            lambda nu: solution_bound(nu, eigs, Uy), optimal_for_solution(eigs, Uy), generator
        ),
        "natural_gradient": _natural_gradient_error(features, y, 0.5 / eigs[0]),
        "solution_covariance": _covariance_error(features, eigs, array(Vt)),
    }


def _undercut(
    bound: Callable[[Array], float], best: Array, generator: np.random.Generator
) -> float:
    least = min(
        bound(best * np.exp(spread * generator.normal(size=len(best))))
        for spread in SPREADS
        for _ in range(TRIED)
    )
    return max(0.0, 1.0 - least / bound(best))


def _spectrum_error(features: Array) -> float:
    """The error of the non-zero eigenvalues, and of Phi v_j / sqrt(lambda_j) as unit vectors."""
    K, G = features @ features.T, features.T @ features
    count = min(features.shape)
    of_kernel, of_metric = eigenvalues(K)[:count], eigenvalues(G)[:count]
    spectra = np.abs(of_kernel - of_metric).max() / of_metric[0]
    values, V = np.linalg.eigh(G)
    functions = features @ V[:, -count:] / np.sqrt(values[-count:])
    return float(max(spectra, np.abs(functions.T @ functions - np.eye(count)).max()))


def _natural_gradient_error(features: Array, y: Array, eta: float) -> float:
    state, worst = explicit_start(features), 0.0
    for _ in range(STEPS):
        after = explicit_step(state, y, eta, Kappa.grad_norm)
        update = original_weights(after) - original_weights(state)
        expected = natural_gradient_update(state, features, y, eta)
        worst = max(worst, float(np.linalg.norm(update - expected) / np.linalg.norm(expected)))
        state = after
    return worst


def _covariance_error(features: Array, eigs: Array, Vt: Array) -> float:
    """The solutions are linear in the labels: their covariance is S S^T, S column by column."""
    solver = np.column_stack(
        [min_norm_solution(features, labels) for labels in np.eye(len(features))]
    )
    expected = (Vt.T / eigs) @ Vt
    return float(np.linalg.norm(solver @ solver.T - expected) / np.linalg.norm(expected))
