"""The part of a training run that computes: a function to train, and one update of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from ntkexp.config import EvaluateConfig
from ntkexp.objectives.base import Loss
from ntkexp.objectives.metrics import of_objective
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import NetworkView, Probe, Update

# Called with the rate of an update when its change is known and nothing has moved yet.
BeforeUpdate = Callable[[float], None]


class Learner(Protocol):
    """One of the routes by which a function of the examples can be trained.

    `model` is that function as a module, `update` what its optimiser does. `route` is its name in
    checkpoints: a run goes on by the route by which it began. `hides` names what probes cannot see.
    """

    route: str
    hides: frozenset[str]
    model: nn.Module
    update: WeightUpdate

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the update after `step` updates."""

    def step(
        self, step: int, lr: float, watching: Sequence[Probe], before_update: BeforeUpdate
    ) -> tuple[Tensor, ...]:
        """Make one update; the loss and accuracy of its minibatch before it."""

    def evaluate(self, split: str) -> dict[str, tuple[float, ...]]:
        """Mean loss, accuracy and each of `evaluate.metrics` on a split, by subset."""

    def update_to_see(self, step: int, lr: float) -> Update:
        """The coming update, for probes of single updates."""

    def view(self, **facts: Any) -> NetworkView:
        """The run as probes see it."""

    def state(self) -> dict[str, Any]:
        """All that its updates change."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""

    def weights(self) -> dict[str, Tensor]:
        """The weights of the network, by name."""


def how_evaluated(config: EvaluateConfig, split: str, objective: Loss) -> dict[str, Any]:
    """The options of `judged` (ntkexp/objectives/evaluate.py) for a split."""
    return {
        "examples": config.train_examples if split == "train" else config.test_examples,
        "batch_size": config.batch_size,
        "subsets": config.subsets,
        "metrics": of_objective(objective, config.metrics),
    }
