"""A module trained by gradients that go back through it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches, Endless, crop_flip
from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.machine import on_gpu
from ntkexp.models.base import BatchNorm
from ntkexp.models.drawing import drawing_layers
from ntkexp.objectives.evaluate import evaluate
from ntkexp.optim import Precision, Schedule
from ntkexp.optim.observer import Forward, ForwardObserver, Passed, recorded
from ntkexp.probes import NetworkView, Probe, Update
from ntkexp.probes.view import evaluating
from ntkexp.seeds import derived_seed
from ntkexp.tangent import TangentKernel
from ntkexp.training.learners.captured import CannotRecordError, Captured
from ntkexp.training.learners.learner import BeforeUpdate, Stack
from ntkexp.training.prepared import NetworkOnData
from ntkexp.transforms.function import OfNetwork


class NetworkLearner:
    """Trains `prepared.model`: the network, or what a transform made of it."""

    route = "network"

    def __init__(self, prepared: NetworkOnData, batches: Batches | Endless) -> None:
        self.prepared = prepared
        self.config, self.dataset, self.model = prepared.config, prepared.dataset, prepared.model
        self.transformed, self.objective = prepared.transformed, prepared.objective
        self.probe_batches, self.batches = prepared.batches, batches
        self.config.optim.refuse(self.model)
        self.update = self.config.optim.build_for(self.model, self.objective)
        self.half = self.config.optim.precision is Precision.bf16
        if self.half and self.update.sees_forward:
            raise UserError(
                f"optim.precision=bf16: optim={self.config.optim.name} looks at the forward of "
                "each minibatch, in float32; expected float32"
            )
        self.hides = self.update.hides
        self.device = self.dataset.train.inputs.device
        self.layout = quick_layout(self.model, self.device)
        self.draws = bool(drawing_layers(self.model))
        self._captured: Captured | None = None
        self.recordable = True
        # The kernel of a function that is linear in its weights is the same at every look.
        linear = self.config.transform.linear
        self._kernels_seen: dict[str, TangentKernel] | None = {} if linear else None

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        """The examples of the update after `step` updates: a function of seed and step."""
        train = self.dataset.train
        inputs, targets = self.batches.take(step, train.inputs, train.targets)
        if self.dataset.augment is Augment.crop_flip:
            inputs = crop_flip(inputs, self.dataset.pad_value, self.config.seed, step)
        return inputs.contiguous(memory_format=self.layout), targets

    def step(
        self, step: int, lr: float, watching: Sequence[Probe], before_update: BeforeUpdate
    ) -> tuple[Tensor, ...]:
        inputs, targets = self.minibatch(step)
        indices = self.batches.indices(step)
        if not watching and self._repeats(inputs):
            if self._captured is None:
                self._record(inputs, targets, indices, lr)
            if self._captured is not None:
                return self._captured(inputs, targets, indices)
        loss, accuracy = self._gradients(step, inputs, targets, indices, watching)
        if watching:
            before_update(lr)
        self.update.apply(lr)
        return loss, accuracy

    def _gradients(
        self,
        step: int,
        inputs: Tensor,
        targets: Tensor,
        indices: Tensor,
        watching: Sequence[Probe] = (),
    ) -> tuple[Tensor, Tensor]:
        """Take in the gradient of a minibatch; its loss and accuracy."""
        observers: list[ForwardObserver] = [*watching]
        if self.update.sees_forward:
            observers.append(self.update)
        outputs = self._forward(step, inputs, targets, indices, observers)
        loss = self.objective.losses(outputs, targets).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.update.compute()
        return loss.detach(), self.objective.correct(outputs, targets).double().mean()

    def _repeats(self, inputs: Tensor) -> bool:
        """True if this update does the same operations as most others: on a GPU it can be
        replayed."""
        optim = self.config.optim
        return (
            self.recordable
            and self.config.cuda_graph
            and on_gpu(self.device)
            and self.update.repeats
            and not self.update.sees_forward
            and not self.draws
            and self.dataset.stream is None
            and optim.schedule is Schedule.constant
            and len(inputs) == min(optim.batch_size or len(inputs), self.batches.examples)
        )

    def _record(self, inputs: Tensor, targets: Tensor, indices: Tensor, lr: float) -> None:
        """Record the update, or find that it cannot be recorded and say so."""

        def update(x: Tensor, y: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
            figures = self._gradients(-1, x, y, indices)
            self.update.apply(lr)
            return figures

        remembered = [tensor for tensors in self.update.memory.values() for tensor in tensors]
        state = [*self.model.state_dict().values(), *remembered]
        try:
            self._captured = Captured(update, state, inputs, targets, indices)
        except CannotRecordError as error:
            self.recordable = False
            for parameter in self.update.parameters:
                parameter.grad = None
            print(f"no CUDA graph: {error}; updates are made one by one", file=sys.stderr)

    def _forward(
        self,
        step: int,
        inputs: Tensor,
        targets: Tensor,
        indices: Tensor,
        observers: Sequence[ForwardObserver],
    ) -> Tensor:
        with ExitStack() as stack:
            if self.draws:
                stack.enter_context(drawing(self.config.seed, step, self.device))
            for observer in observers:
                stack.enter_context(observer.around_forward(self.model))
            passed: Sequence[Passed] = ()
            if self.update.sees_forward:
                passed = stack.enter_context(recorded(self.network))
            outputs = self._outputs(inputs, indices)
        for observer in observers:
            observer.on_forward(
                Forward(
                    step=step,
                    seed=self.config.seed,
                    model=self.model,
                    inputs=inputs,
                    outputs=outputs,
                    targets=targets,
                    objective=self.objective,
                    passed=passed,
                )
            )
        return outputs

    def _outputs(self, inputs: Tensor, indices: Tensor) -> Tensor:
        if self.half:
            # No cache of weights in half precision: a CUDA graph would keep a stale one.
            with torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False):
                half: Tensor = self.model(inputs)
            return half.float()
        quick = self.transformed.on_training_set
        if quick is None or not self.dataset.sees_examples_as_they_are:
            outputs: Tensor = self.model(inputs)
            return outputs
        return quick(inputs, indices)

    def evaluate(self, split: str) -> dict[str, tuple[float, ...]]:
        with evaluating(self.model):
            return evaluate(
                self.model,
                self.dataset.train if split == "train" else self.dataset.test,
                self.objective,
                layout=self.layout,
                **self.prepared.how_evaluated(split),
            )

    def update_to_see(self, step: int, lr: float) -> Update:
        return Update(
            step=step,
            seed=self.config.seed,
            model=self.transformed.kernel or self.model,
            step_norm=self.update.step_norm(lr),
            batches=self.probe_batches,
            kernel_factor=self.transformed.kernel_factor,
        )

    @property
    def network(self) -> nn.Module:
        return self.model.network if isinstance(self.model, OfNetwork) else self.model

    def view(self, **facts: Any) -> NetworkView:
        return NetworkView(
            self.model,
            self.dataset,
            self.objective,
            kernel_of=self.transformed.kernel,
            kernel_factor=self.transformed.kernel_factor,
            kernels_seen=self._kernels_seen,
            batch_statistics=self.config.probing.batch_norm is BatchNorm.train,
            seed=self.config.seed,
            batches=self.probe_batches,
            optimiser=self.update.state,
            **facts,
        )

    def state(self) -> dict[str, Any]:
        return {
            # Clones: the weights may be part of a larger tensor, which would be saved whole.
            "model": {name: part.clone() for name, part in self.model.state_dict().items()},
            "optim": self.update.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.update.restore(state["optim"])

    def weights(self) -> dict[str, Tensor]:
        return dict(self.model.state_dict())

    def why_alone(self) -> Iterator[str]:
        optim = f": optim={self.config.optim.name}"
        if not self.update.stacks:
            yield f"{optim} updates one network a run; expected optim=sgd or optim=adam"
        if self.update.sees_forward:
            yield f"{optim} looks at the forward of each minibatch; expected another"
        if self.half:
            yield ".optim.precision: bf16 is for one network a run; expected float32"
        for name, probe in self.prepared.probes.items():
            if probe.sees_forward():
                looks = "looks at the forward of each minibatch"
                yield f": probe.{name} {looks}; expected probe.complexity.batch=fixed"
        for name in drawing_layers(self.model):
            yield f": layer {name} draws at random; expected one that does not"
        if why := self.config.transform.why_alone(self.dataset):
            yield f": transform={self.config.transform.name} {why}"

    def stack(self, learners: Sequence[Any]) -> Stack:
        from ntkexp.training.members.stack import NetworkStack

        return NetworkStack(learners)


def quick_layout(model: nn.Module, device: torch.device) -> torch.memory_format:
    """Channels last for a network of convolutions on a CPU, else the plain layout.

    Measured on one thread: a step of a VGG19 with 16 channels takes 0.87 of the processor time, one
    of such a ResNet18 0.84, an evaluation 0.63 and 0.86. Only rounding differs.
    """
    convolves = any(isinstance(module, nn.Conv2d) for module in model.modules())
    quick = convolves and device.type == "cpu"
    return torch.channels_last if quick else torch.contiguous_format


@contextmanager
def drawing(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """Inside this block the global generators, the only ones that PyTorch's layers know, give the
    stream of this step: a run that was interrupted draws what it would have drawn."""
    with torch.random.fork_rng(devices=[device] if on_gpu(device) else []):
        torch.manual_seed(derived_seed(seed, "layers", step))
        yield
