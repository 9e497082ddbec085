"""The remark on LoRA in section 4 of "An Adaptive Tangent Feature Perspective of Neural Networks"
(LeJeune and Alemohammad): changes of weights of low rank, and the features they adapt.

ntkexp study +exp=adaptive/low_rank
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.fitted_digits import Targets
from ntkexp.options import MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Part, Study

FULL = 0

LOW_RANK = Table(
    "low_rank",
    "one network whose changes of weights have at most a rank, trained to a common error",
    {
        "seed": int64("of weights, points and targets"),
        "rank": int64("of every layer's change; 0 is no limit"),
        "epochs": int64("until the training error was below the common one, or the limit"),
        "train_error": float64("mean of (f - y)^2 on the training points"),
        "test_error": float64("the same on others"),
        "wrong": float64("share of others where f has not the sign of y"),
        "cosine_full": float64("of its adapted kernel with that of the unlimited network"),
        "cosine_initial": float64("of its adapted kernel with the initial one"),
        "cosine_label": float64("of its adapted kernel with its label kernel, r = f - f_0"),
        "distance": float64("norm of the change of all weights"),
    },
)


@dataclass
class LowRankChange(Study):
    """Figure 1's network with W = W_0 + U V^T, U = 0 and V ~ N(0, 1 / fan_in) at first."""

    tables: ClassVar = (LOW_RANK,)
    small: ClassVar = {"seeds": 2, "train_examples": 100, "width": 64}

    seed: int = option(0, SEED)  # seeds seed, seed + 1, ...
    seeds: int = option(10, count("networks of each rank", most=MOST_SEEDS))
    ranks: list[int] = option([1, 2, 4, 8, 16], each(whole(1, 100_000, "as a rank")))
    targets: Targets = Targets.sign
    train_examples: int = option(500, count("examples"))
    width: int = option(128, count("units"))
    error: float = option(1e-3, positive(1e6))  # mean (f - y)^2 at which training ends
    lr: float = option(0.2, positive())  # of |f - y|^2 / 2, with momentum 0.9
    batch_size: int = option(100, count("examples"))
    epochs: int = option(2000, count("epochs"))  # at most
    points: int = option(50, whole(2, 100_000, "points"))

    def parts(self) -> list[Part]:
        from functools import partial

        from ntkexp.studies.computations.low_rank_change import of_seed

        return [partial(of_seed, self, self.seed + index) for index in range(self.seeds)]
