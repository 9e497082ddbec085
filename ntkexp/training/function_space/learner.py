"""A linearised network trained in function space (ntkexp/training/function_space/stack.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.config import TrainConfig
from ntkexp.data import Split
from ntkexp.data.batches import Batches, Endless
from ntkexp.models.base import BatchNorm
from ntkexp.objectives.evaluate import judged
from ntkexp.probes import NetworkView, Probe, Update
from ntkexp.tangent import TangentKernel, pull_back
from ntkexp.training.function_space.frozen_kernels import FrozenKernels, frozen_kernels
from ntkexp.training.function_space.stack import Coefficients, FunctionStack
from ntkexp.training.learners.learner import BeforeUpdate
from ntkexp.training.learners.stacked_batches import StackedBatches
from ntkexp.training.prepared import NetworkOnData
from ntkexp.transforms.linearise import Linearised

EXAMPLES_AT_ONCE = 500


class FunctionLearner:
    """Trains the coefficients a. The weights theta_0 + J_0^T a are computed when someone asks.
    `model` is the linearised network; its weights are up to date only after that."""

    route = "function"
    hides: frozenset[str] = frozenset()
    network = None

    def __init__(self, prepared: NetworkOnData, batches: Batches | Endless) -> None:
        assert isinstance(prepared.model, Linearised) and isinstance(batches, Batches)
        self.prepared = prepared
        self.config, self.dataset = prepared.config, prepared.dataset
        self.model: nn.Module = prepared.model
        self.linearised = prepared.model
        self.objective, self.probe_batches = prepared.objective, prepared.batches
        self.batches = batches
        like = self.dataset.train.inputs
        self.a = like.new_zeros(len(like) * self.objective.outputs, requires_grad=True)
        self.update = self.config.optim.build([self.a])
        self._stack: FunctionStack | None = None
        self._followed: Tensor | None = None
        self._kernels_seen: dict[str, TangentKernel] = {}

    @cached_property
    def kernels(self) -> FrozenKernels:
        return self._kernels_in(None)

    def _kernels_in(self, folder: Path | None) -> FrozenKernels:
        return frozen_kernels(
            self.linearised.start,
            self.dataset.train,
            self.dataset.test,
            evaluated(self.dataset.test, self.config.evaluate.test_examples),
            architecture=str(self.config.model),
            keeps_start=self.linearised.keeps_start,
            folder=folder,
            progress=self.config.progress,
        )

    @property
    def coefficients(self) -> Coefficients:
        return Coefficients(self.a, self.update, self.kernels, self.batches)

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        train = self.dataset.train
        inputs, targets = self.batches.take(step, train.inputs, train.targets)
        return inputs, targets

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
        return judged(
            self._outputs_of(split),
            self.dataset.train if split == "train" else self.dataset.test,
            self.objective,
            **self.prepared.how_evaluated(split),
        )

    def _outputs_of(self, split: str) -> Callable[[slice], Tensor]:
        kernel, start = self.kernels.to_train(split), self.kernels.start(split)

        def outputs_of(chosen: slice) -> Tensor:
            first = start[chosen]
            outputs = first.shape[1]
            rows = slice(chosen.start * outputs, chosen.stop * outputs)
            return first + (kernel[rows] @ self.a).view(first.shape)

        return outputs_of

    def update_to_see(self, step: int, lr: float) -> Update:
        """The coming update for probes; its norm is |eta J_0^T v| = eta sqrt(v^T K v)."""
        (velocity,) = self.update.memory["velocity"]
        squared = velocity @ (self.kernels.train @ velocity)
        return Update(
            step=step,
            seed=self.config.seed,
            model=self.linearised.start,
            step_norm=lr * squared.clamp(min=0).sqrt(),
            batches=self.probe_batches,
        )

    def view(self, **facts: Any) -> NetworkView:
        return FunctionView(
            self,
            self.model,
            self.dataset,
            self.objective,
            kernel_of=self.linearised.start,
            kernels_seen=self._kernels_seen,
            batch_statistics=self.config.probing.batch_norm is BatchNorm.train,
            seed=self.config.seed,
            batches=self.probe_batches,
            optimiser=self.update.state,
            **facts,
        )

    def state(self) -> dict[str, Any]:
        return {"coefficients": self.a.detach().clone(), "optim": self.update.state()}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Any]) -> None:
        self.a.copy_(state["coefficients"])
        self.update.restore(state["optim"])

    def weights(self) -> dict[str, Tensor]:
        return dict(self.followed().state_dict())

    def why_alone(self) -> Iterator[str]:
        return iter(())

    def stack(self, learners: Sequence[Any]) -> FunctionStack:
        of_each = [learner.coefficients for learner in learners]
        return FunctionStack(of_each, StackedBatches(learners), self.objective)

    def followed(self) -> Linearised:
        """The linearised network at theta_0 + J_0^T a, by one backward through all training
        examples."""
        if self._followed is None or not torch.equal(self._followed, self.a):
            self.linearised.move_to(self._pulled_back())
            self._followed = self.a.detach().clone()
        return self.linearised

    def _pulled_back(self) -> dict[str, Tensor]:
        inputs = self.dataset.train.inputs
        along = self.a.detach().view(len(inputs), -1)
        change: dict[str, Tensor] = {}
        for first in range(0, len(inputs), EXAMPLES_AT_ONCE):
            part = slice(first, first + EXAMPLES_AT_ONCE)
            pulled = pull_back(self.linearised.start, inputs[part], along[part])
            change = {name: change[name] + g if change else g for name, g in pulled.items()}
        return change


class FunctionLearnerOnDisk(FunctionLearner):
    """Trains the coefficients with a kernel larger than memory, in a file; test examples are sent
    through the network."""

    route = "disk"

    @cached_property
    def kernels(self) -> FrozenKernels:
        return self._kernels_in(kernel_folder(self.config))

    def _outputs_of(self, split: str) -> Callable[[slice], Tensor]:
        if split == "train":
            return super()._outputs_of(split)
        linearised, inputs = self.followed(), self.dataset.test.inputs
        return lambda chosen: linearised(inputs[chosen])


def kernel_folder(config: TrainConfig) -> Path:
    """Beside the runs, in a folder that no list of runs shows."""
    return Path(config.paths.outputs) / ".kernels"


class FunctionView(NetworkView):
    """A look at a run in function space: its weights are found when a probe asks for them."""

    def __init__(self, learner: FunctionLearner, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self._learner = learner

    def network(self, role: str = "model") -> nn.Module:
        if role == "model":
            self._learner.followed()
        return super().network(role)

    def outputs(self, batch: str) -> Tensor:
        self._learner.followed()
        return super().outputs(batch)


def evaluated(split: Split, examples: int | None) -> int:
    """The number of examples of a split that are evaluated."""
    return min(examples or len(split), len(split))
