"""One example alone has the kernel that it has in a batch, whatever the layout of gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ntkexp.tangent import tangent_kernel, tangent_trace
from tests.tangent.dense_jacobian import distance
from tests.tangent.grid.parts import seq

NORMS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "batch norm": (lambda: nn.BatchNorm2d(4), 2),
    "batch norm in 3 dimensions": (lambda: nn.BatchNorm3d(4), 3),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), 2),
    "instance norm, tracked": (
        lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        2,
    ),
}


class PositionsFirst(nn.Module):
    """(n, C, *space) -> (n, positions C): gradients come back with their channels last."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).transpose(1, 2).flatten(1)


class EachAlone(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.net(one[None]) for one in x])


def built(name: str) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    norm, axes = NORMS[name]
    conv = nn.Conv2d if axes == 2 else nn.Conv3d
    net = seq(conv(2, 4, 1), norm(), nn.Tanh(), PositionsFirst(), nn.Linear(4 * 3**axes, 2))
    for parameter in net[1].parameters():  # type: ignore[index]
        nn.init.normal_(parameter)
    return net.double().eval(), torch.randn(3, 2, *[3] * axes, dtype=torch.float64)


@pytest.mark.parametrize("name", NORMS)
def test_an_example_alone_has_the_kernel_it_has_in_a_batch(name: str) -> None:
    model, inputs = built(name)
    gram = tangent_kernel(model, inputs).gram
    for example in range(3):
        here = slice(2 * example, 2 * example + 2)
        alone = inputs[example : example + 1]
        assert distance(tangent_kernel(model, alone).gram, gram[here, here]) < 1e-12
        assert torch.isclose(tangent_trace(model, alone), gram[here, here].trace())
    in_blocks = tangent_kernel(model, inputs, budget_bytes=100)
    assert distance(in_blocks.gram, gram) < 1e-12
    one_by_one = tangent_kernel(EachAlone(model), inputs)
    assert distance(one_by_one.gram, gram) < 1e-12
