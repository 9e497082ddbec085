"""The solutions of Theorem 1, whose M is any matrix, and of Theorem 2, the model of a network,
in closed form and for features as they are.

In Theorem 2 each layer's W is multiplied from both sides, W -> M_1 W M_2.
W (P, Q) is a layer's change of weight, g its gradient by W in the same shape, and features are
(n, P, Q), so that f - f_0 = sum over layers of <g, B>, B = M_1 W M_2. (The paper writes gradients
transposed.) With B = U diag(d) V^T the solution is

    M_1 = U S_1 U^T,  W = U Sigma V^T,  M_2 = V S_2 V^T,

S_1, Sigma, S_2 by (15) of each singular value d_j, and 1 in all further directions (14).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.adaptive.diagonal import Layer, adapt_diagonal
from ntkexp.theory.adaptive.penalties import Joint, Penalty, effective
from ntkexp.theory.adaptive.solver import OuterProducts
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.linear_regression import min_norm_solution


@dataclass(frozen=True)
class Dense:
    """The gradients themselves, (n, P, Q)."""

    gradients: Array

    @property
    def shape(self) -> tuple[int, int]:
        _, P, Q = self.gradients.shape
        return P, Q

    def gram(self, M1: Array, M2: Array) -> Array:
        flat = (M1 @ self.gradients @ M2).reshape(len(self.gradients), -1)
        return array(flat @ flat.T)

    def combined(self, weights: Array, M1: Array, M2: Array) -> Array:
        return array(M1 @ np.tensordot(weights, self.gradients, 1) @ M2)


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


@dataclass(frozen=True)
class Factors:
    """The solution of one layer for a given B (14): full U (P, P), V (Q, Q), s_1 (P,), s_2 (Q,)."""

    U: Array
    V: Array
    s1: Array
    s2: Array
    sigma: Array  # (min(P, Q),)

    @property
    def left(self) -> Array:
        """M_1."""
        return array((self.U * self.s1) @ self.U.T)

    @property
    def right(self) -> Array:
        """M_2."""
        return array((self.V * self.s2) @ self.V.T)

    @property
    def weight(self) -> Array:
        """W."""
        k = len(self.sigma)
        return array((self.U[:, :k] * self.sigma) @ self.V[:, :k].T)


def layer_solution(B: ArrayLike, first: Penalty, second: Penalty) -> Factors:
    """M_1, W and M_2 of least penalty whose product is B: Lemma 5, equations (14) and (15)."""
    matrix = array(B)
    P, Q = matrix.shape
    U, d, Vt = np.linalg.svd(matrix)
    one, sigma, two = scalar_solution(first, second, d)
    s1, s2 = np.ones(P), np.ones(Q)
    s1[: len(d)], s2[: len(d)] = one, two
    return Factors(U, array(Vt.T), s1, s2, sigma)


def adapted_kernel(gradients: ArrayLike, layer: Factors) -> Array:
    """A layer's part of K, exactly: the sum over all pairs (i, j) of singular directions

        K_l = K_0l + sum_i sum_j (s_1i^2 s_2j^2 - 1) g_ij(x) g_ij(x'),  g_ij = u_i^T g v_j.

    M_1 and M_2 have u_i v_j^T as eigenvectors for every i and j. Equation (17) as printed has
    i = j alone (`adapted_kernel_paper_eq17`).
    """
    g = _in_basis(gradients, layer)
    K0 = _gram(g)
    weights = layer.s1[:, None] ** 2 * layer.s2**2 - 1
    return array(K0 + np.einsum("nij,ij,mij->nm", g, weights, g))


def adapted_kernel_paper_eq17(gradients: ArrayLike, layer: Factors) -> Array:
    """A layer's part of K as equations (17) and (18) print it: one sum, over j <= min(P, Q).

    It is J M M^T J^T where Q = 1 and M_2 = 1, as in the last layer of (19), and not otherwise.
    """
    g = _in_basis(gradients, layer)
    k = len(layer.sigma)
    pairs = np.arange(k)
    diagonal = g[:, pairs, pairs]
    weights = layer.s1[:k] ** 2 * layer.s2[:k] ** 2 - 1
    return array(_gram(g) + (diagonal * weights) @ diagonal.T)


def _in_basis(gradients: ArrayLike, layer: Factors) -> Array:
    return array(np.einsum("pi,npq,qj->nij", layer.U, array(gradients), layer.V, optimize=True))


def _gram(g: Array) -> Array:
    flat = g.reshape(len(g), -1)
    return array(flat @ flat.T)


def scalar_solution(first: Penalty, second: Penalty, d: ArrayLike) -> tuple[Array, Array, Array]:
    """(s_1, sigma, s_2) of (15): least omega_1(s_1) + omega_2(s_2) + sigma^2, s_1 sigma s_2 = d."""
    joint, value = Joint(first, second), array(d)
    z = joint.minimiser(value)
    one, two = joint.split(z)
    return one, array(value / z), two


def columns(features: Array) -> Layer:
    """Features (n, P) as those of a layer with one input, which is 1."""
    return Layer(OuterProducts(features, np.ones((len(features), 1))))


def diagonal_solution(
    features: ArrayLike, r: ArrayLike, penalty: Penalty, *, iterations: int = 500
) -> tuple[Array, list[float]]:
    """`adapt_diagonal` for features J (n, P): beta, and the falling objective."""
    solution = adapt_diagonal([columns(array(features))], r, penalty, iterations=iterations)
    return solution.beta[0].ravel(), solution.objectives
