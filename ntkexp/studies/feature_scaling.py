"""Figure 9: minimum-norm solutions and two bounds as features go from white to anisotropic (B.5).

ntkexp study +exp=feature_scaling
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.options import MANY, SEED, Rule, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Part, Study

BOUNDS = Table(
    "scaling",
    "Test error and bounds of the minimum-norm solution on one subsample at scaling factor c.",
    {
        "c": float64("scaling factor, 0 to 1"),
        "subsample": int64("number of the subsample"),
        "test_error": float64("share of the other points that are wrong, 0 to 1"),
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


@dataclass
class FeatureScaling(Study):
    """Minimum-norm solutions of RBF features scaled from white to anisotropic."""

    small: ClassVar = {"points": 300, "features": 300, "subsamples": 20}
    tables: ClassVar = (BOUNDS, SOLUTIONS, SPECTRUM)

    seed: int = option(0, SEED)
    points: int = option(1000, count("points"))  # N, equally spaced in [-half_width, half_width]
    features: int = option(1000, count("features"))  # P random features
    half_width: float = option(5.0, positive(1e6))
    gamma: float = option(1.0, positive(1e6))  # of the RBF kernel exp(-gamma |x - x'|^2)
    n: int = option(50, count("training points"))  # training points of a subsample
    subsamples: int = option(100, count("subsamples"))
    # Labels are the sign of psi_j, counting from 0.
    label_mode: int = option(1, whole(0, MANY, "as a mode"))
    # Right singular vectors that span the plane of the scatter.
    plane: list[int] = option([1, 10], each(whole(0, MANY, "as a mode")))
    # At c = 1 the kernel of a subsample is singular to working precision.
    scales: list[float] = option(
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99],
        each(Rule(lambda c: 0 <= c < 1, "from 0 to below 1")),
    )

    def check(self, config: Any = None) -> None:
        """Refuse scalings and sizes for which there is no interpolating solution."""
        if not self.scales:
            raise UserError("study.scales: needs one c or more")
        modes = min(self.points, self.features)
        if not 1 <= self.n <= modes:
            raise UserError(
                f"study.n={self.n}: between 1 and {modes}, the lesser of study.points and "
                "study.features, for the kernel of n points to be invertible"
            )
        if len(self.plane) != 2:
            raise UserError(f"study.plane={self.plane}: two modes span a plane")
        for key, mode in (("label_mode", self.label_mode), *(("plane", j) for j in self.plane)):
            if not 0 <= mode < modes:
                raise UserError(f"study.{key}: mode {mode} is not between 0 and {modes - 1}")
        kernels = self.subsamples * (self.n**2 + self.points)
        refuse_beyond(
            f"study.points={self.points}",
            f"features of {self.points:,} x {self.features:,} and {self.subsamples:,} kernels",
            8 * (3 * self.points * self.features + self.points**2 + 3 * kernels),
            available_bytes(),
        )

    def parts(self) -> list[Part]:
        from ntkexp.studies.computations.feature_scaling import parts

        return parts(self)
