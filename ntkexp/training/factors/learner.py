"""A linearised network trained on the gradients of all examples (ntkexp/training/factors/stack.py).

Two products of small matrices an update, where forward mode takes two forwards and two backwards:
.43 of its time for an MLP, .045 for a LeNet5 (docs/measured). Any optimiser of ntkexp's own goes,
and no kernel is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches, Endless
from ntkexp.errors import UserError
from ntkexp.objectives.evaluate import judged
from ntkexp.probes import Probe
from ntkexp.training.factors.frozen_factors import FrozenFactors, frozen_factors
from ntkexp.training.factors.stack import FactorStack
from ntkexp.training.learners.learner import BeforeUpdate
from ntkexp.training.learners.network import NetworkLearner
from ntkexp.training.prepared import NetworkOnData
from ntkexp.transforms.linearise import Linearised


class FactorLearner(NetworkLearner):
    """Trains on stored gradients; the linearised network has the current weights at every step."""

    route = "factors"

    def __init__(self, prepared: NetworkOnData, batches: Batches | Endless) -> None:
        super().__init__(prepared, batches)
        assert isinstance(prepared.model, Linearised)
        if self.update.sees_forward or not self.update.stacks:
            lacks = (
                "looks at the forward of each minibatch, which transform.route=factors has not"
                if self.update.sees_forward
                else "updates no stack of weights, which transform.route=factors makes"
            )
            raise UserError(
                f"optim={self.config.optim.name}: {lacks}; expected transform.route=forward"
            )
        self.linearised = prepared.model
        self._stack: FactorStack | None = None

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        weights = self.linearised.network.named_parameters()
        return {name: weight for name, weight in weights if weight.requires_grad}

    @property
    def first(self) -> dict[str, Tensor]:
        weights = self.linearised.start.named_parameters()
        return {name: weight.detach() for name, weight in weights if weight.requires_grad}

    @cached_property
    def factors(self) -> FrozenFactors:
        return self._factors_of("train")

    def _factors_of(self, split: str) -> FrozenFactors:
        return frozen_factors(
            self.linearised.start,
            self.dataset.train if split == "train" else self.dataset.test,
            str(self.config.model),
            self.linearised.keeps_start,
        )

    @cached_property
    def _of_test(self) -> FrozenFactors:
        return self._factors_of("test")

    def step(
        self, step: int, lr: float, watching: Sequence[Probe], before_update: BeforeUpdate
    ) -> tuple[Tensor, ...]:
        if self._stack is None:
            self._stack = self.stack([self])
        outputs, targets, loss = self._stack.compute(step)
        if watching:
            before_update(lr)
        self._stack.apply([lr])
        return loss[0], self.objective.correct(outputs[0], targets[0]).double().mean()

    def evaluate(self, split: str) -> dict[str, tuple[float, ...]]:
        train = split == "train"
        return judged(
            self._outputs_of(self.factors if train else self._of_test),
            self.dataset.train if train else self.dataset.test,
            self.objective,
            **self.prepared.how_evaluated(split),
        )

    def _outputs_of(self, factors: FrozenFactors) -> Callable[[slice], Tensor]:
        with torch.no_grad():
            first = self.first
            changes = {name: (w - first[name])[None] for name, w in self.trained.items()}

        def outputs_of(chosen: slice) -> Tensor:
            moved = factors.gradients.at(chosen).push(changes)[0]
            return (factors.start[chosen] + moved).unsqueeze(1)

        return outputs_of

    def restore(self, state: Any) -> None:
        self._stack = None
        super().restore(state)

    def why_alone(self) -> Iterator[str]:
        """Nothing but what was refused at the beginning."""
        return iter(())

    def stack(self, learners: Sequence[Any]) -> FactorStack:
        return FactorStack(learners)
