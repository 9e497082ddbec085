"""The part of a training run that computes: a function to train, and one update of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from ntkexp.data import Dataset
from ntkexp.data.batches import Batches, Endless
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

    @property
    def network(self) -> nn.Module | None:
        """The network without a transform; None where its stack does without a forward."""

    @property
    def dataset(self) -> Dataset:
        """The examples that it sees."""

    @property
    def batches(self) -> Batches | Endless:
        """Those of each update."""

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

    def why_alone(self) -> Iterator[str]:
        """Reasons why it cannot be in a stack, each with its way out, to go behind `members`."""

    def stack(self, learners: Sequence[Any]) -> Stack:
        """Learners of its kind, itself among them, as one."""


class Stack(Protocol):
    """Several learners as one: a tensor for all, of which each one's own are views.

    `compute` and `apply` are the two halves of an update. `bursts` are taken where asking every
    learner for its state would take longer than an update: the losses alone are looked at.
    """

    bursts: bool

    def compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Take in the gradient of every learner on its minibatch.

        Returns outputs (M, b, c), targets (M, b, ...) and mean losses (M,), all of before the
        update.
        """

    def apply(self, lrs: Sequence[float]) -> None:
        """Make the update, every learner's by its own rate."""

    def release(self) -> None:
        """Give the learners tensors of their own again."""
