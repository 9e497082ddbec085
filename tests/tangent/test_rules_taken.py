"""Layers and uses of parameters that have a rule take it, and no fallback hides a wrong one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.tangent import Outer, layer_factors, tangent_kernel
from ntkexp.tangent.positions import Patches
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels


class Used(nn.Module):
    """A parameter `p`, used by a function of it and the inputs, before outputs that mix it all."""

    def __init__(self, shape: tuple[int, ...], use: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.p, self.use = nn.Parameter(torch.randn(shape)), use

    def forward(self, x: Tensor) -> Tensor:
        flat = torch.tanh(self.use(x, self.p)).flatten(1)
        return flat @ torch.linspace(-1, 2, 3 * flat.shape[1], dtype=x.dtype).view(-1, 3)


def exact(model: nn.Module, inputs: Tensor) -> None:
    model, inputs = model.double(), inputs.double()
    kernel = tangent_kernel(model, inputs)
    truth = torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)
    assert distance(kernel.gram, truth) < 1e-10
    assert kernel.fallback == []


class Frames(nn.Module):
    """Films (n, T, c, h, w), whose frames go through a layer as so many more images."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.LazyLinear(2)

    def forward(self, films: Tensor) -> Tensor:
        frames = torch.tanh(self.layer(films.flatten(0, 1)))
        return self.head(frames.reshape(len(films), -1))


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(2, 4, 2, groups=2),
        nn.GroupNorm(1, 2),
        nn.Sequential(nn.Flatten(), nn.Linear(18, 4)),
    ],
)
def test_frames_of_films(layer: nn.Module) -> None:
    films = torch.randn(3, 4, 2, 3, 3)
    model = Frames(layer)
    model(films)
    exact(model, films)


USES: dict[str, tuple[tuple[int, ...], Callable[[Tensor, Tensor], Tensor]]] = {
    "in groups": ((4, 2, 2, 2), lambda x, p: functional.conv2d(x, p, groups=2)),
    "first of a scaled sum": ((4, 3, 3), lambda x, p: torch.add(p, x, alpha=0.5)),
    "first of a scaled difference": ((4, 3, 3), lambda x, p: torch.sub(p, x, alpha=0.5)),
    "second of a difference": ((4, 3, 3), lambda x, p: x - p),
}


@pytest.mark.parametrize("name", USES)
def test_uses_of_a_parameter(name: str) -> None:
    exact(Used(*USES[name]), torch.randn(5, 4, 3, 3))


def test_a_convolution_keeps_its_image_and_no_patches() -> None:
    """Patches of all positions would be nine times the image."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(48, 1)).double()
    factor = layer_factors(model, torch.randn(5, 2, 6, 6).double()).layers["0"]["0.weight"]
    assert isinstance(factor, Outer)
    assert isinstance(factor.u, Patches)
