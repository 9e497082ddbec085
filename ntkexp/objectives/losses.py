"""What a network f is trained to lower, and what counts as a right answer.

    cross-entropy    l(f, y) = -log softmax(f)_y              y a class
    binary           l(f, y) = log(1 + exp(-s f)), s = 2y - 1  y in {0, 1}, one output
    squared error    l(f, y) = |f - y|^2 / 2                  y numbers, or classes as e_y or +-1

Outputs are (n, c), and targets (n,) or (n, c). A loss may also have `metrics()`, what else can be
measured of a whole set, by name (ntkexp/objectives/metrics.py): it is written where
`evaluate.metrics` asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from ntkexp.objectives import metrics
from ntkexp.objectives.metrics import Metric


class Loss(Protocol):
    """A loss per example; `outputs` is how many numbers a network gives for one."""

    @property
    def outputs(self) -> int: ...

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,): the loss of each example."""

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The losses and d loss / d outputs, without a graph, for any number of leading sizes."""

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,): whether each decision is right; not a number where nothing is decided."""

    def label_matrix(self, targets: Tensor) -> Tensor:
        """(n, c): the labels as numbers, for alignment with a kernel."""


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

    def label_matrix(self, targets: Tensor) -> Tensor:
        return functional.one_hot(targets, self.outputs)

    def metrics(self) -> dict[str, Metric]:
        return metrics.of_margins(metrics.class_margins)


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

    def label_matrix(self, targets: Tensor) -> Tensor:
        return signs(targets)[:, None]

    def metrics(self) -> dict[str, Metric]:
        area = {"area_under_curve": metrics.area_under_curve}
        return area | metrics.of_margins(metrics.binary_margins)


@dataclass(frozen=True)
class SquaredErrorLoss:
    """Half the squared distance; classes become the unit vectors, or signs for one output."""

    outputs: int

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.losses_of(outputs - self._numbers(outputs, targets))

    def losses_of(self, residuals: Tensor) -> Tensor:
        return residuals.square().sum(-1) / 2

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        residuals = outputs.detach() - self._numbers(outputs, targets)
        return self.losses_of(residuals), residuals

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return outputs.new_full((len(outputs),), torch.nan)
        if self.outputs == 1:
            return (outputs[:, 0] > 0) == (targets > 0)
        return outputs.argmax(1) == targets

    def label_matrix(self, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return targets if targets.dim() > 1 else targets[:, None]
        if self.outputs == 1:
            return signs(targets)[:, None]
        return functional.one_hot(targets, self.outputs)

    def metrics(self) -> dict[str, Metric]:
        return {
            "r_squared": lambda f, y: metrics.r_squared(f, self._numbers(f, y)),
            "mean_absolute_error": lambda f, y: metrics.mean_absolute_error(f, self._numbers(f, y)),
        }

    def _numbers(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The targets in the shape of the outputs, whatever leads."""
        if targets.is_floating_point() and targets.dim() == outputs.dim():
            return targets
        return self.label_matrix(targets.flatten()).view(outputs.shape).to(outputs.dtype)


def signs(targets: Tensor) -> Tensor:
    """+1 for class 1, -1 for class 0."""
    return torch.where(targets > 0, 1.0, -1.0)
