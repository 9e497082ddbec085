"""How well the relaxed model predicts, beside the network and its linearisation: ours, not a
statement of "An Adaptive Tangent Feature Perspective of Neural Networks" (LeJeune, Alemohammad).

ntkexp study +exp=adaptive/relaxed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.options import MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Part, Study

MOST_DIGITS = 12_089  # 2s and 3s among MNIST's training images

ACCURACY = Table(
    "relaxed_accuracy",
    "one model of one seed's first n digits 2 and 3, classes as -1 and +1",
    {
        "seed": int64("of weights and points"),
        "n": int64("training points"),
        "model": string("`network`, `linearised` (min-norm in its first features) or `relaxed`"),
        "train_error": float64("mean of (f - y)^2 on the training points"),
        "test_error": float64("the same on MNIST's test digits"),
        "accuracy": float64("share of test digits whose class the sign of f tells"),
    },
)


@dataclass
class RelaxedAccuracy(Study):
    """The relaxed model W -> M_1 W M_2 is solved for, with |v - 1|^2 on both sides."""

    tables: ClassVar = (ACCURACY,)
    small: ClassVar = {"seeds": 1, "width": 64, "iterations": 50}

    seed: int = option(0, SEED)  # seeds seed, seed + 1, ...
    seeds: int = option(10, count("seeds", most=MOST_SEEDS))
    sizes: list[int] = option(
        [125, 250, 500, 1000, 2000], each(whole(1, MOST_DIGITS, "training points"))
    )
    width: int = option(128, count("units"))
    iterations: int = option(200, count("iterations"))
    tolerance: float = option(1e-5, positive(1))
    error: float = option(1e-3, positive(1e6))  # at which the network's training ends
    lr: float = option(0.2, positive())
    batch_size: int = option(100, count("examples"))
    epochs: int = option(500, count("epochs"))  # at most

    def check(self, config: Any = None) -> None:
        if not self.sizes:
            raise UserError("study.sizes=[]: needs one number of training points or more")

    def parts(self) -> list[Part]:
        from functools import partial

        from ntkexp.studies.computations.relaxed_accuracy import of_size

        seeds = range(self.seed, self.seed + self.seeds)
        return [partial(of_size, self, seed, n) for seed in seeds for n in self.sizes]
