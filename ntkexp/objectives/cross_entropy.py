"""Cross-entropy over classes, one output each.

ntkexp train +exp=mlp_mnist objective=cross_entropy
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from ntkexp.objectives import metrics
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.metrics import Metric


@dataclass
class CrossEntropy(Objective):
    """l(f, y) = -log softmax(f)_y, for a class y."""

    measures: ClassVar = ("mean_margin", "least_margin")

    def outputs(self, inputs: tuple[int, ...], usual: int) -> int:
        """Two classes have two outputs, where they usually have one."""
        return max(usual, 2)

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        return CrossEntropyLoss(self.refuse_numbers(targets, classes))


@dataclass(frozen=True)
class CrossEntropyLoss:
    outputs: int

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, targets, reduction="none")

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        log_shares = outputs.detach().log_softmax(-1)
        chosen = targets.unsqueeze(-1)
        losses = -log_shares.gather(-1, chosen).squeeze(-1)
        slopes = log_shares.exp_()
        slopes.scatter_add_(-1, chosen, slopes.new_full((), -1.0).expand(chosen.shape))
        return losses, slopes

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.argmax(1) == targets

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        shares = outputs.detach().softmax(1).to(generator.device)
        return shares.multinomial(1, generator=generator)[:, 0].to(outputs.device)

    def roots(self, outputs: Tensor) -> Iterator[Tensor]:
        shares = outputs.detach().softmax(1)
        for label in range(self.outputs):
            slopes = shares.clone()
            slopes[:, label] -= 1
            yield slopes * shares[:, label, None].sqrt()

    def label_matrix(self, targets: Tensor) -> Tensor:
        return functional.one_hot(targets, self.outputs)

    def metrics(self) -> dict[str, Metric]:
        return metrics.of_margins(metrics.class_margins)
