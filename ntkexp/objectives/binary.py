"""Binary cross-entropy on the one output of a network that tells two classes apart.

ntkexp train +exp=disk objective=binary
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.objectives import metrics
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.metrics import Metric, signs


@dataclass
class Binary(Objective):
    """l(f, y) = log(1 + exp(-s f)) with s = 2 y - 1, for y in {0, 1} and one output."""

    measures: ClassVar = ("area_under_curve", "mean_margin", "least_margin")

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        if (count := self.refuse_numbers(targets, classes)) != 2:
            raise UserError(
                f"objective=binary: takes two classes, the data have {count}; "
                "objective=cross_entropy takes more"
            )
        return BinaryLoss()


@dataclass(frozen=True)
class BinaryLoss:
    """The one output is the log-odds of class 1."""

    outputs: int = 1

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(
            outputs[..., 0], targets.to(outputs.dtype), reduction="none"
        )

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = outputs.detach()
        slopes = logits[..., 0].sigmoid() - targets.to(logits.dtype)
        return self.losses(logits, targets), slopes.unsqueeze(-1)

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs[:, 0] > 0) == (targets > 0)

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        shares = outputs.detach()[:, 0].sigmoid().to(generator.device)
        return shares.bernoulli(generator=generator).long().to(outputs.device)

    def roots(self, outputs: Tensor) -> Iterator[Tensor]:
        shares = outputs.detach().sigmoid()
        yield (shares * (1 - shares)).sqrt()

    def label_matrix(self, targets: Tensor) -> Tensor:
        return signs(targets)[:, None]

    def metrics(self) -> dict[str, Metric]:
        area = {"area_under_curve": metrics.area_under_curve}
        return area | metrics.of_margins(metrics.binary_margins)
