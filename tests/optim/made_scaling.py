"""An optimiser of one's own that needs more than gradients: what enters the layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ntkexp.optim import Optimiser
from ntkexp.optim.observer import Forward
from ntkexp.optim.update import Number, WeightUpdate
from ntkexp.options import option, positive


class ScaledByInputs(WeightUpdate):
    """w_oi <- w_oi - eta g_oi / (a_i + damping), a_i a running mean of the squared inputs."""

    hyperparameters = ("damping",)
    memory_of = ("squares", "step")
    sees_forward = True
    damping: Number

    @contextmanager
    def around_forward(self, model: nn.Module) -> Iterator[None]:
        places = {id(w): place for place, w in enumerate(self.parameters)}

        def see(layer: nn.Linear, inputs: tuple[Tensor, ...]) -> None:
            squares = self.memory["squares"][places[id(layer.weight)]]
            squares.mul_(0.5).add_(0.5 * inputs[0].detach().square().mean(0))

        layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
        hooks = [layer.register_forward_pre_hook(see) for layer in layers]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def on_forward(self, forward: Forward) -> None:
        assert forward.outputs.requires_grad  # whoever samples labels goes back from here

    @torch.no_grad()
    def take(self, gradients: list[Tensor]) -> None:
        for place, gradient in enumerate(gradients):
            squares = self.memory["squares"][place]
            scaled = gradient / (squares + self.damping) if gradient.ndim > 1 else gradient
            self.memory["step"][place].copy_(scaled)

    @torch.no_grad()
    def apply(self, lr: Number) -> None:
        torch._foreach_sub_(self.parameters, self.change(-lr))

    def change(self, lr: Number) -> list[Tensor]:
        return [-lr * step for step in self.memory["step"]]


@dataclass
class Scaled(Optimiser):
    damping: float = option(0.1, positive())

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        return ScaledByInputs(parameters, damping=self.damping)
