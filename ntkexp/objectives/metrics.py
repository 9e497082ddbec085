"""Metrics of a whole set beside loss and accuracy.

    R^2             1 - sum |y - f|^2 / sum |y - y_mean|^2       of numbers
    margin          s f with s = 2y - 1, or f_y - max over k != y of f_k
    area under the receiver operating characteristic
                    P(f(x) > f(x')) + P(f(x) = f(x')) / 2        x of class 1, x' of class 0

The area is taken from the ranks of the outputs (Mann and Whitney 1947): with R the sum of the ranks
of the n_1 examples of class 1, equals sharing their mean rank, it is (R - n_1 (n_1 + 1) / 2) /
(n_1 n_0). A metric that a set does not define (one class, equal targets) is no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss

# A number from outputs (n, c) and the targets of the same examples.
Metric = Callable[[Tensor, Tensor], float]


def of_objective(objective: Loss, names: Sequence[str]) -> list[Metric]:
    """The metrics of these names; an objective has those that its `metrics()` gives, if any."""
    named: Mapping[str, Metric] = getattr(objective, "metrics", dict)()
    for name in names:
        if name not in named:
            takes = f"those of this objective: {', '.join(named)}" if named else "none: it has none"
            raise UserError(f"evaluate.metrics={name}: not known; expected {takes}")
        if names.count(name) > 1:
            raise UserError(f"evaluate.metrics: {name} is named twice; expected each once")
    return [named[name] for name in names]


def r_squared(outputs: Tensor, numbers: Tensor) -> float:
    f, y = outputs.double(), numbers.double()
    spread = float((y - y.mean(0)).square().sum())
    return 1 - float((y - f).square().sum()) / spread if spread > 0 else math.nan


def mean_absolute_error(outputs: Tensor, numbers: Tensor) -> float:
    """The mean over examples and outputs of |f - y|."""
    mean = (outputs.double() - numbers.double()).abs().mean()
    return float(mean)


def area_under_curve(outputs: Tensor, targets: Tensor) -> float:
    positive = targets > 0
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return math.nan
    _, place, count = torch.unique(outputs[:, 0], return_inverse=True, return_counts=True)
    ranks = count.cumsum(0).double() - (count.double() - 1) / 2
    total = float(ranks[place][positive].sum())
    return (total - ones * (ones + 1) / 2) / (ones * zeros)


def signs(targets: Tensor) -> Tensor:
    """+1 for class 1, -1 for class 0."""
    return torch.where(targets > 0, 1.0, -1.0)


def binary_margins(outputs: Tensor, targets: Tensor) -> Tensor:
    return signs(targets) * outputs[:, 0].double()


def class_margins(outputs: Tensor, targets: Tensor) -> Tensor:
    classes = targets[:, None]
    others = outputs.double().scatter(1, classes, -math.inf)
    return outputs.double().gather(1, classes)[:, 0] - others.amax(1)


def of_margins(margins: Callable[[Tensor, Tensor], Tensor]) -> dict[str, Metric]:
    return {
        "mean_margin": lambda outputs, targets: float(margins(outputs, targets).mean()),
        "least_margin": lambda outputs, targets: float(margins(outputs, targets).amin()),
    }
