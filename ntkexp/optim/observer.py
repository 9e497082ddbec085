"""Observers of the forward of an update: probes that measure there, and optimisers.

An optimiser that needs more than gradients (inputs and output gradients of layers, as KFAC does)
sets `sees_forward` on its WeightUpdate. Both are called alike: `around_forward` surrounds the
forward of the minibatch, `on_forward` follows it while its graph is whole. To an optimiser the
forward tells what passed through the layers, from which every Fisher matrix can be had:

    _, slopes = forward.objective.losses_and_slopes(forward.outputs, forward.targets)  # empirical
    drawn = forward.objective.sample(forward.outputs, generator)                       # sampled
    _, slopes = forward.objective.losses_and_slopes(forward.outputs, drawn)
    for slopes in forward.objective.roots(forward.outputs): ...                        # exact
    for passed, g in zip(forward.passed, forward.gradients(slopes)):
        passed.layer, passed.inputs, g       # a row an example: F = mean of (g x) (g x)^T
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.autograd.graph import GradientEdge

    from ntkexp.objectives.base import Loss
    from ntkexp.optim.update import WeightUpdate


@dataclass(frozen=True)
class Passed:
    """One call of a layer that has weights: its inputs, and the place of its output in the graph. A
    layer that is called twice has two."""

    name: str
    layer: nn.Module
    inputs: Tensor
    outputs: GradientEdge


@dataclass(frozen=True)
class Forward:
    """The forward of the minibatch of one update, in train mode, before the backward. `passed` is
    in the order of the forward; probes have none."""

    step: int
    seed: int
    model: nn.Module
    inputs: Tensor
    outputs: Tensor
    targets: Tensor
    objective: Loss
    passed: Sequence[Passed] = ()

    def gradients(self, slopes: Tensor) -> Sequence[Tensor]:
        """The gradient of sum(slopes * outputs) by the output of each layer of `passed`. The graph
        stays whole."""
        import torch

        edges = [passed.outputs for passed in self.passed]
        return torch.autograd.grad(self.outputs, edges, slopes, retain_graph=True)


@contextmanager
def recorded(model: nn.Module) -> Iterator[list[Passed]]:
    """A list to which every call of a layer inside the block is added."""
    import torch
    from torch.autograd.graph import get_gradient_edge

    passed: list[Passed] = []

    def recorder(name: str) -> object:
        def record(layer: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
            # The edge: an activation in place would make another tensor of the output.
            if isinstance(outputs, torch.Tensor) and outputs.requires_grad:
                edge = get_gradient_edge(outputs)
                passed.append(Passed(name, layer, inputs[0].detach(), edge))

        return record

    hooks = [
        layer.register_forward_hook(recorder(name))
        for name, layer in model.named_modules()
        if any(True for _ in layer.parameters(recurse=False))
    ]
    try:
        yield passed
    finally:
        for hook in hooks:
            hook.remove()


def observed_loss(
    model: nn.Module,
    update: WeightUpdate,
    inputs: Tensor,
    targets: Tensor,
    objective: Loss,
    step: int = 0,
    seed: int = 0,
) -> Tensor:
    """The mean loss of a minibatch, whose forward the update has seen if it needs to."""
    if not update.sees_forward:
        return objective.losses(model(inputs), targets).mean()
    with update.around_forward(model), recorded(model) as passed:
        outputs = model(inputs)
    update.on_forward(Forward(step, seed, model, inputs, outputs, targets, objective, passed))
    return objective.losses(outputs, targets).mean()


class ForwardObserver(Protocol):
    def around_forward(self, model: nn.Module) -> AbstractContextManager[object]:
        """Surrounds the forward."""

    def on_forward(self, forward: Forward) -> None:
        """Looks at the forward. The graph must stay whole."""
