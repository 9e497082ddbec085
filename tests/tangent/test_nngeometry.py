"""nngeometry 0.4, where it is right, and where it is not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from ntkexp.tangent import tangent_kernel
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.trap_nets import images

gram = pytest.importorskip("nngeometry.gram")


def theirs(model: nn.Module, inputs: Tensor) -> Tensor:
    """Their axes are (c, n, c, n)."""
    data = TensorDataset(inputs, torch.zeros(len(inputs)))
    found = gram.GramMatrix(
        model, DataLoader(data, batch_size=len(inputs)), function=lambda *batch: model(batch[0])
    ).to_torch()
    return found.permute(1, 0, 3, 2).flatten(2).flatten(0, 1).detach()


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.shared(torch.tanh(self.shared(x)))))


def convolutional(**options: object) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, padding=1, **options),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 3),
    )


def test_it_agrees_on_plain_nets() -> None:
    torch.manual_seed(0)
    for model, inputs in (
        (convolutional(), images()),
        (nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3)), torch.randn(7, 5)),
    ):
        assert distance(tangent_kernel(model, inputs).gram, theirs(model, inputs)) < 1e-5


@pytest.mark.parametrize("options", [{"groups": 2}, {"padding_mode": "circular"}, "module twice"])
def test_where_it_is_silently_wrong_we_are_not(options: object) -> None:
    torch.manual_seed(0)
    model, inputs = (
        (Twice(), torch.randn(5, 4))
        if options == "module twice"
        else (
            convolutional(**options),
            images(),
        )
    )
    model, inputs = model.double(), inputs.double()
    truth = sum(layer_kernels(jacobian(model, inputs)).values())
    assert distance(tangent_kernel(model, inputs).gram, truth) < 1e-10
    assert distance(theirs(model, inputs), truth) > 1e-3
