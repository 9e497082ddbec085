"""The sign estimate on the forward of a training step, against dense gradients."""

from __future__ import annotations

import gc
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from ntkexp.errors import UserError
from ntkexp.tangent import SharedForward
from ntkexp.tangent.trace import signs
from tests.tangent.dense_jacobian import jacobian


def mlp(*widths: int, inplace: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU(inplace=inplace)]
    return nn.Sequential(*layers[:-1])


def draws(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def truth(model: nn.Module, inputs: Tensor, seed: int) -> Tensor:
    """sum_i |sum_c s_ic grad f_ic|^2 of the signs that a seed stands for, by autograd."""
    s = signs(model(inputs).detach(), draws(seed))
    rows = torch.cat([part.flatten(1) for part in jacobian(model, inputs).values()], dim=1)
    return torch.einsum("nc,ncp->np", s, rows.view(*s.shape, -1)).double().square().sum()


class Turning(nn.Module):
    """Another graph from the moment when it is `turned`."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.turned = mlp(4, 5, 3), False

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.net(x)) if self.turned else self.net(x)


def test_another_graph_is_read_anew() -> None:
    torch.manual_seed(0)
    model, inputs = Turning().double(), torch.randn(5, 4, dtype=torch.float64)
    shared = SharedForward(model)
    for seed, turned in enumerate([False, False, True, True, False]):
        model.turned = turned
        part = inputs[: 5 - seed]
        with shared:
            outputs = model(part)
        found = shared.trace(outputs, part, draws(seed))
        assert torch.isclose(found, truth(model, part, seed), rtol=1e-10)


def begun() -> tuple[nn.Sequential, Tensor, SharedForward]:
    """A network whose first estimate is behind it."""
    torch.manual_seed(0)
    model, inputs = mlp(4, 5, 6, 3).double(), torch.randn(5, 4, dtype=torch.float64)
    shared = SharedForward(model)
    shared.run(inputs, draws(0))
    return model, inputs, shared


def test_overwritten_weights_are_refused() -> None:
    model, inputs, shared = begun()
    with shared:
        outputs = model(inputs)
    with torch.no_grad():
        model[3].weight.mul_(1.001)
    with pytest.raises(UserError, match="modified by an inplace operation"):
        shared.trace(outputs, inputs, draws(1))


def test_no_graph_outlives_its_step() -> None:
    model, inputs, shared = begun()
    activations: list[StorageWeakRef] = []
    model[2].register_forward_hook(
        lambda module, args, output: activations.append(StorageWeakRef(output.untyped_storage()))
    )
    gc.collect()
    gc.disable()  # a reference cycle would keep the graph until a collection
    try:
        for seed in range(3):
            with shared:
                outputs = model(inputs)
            shared.trace(outputs, inputs, draws(seed))
            assert not activations[-1].expired()
            del outputs
            assert activations[-1].expired()
    finally:
        gc.enable()
    assert len(activations) == 3
