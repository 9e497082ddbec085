"""How often the sign of a linear fit of random features has the class right.

Appendix B.1 of "An Adaptive Tangent Feature Perspective of Neural Networks" (LeJeune and
Alemohammad) has 95.2 %.

ntkexp study +exp=adaptive/targets
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ntkexp.data.fitted_digits import FittedDigits, TargetFit, fitted
from ntkexp.data.images.sources import read
from ntkexp.options import MOST_SEEDS, SEED, count, option
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study

TARGETS = Table(
    "threshold_targets",
    "the share of images whose digit the sign of the linear target tells, of one seed's points and "
    "features",
    {
        "seed": int64("of points and features"),
        "fit": string("`least_squares` or `sgd`"),
        "split": string("`train`, the points of the fit, or `test`, those of MNIST's test set"),
        "accuracy": float64("0 to 1"),
    },
)


@dataclass
class ThresholdTargets(Study):
    """Digits 2 and 3, features of 784-128-128."""

    tables: ClassVar = (TARGETS,)
    small: ClassVar = {"seeds": 3}

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(10, count("draws", most=MOST_SEEDS), "draws of the random features")
    train_examples: int = option(500, count("examples"), "training images")

    def files(self) -> Mapping[str, str]:
        return FittedDigits().files()

    def parts(self) -> list[Part]:
        return [partial(self._of_seed, self.seed + index) for index in range(self.seeds)]

    def _of_seed(self, seed: int) -> Found:
        rows: list[tuple[str, str, float]] = []
        for fit in TargetFit:
            config = FittedDigits(fit=fit, train_examples=self.train_examples)
            both = fitted(config, seed, read("mnist", "train"), read("mnist", "test"))
            for split, digits in zip(("train", "test"), both, strict=True):
                rows.append((fit.value, split, digits.accuracy))
        fits, splits, accuracies = map(list, zip(*rows, strict=True))
        columns = {"fit": fits, "split": splits, "accuracy": accuracies}
        return {TARGETS.name: {"seed": seed, **columns}}
