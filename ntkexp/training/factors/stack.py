"""Linearised networks of one initialisation, trained on its gradients: M of them read each once.

    f_m(x_i) = f_0(x_i) + <w_m - w_0, g_i>,   gradient of the loss by w_m: sum_i s_mi g_i,

with g_i the gradient of the first network at example i and s = dl/df. Both are products with the
factors of the g_i (ntkexp/tangent/stored_factors.py); whatever the optimiser makes of the gradient,
it is that of the linearised network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.optim.update import one_or_each
from ntkexp.training.learners.stacked_batches import StackedBatches

if TYPE_CHECKING:
    from ntkexp.training.factors.learner import FactorLearner


class FactorStack:
    """M runs and one optimiser for all; each run's weights become views into the common ones."""

    bursts = False

    def __init__(self, runs: Sequence[FactorLearner]) -> None:
        self.runs, self.objective = runs, runs[0].objective
        self.factors = runs[0].factors
        if any(run.factors is not self.factors or run.batches != runs[0].batches for run in runs):
            raise UserError(
                "members: with transform.route=factors all begin with the same weights and see the "
                "same minibatches; expected members that differ in labels alone, or a sweep (-m)"
            )
        self.batches = StackedBatches(runs)
        self.first = runs[0].first
        trained = [run.trained for run in runs]
        self.weights = {
            name: torch.stack([weights[name].detach() for weights in trained]).requires_grad_()
            for name in self.first
        }
        for place, weights in enumerate(trained):
            for name, weight in weights.items():
                weight.data = self.weights[name].detach()[place]
        updates = [run.update for run in runs]
        self.update = type(updates[0]).of_members(updates, [*self.weights.values()])

    @torch.no_grad()
    def compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Take in the gradient of every run; outputs (M, b, 1), targets (M, b) and mean losses."""
        numbers, targets = self.runs[0].batches.indices(step), self.batches.targets(step)
        gradients = self.factors.gradients.at(numbers)
        moved = gradients.push({name: w - self.first[name] for name, w in self.weights.items()})
        outputs = (moved + self.factors.start[numbers]).unsqueeze(2)
        losses, slopes = self.objective.losses_and_slopes(outputs, targets)
        pulled = gradients.pull(slopes.squeeze(2) / len(numbers))
        self.update.take([pulled[name] for name in self.weights])
        for run in self.runs:
            run.update.updates = self.update.updates
        return outputs, targets, losses.mean(1)

    def apply(self, lrs: Sequence[float]) -> None:
        """Change the weights, every run's by its own rate."""
        self.update.apply(one_or_each(lrs, next(iter(self.weights.values()))))

    def release(self) -> None:
        """Give the runs tensors of their own again."""
        for run in self.runs:
            for weight in run.trained.values():
                weight.data = weight.data.clone()
            run.update.own_memory()
