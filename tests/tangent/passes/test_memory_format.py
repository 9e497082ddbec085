"""In float32 images may lie with their channels last: the kernel is the same, or they do not."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from ntkexp.models.networks.resnet import Block
from ntkexp.models.resnet18 import Norm
from ntkexp.tangent import tangent_kernel, tangent_trace


class Viewing(nn.Module):
    """`view` wants the plain layout, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8 * 36, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.conv(x))
        head: Tensor = self.head(hidden.view(len(x), -1))
        return head


class Blind(Viewing):
    """Reads memory as it lies: another layout gives other outputs, without a word."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.conv(x))
        flat = hidden.as_strided((len(x), 8 * 36), (8 * 36, 1))
        head: Tensor = self.head(flat)
        return head


def _head(channels: int, space: int) -> tuple[nn.Module, ...]:
    return nn.Flatten(), nn.Linear(channels * space, 3)


NETS = {
    "plain": lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), *_head(16, 36)),
    "strided, dilated, grouped": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 16, 3, dilation=2, padding=2, groups=4),
        nn.ReLU(),
        nn.Conv2d(16, 8, 1),
        *_head(8, 9),
    ),
    "padded by reflection, pooled": lambda: nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, padding_mode="reflect"), nn.MaxPool2d(2), *_head(16, 9)
    ),
    "norms and a shortcut": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        Block(8, 16, 2, Norm.batch),
        nn.GroupNorm(4, 16),
        *_head(16, 9),
    ),
    "transposed": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ConvTranspose2d(8, 4, 3), nn.Tanh(), *_head(4, 36)
    ),
    "a view": Viewing,
    "reading memory as it lies": Blind,
}


@pytest.mark.parametrize("name", NETS)
def test_it_is_the_kernel_of_float64(name: str) -> None:
    torch.manual_seed(0)
    model = NETS[name]().eval()
    inputs = torch.randn(7, 3, 6, 6)
    kernel = tangent_kernel(model, inputs)
    exact = tangent_kernel(copy.deepcopy(model).double(), inputs.double())
    assert kernel.fallback == exact.fallback == []
    scale = exact.gram.abs().max()
    assert (kernel.gram - exact.gram).abs().max() < 1e-5 * scale
    assert (kernel.gram - kernel.gram.t()).abs().max() < 1e-6 * scale
    for layer, gram in kernel.layers.items():
        assert (gram - exact.layers[layer]).abs().max() < 1e-5 * scale
    torch.testing.assert_close(
        tangent_trace(model, inputs), exact.gram.trace(), rtol=1e-5, atol=0.0
    )
