"""Figure 2 of "An Adaptive Tangent Feature Perspective of Neural Networks" (LeJeune and
Alemohammad): what penalties of M make of the coefficients.

ntkexp study +exp=adaptive/penalties
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ntkexp.errors import UserError
from ntkexp.options import count, option, positive
from ntkexp.results.table import Table, float64, string
from ntkexp.studies.base import Found, Study
from ntkexp.theory.adaptive.penalties import Fixed, Joint, Penalty, Power, effective

PENALTIES = Table(
    "effective_penalties",
    "the effective penalty omega~(v) of a coefficient, of equation (12)",
    {
        "penalty": string(
            "`square` (v-1)^2, `absolute` |v-1|, `joint` both together, or `none`, which is v^2"
        ),
        "v": float64("the size of the coefficient, from 0"),
        "value": float64("omega~(v), what is paid for it"),
        "z": float64("how far M stretches it, the minimiser of (12)"),
    },
)


@dataclass
class EffectivePenalties(Study):
    """v from `least` to `most` in equal ratios, and 0."""

    tables: ClassVar = (PENALTIES,)

    least: float = option(1e-3, positive(1e6), "the smallest v above 0")
    most: float = option(100.0, positive(1e6), "the largest v")
    points: int = option(400, count("points", most=1_000_000), "values of v")

    def check(self, config: Any = None) -> None:
        if self.least >= self.most:
            raise UserError(f"study.least={self.least}: expected less than study.most={self.most}")

    def compute(self) -> Found:
        v = np.concatenate([[0.0], np.geomspace(self.least, self.most, self.points)])
        penalties: dict[str, Penalty] = {
            "square": Power(2),
            "absolute": Power(1),
            "joint": Joint(Power(2), Power(1)),
            "none": Fixed(),
        }
        kinds = penalties.values()
        return {
            PENALTIES.name: {
                "penalty": np.repeat([*penalties], len(v)),
                "v": np.tile(v, len(penalties)),
                "value": np.concatenate([effective(penalty, v) for penalty in kinds]),
                "z": np.concatenate([penalty.minimiser(v) for penalty in kinds]),
            }
        }
