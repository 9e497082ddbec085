"""Figure 5.4 of George's thesis: what the quadratic model and its linearisation learn first.

ntkexp study +exp=lazy/quadratic_examples

Closed forms: ntkexp/theory/lazy/quadratic_model.py. In Example 2 all modes but one have one
singular value, so that their basis is open, and the order of learning depends on it: `lapack` is
the one that a numerical library happens to find, in `two_modes` the labels lie in two modes, and
`rotation` are draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.options import SEED, Rule, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Study

PLACE = {
    "example": int64("1, 2 or 3 of section 5.4.4"),
    "basis": string("of equal modes: `lapack`, `two_modes` or `rotation`"),
    "draw": int64("number of the rotation, else 0"),
    "regime": string("`non_linear` or `linearised`"),
}
CURVES = Table(
    "quadratic_curves",
    "Mean loss of a group of training examples at a time of gradient flow, from the closed form.",
    PLACE
    | {
        "time": float64("of gradient flow on the sum of the losses"),
        "group": string("`majority` or `minority`; in Example 1 the number of the example"),
        "loss": float64("half the squared error, mean over the group"),
    },
)
LEVELS = Table(
    "quadratic_levels",
    "Mean loss of the minority when that of the majority first is at a level.",
    PLACE
    | {
        "level": float64("mean loss of the majority"),
        "time": float64("when it is reached"),
        "minority": float64("mean loss of the minority then"),
    },
)
LEVEL = Rule(lambda level: 0.01 <= level < 0.5, "from 0.01 to below 0.5")


@dataclass
class QuadraticExamples(Study):
    """Examples 1 to 3, by default with the constants of the authors' code."""

    tables: ClassVar = (CURVES, LEVELS)

    sigma: float = option(1e-3, positive(0.1))  # every w_l^2 at the start
    mu: list[float] = option([9.0, 8.0, 7.0, 6.0, 5.0], each(positive(1e6)))  # Example 1
    n: int = option(20, whole(3, 1000, "examples"))
    q: int = option(5, count("examples"))  # of the minority
    noise_eta: float = option(5.0, positive(1e3))  # Example 2
    spurious_eta: float = option(10.0, positive(1e3))  # Example 3
    core: float = option(1.0, positive(1e3))  # lambda of Example 3
    rotations: int = option(20, whole(0, 1000, "rotations"))
    seed: int = option(0, SEED)
    levels: list[float] = option([0.4, 0.3, 0.2, 0.1], each(LEVEL))
    points: int = option(300, whole(10, 100_000, "times"))

    def check(self, config: Any = None) -> None:
        if self.mu != sorted(self.mu, reverse=True) or not self.mu:
            raise UserError(f"study.mu={self.mu}: Example 1 has them falling; expected [9,8,...]")
        if self.q >= -(-self.n // 2):
            raise UserError(
                f"study.q={self.q}: no minority of study.n={self.n} examples; expected fewer"
            )

    def compute(self) -> Found:
        from ntkexp.studies.computations.quadratic_examples import frames

        return frames(self)
