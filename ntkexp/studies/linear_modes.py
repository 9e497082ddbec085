"""Linear regression learns its modes one by one (Propositions 7 and 9, appendix A.5.2).

ntkexp study +exp=linear_modes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.options import SEED, count, option, positive
from ntkexp.results.table import STEP, Table, float64, int64
from ntkexp.studies.base import Frames, Study

CURVES = Table(
    "linear_modes",
    "Coefficient f_jt of one mode after `step` iterations: run in weight space, and by (51).",
    {
        "step": STEP,
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
        "target": float64("what it converges to"),
    },
)
FUNCTION = Table(
    "linear_function",
    "Largest difference over training and other points between the run and (49).",
    {"step": STEP, "difference": float64("largest absolute")},
)
CONSTANTS = Table(
    "time_constants",
    "Iterations in which a mode's residual falls by e at eta = 1 / lambda_1; printed: the paper's.",
    {
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
        "printed": float64("by the formula as printed"),
    },
)


@dataclass
class LinearModes(Study):
    """Linear regression learns its modes one by one."""

    small: ClassVar = {"iterations": 500}
    tables: ClassVar = (CURVES, FUNCTION, CONSTANTS)
    # The first mode is learnt at once: the printed formula has infinity there.
    may_be_infinite: ClassVar = {"time_constants": ("printed",)}

    seed: int = option(0, SEED)
    n: int = option(20, count("training examples"))  # training examples, and modes
    features: int = option(40, count("features"))  # P, at least n
    decay: float = option(1.5, positive(100))  # at zero all modes are alike
    # Where Proposition 7 is held besides the training points.
    other_points: int = option(20, count("points"))
    iterations: int = option(2000, count("iterations"))

    def check(self, config: Any = None) -> None:
        if self.features < self.n:
            raise UserError(
                f"study.features={self.features}: at least the study.n={self.n} examples, so that "
                "every one of n modes has an eigenvalue"
            )
        largest = max(self.n, self.other_points)
        refuse_beyond(
            f"study.features={self.features}",
            f"{self.iterations:,} iterations of its weights and {largest:,} points of its features",
            8 * self.features * (self.iterations + 3 * largest)
            + 8 * 3 * self.n * (self.iterations + self.n + self.other_points),
            available_bytes(),
        )

    def compute(self) -> Frames:
        from ntkexp.studies.computations.linear_modes import frames

        return frames(self)
