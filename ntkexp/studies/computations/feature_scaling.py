"""Figure 9: minimum-norm solutions and two bounds as features go from white to anisotropic (B.5).

Phi = sum_j sqrt(l_j) psi_j phi_j^T are random features of the RBF kernel at N equally spaced points
of [-a, a], labels are sign(psi_1) counting from psi_0 (psi_0 hardly changes sign), and the
spectrum is scaled to l_j^c = 1 + c (l_j - 1).

With N <= P the psi_j are complete, so a subsample's kernel is K_c = (1 - c) I + c K_1: its
eigenvectors, and with them the optimised bound sum_j |u_j^T y| / n, do not depend on c. At c = 0,
where K is the identity, any basis is one of eigenvectors and a numerical one is far from optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler

from ntkexp.studies.base import Frames, Part
from ntkexp.studies.feature_scaling import BOUNDS, SOLUTIONS, SPECTRUM, FeatureScaling
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.rescaling import scaled_spectrum

# Outputs this small are rounding: where white features say nothing of a point, f is exactly zero.
ROUNDING = 1e-9


def parts(config: FeatureScaling) -> list[Part]:
    """One scaling factor each; the first brings the spectrum, which all share."""
    psi, eigs = singular_functions(config)
    labels = np.where(psi[:, config.label_mode] >= 0, 1.0, -1.0)
    rows = subsamples(config)
    common = optimised_bounds(Fit(psi, eigs, labels, rows).kernels, labels[rows])

    def at(c: float) -> Frames:
        fit = Fit(psi, scaled_spectrum(eigs, c), labels, rows)
        each = {"c": c, "subsample": np.arange(config.subsamples)}
        bounds = {
            "test_error": fit.test_errors(),
            "l2_bound": fit.l2_bounds(),
            "optimised_bound": optimised_bounds(fit.kernels, labels[rows]),
            "common_basis_bound": common,
        }
        first, second = fit.solutions(config.plane).T
        return {
            "scaling": BOUNDS.frame(each | bounds),
            "solutions": SOLUTIONS.frame(each | {"first": first, "second": second}),
        }

    def spectrum() -> Frames:
        return {"spectrum": SPECTRUM.frame({"mode": np.arange(len(eigs)), "eigenvalue": eigs})}

    return [spectrum, *(partial(at, c) for c in config.scales)]


def singular_functions(config: FeatureScaling) -> tuple[Array, Array]:
    """psi_j as columns (points, modes) and l_j of the random features."""
    x = np.linspace(-config.half_width, config.half_width, config.points)[:, None]
    sampler = RBFSampler(gamma=config.gamma, n_components=config.features, random_state=config.seed)
    psi, singular_values, _ = np.linalg.svd(array(sampler.fit_transform(x)), full_matrices=False)
    return psi, singular_values**2


def subsamples(config: FeatureScaling) -> NDArray[np.int64]:
    """Indices (subsamples, n) of the training points, without replacement within each."""
    generator = np.random.default_rng(config.seed)
    return np.stack(
        [generator.choice(config.points, config.n, replace=False) for _ in range(config.subsamples)]
    )


@dataclass(frozen=True)
class Fit:
    """The minimum-norm solutions w = Phi_S^T K_S^{-1} y_S of all subsamples S at one scaling."""

    psi: Array
    eigs: Array
    labels: Array
    rows: NDArray[np.int64]

    @cached_property
    def kernel(self) -> Array:
        """Phi Phi^T on all points."""
        return array((self.psi * self.eigs) @ self.psi.T)

    @cached_property
    def kernels(self) -> Array:
        """K_S, (subsamples, n, n)."""
        return array(self.kernel[self.rows[:, :, None], self.rows[:, None, :]])

    @cached_property
    def duals(self) -> Array:
        """K_S^{-1} y_S at the points of S, zero at the others: (subsamples, points)."""
        duals = np.zeros((len(self.rows), len(self.psi)))
        solved = np.linalg.solve(self.kernels, self.labels[self.rows][..., None])[..., 0]
        np.put_along_axis(duals, self.rows, solved, axis=1)
        return duals

    def solutions(self, plane: list[int]) -> Array:
        """phi_j^T w = sqrt(l_j) psi_j^T (dual) for the modes of the plane, less its mean."""
        w = np.sqrt(self.eigs[plane]) * (self.duals @ self.psi[:, plane])
        return array(w - w.mean(axis=0))

    def test_errors(self) -> Array:
        """The share of all points on the wrong side; an output of zero is half an error."""
        outputs = self.duals @ self.kernel
        wrong = np.where(np.abs(outputs) < ROUNDING, 0.5, outputs * self.labels < 0)
        return array(wrong.mean(axis=1))

    def l2_bounds(self) -> Array:
        """(|w| / n) sqrt(Tr K_S), which is (60) with A = Id; |w|^2 = y_S^T K_S^{-1} y_S."""
        norms = np.sqrt(self.duals @ self.labels)
        traces = np.trace(self.kernels, axis1=1, axis2=2)
        return array(norms * np.sqrt(traces) / self.rows.shape[1])


def optimised_bounds(kernels: Array, labels: Array) -> Array:
    """sum_j |u_j^T y| / n, the least bound of Proposition 14, in the eigenbasis of each kernel."""
    vectors = np.linalg.eigh(kernels)[1]
    projections = np.einsum("snj,sn->sj", vectors, labels)
    return array(np.abs(projections).sum(axis=1) / labels.shape[1])
