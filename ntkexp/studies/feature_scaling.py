"""Figure 9: minimum-norm solutions and two bounds as features go from white to anisotropic (B.5).

ntkexp study +exp=feature_scaling

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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler

from ntkexp.errors import UserError
from ntkexp.options import BELOW_ONE, MANY, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Found, Part, Study
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.supernat import scaled_spectrum

BOUNDS = Table(
    "scaling",
    "Test error and bounds of the minimum-norm solution on one subsample at scaling factor c.",
    {
        "c": float64("scaling factor, 0 to 1"),
        "subsample": int64("number of the subsample"),
        "test_error": float64("share of all points that are wrong, 0 to 1"),
        "l2_bound": float64("bound (78) with the common metric"),
        "optimised_bound": float64("the bound with the best metric for this subsample"),
        "common_basis_bound": float64("the bound with the best metric in the common basis"),
    },
)
SOLUTIONS = Table(
    "solutions",
    "One subsample's solution, less the mean over subsamples, along two right singular vectors.",
    {
        "c": float64("scaling factor, 0 to 1"),
        "subsample": int64("number of the subsample"),
        "first": float64("along the first of the two directions"),
        "second": float64("along the second"),
    },
)
SPECTRUM = Table(
    "spectrum",
    "Eigenvalue l_j of Phi Phi^T, in order from j = 0.",
    {
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
    },
)


# Outputs this small are rounding: where white features say nothing of a point, f is exactly zero.
ROUNDING = 1e-9


@dataclass
class FeatureScaling(Study):
    """Minimum-norm solutions of RBF features scaled from white to anisotropic."""

    small: ClassVar = {"points": 300, "features": 300, "subsamples": 20}
    tables: ClassVar = (BOUNDS, SOLUTIONS, SPECTRUM)

    seed: int = option(0, SEED, "the start of all random numbers")
    points: int = option(1000, count("points"), "points on the line, N")
    features: int = option(1000, count("features"), "random features, P")
    half_width: float = option(5.0, positive(1e6), "the line goes from minus this to this")
    gamma: float = option(1.0, positive(1e6), "of the kernel exp(-gamma |x - x'|^2)")
    n: int = option(50, count("training points"), "training points of a subsample")
    subsamples: int = option(100, count("subsamples"), "random training sets")
    label_mode: int = option(1, whole(0, MANY, "as a mode"), "the mode whose sign the labels are")
    plane: list[int] = option(
        [1, 10], each(whole(0, MANY, "as a mode"), 2, most=2), "modes of the scatter"
    )
    scales: list[float] = option(
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99],
        each(BELOW_ONE, 1),
        "how far features are from white (0); below 1, where kernels are singular",
    )

    def check(self, config: Any = None) -> None:
        """Refuse scalings and sizes for which there is no interpolating solution."""
        modes = min(self.points, self.features)
        if not 1 <= self.n <= modes:
            raise UserError(
                f"study.n={self.n}: between 1 and {modes}, the lesser of study.points and "
                "study.features, for the kernel of n points to be invertible"
            )
        for key, mode in (("label_mode", self.label_mode), *(("plane", j) for j in self.plane)):
            if not 0 <= mode < modes:
                raise UserError(f"study.{key}: mode {mode} is not between 0 and {modes - 1}")

    def parts(self) -> list[Part]:
        """The spectrum, then every scaling factor."""
        psi, eigs = singular_functions(self)
        labels = np.where(psi[:, self.label_mode] >= 0, 1.0, -1.0)
        rows = subsamples(self)
        common = optimised_bounds(Fit(psi, eigs, labels, rows).kernels, labels[rows])

        def spectrum() -> Found:
            return {"spectrum": {"mode": np.arange(len(eigs)), "eigenvalue": eigs}}

        def at(c: float) -> Found:
            fit = Fit(psi, scaled_spectrum(eigs, c), labels, rows)
            labelled = {"c": c, "subsample": np.arange(self.subsamples)}
            bounds = {
                "test_error": fit.test_errors(),
                "l2_bound": fit.l2_bounds(),
                "optimised_bound": optimised_bounds(fit.kernels, labels[rows]),
                "common_basis_bound": common,
            }
            first, second = fit.solutions(self.plane).T
            return {
                "scaling": labelled | bounds,
                "solutions": labelled | {"first": first, "second": second},
            }

        return [spectrum, *(partial(at, c) for c in self.scales)]


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
