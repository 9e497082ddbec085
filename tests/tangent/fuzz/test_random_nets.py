"""Kernels of random nets against autograd loops: a wrong one without a word is the worst defect.

    NTKEXP_FUZZ_SEEDS=1000-1400 python -m pytest -m on_demand tests/tangent/fuzz

A failure's name ends with the seed of its net.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_trace
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.fuzz.nets import random_net

FIRST, _, END = os.environ.get("NTKEXP_FUZZ_SEEDS", "0-300").partition("-")


class InPairs(nn.Module):
    """Each example beside a copy: for one alone torch's norms give wrong gradients at times."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        both: Tensor = self.net(torch.cat([x, x]))
        return both[: len(x)]


@pytest.mark.on_demand
@pytest.mark.filterwarnings(
    "ignore:Using padding='same' with even kernel", "ignore:LSTM with projections"
)
@pytest.mark.parametrize("seed", range(int(FIRST), int(END)))
def test_the_kernel_of_a_random_net(seed: int) -> None:
    model, inputs = random_net(seed)
    if not model(inputs).requires_grad:
        with pytest.raises(UserError, match="no output depends on a trainable parameter"):
            tangent_kernel(model, inputs)
        return
    truth = torch.stack([*layer_kernels(jacobian(InPairs(model), inputs)).values()]).sum(0)
    n, c, half = len(inputs), len(truth) // len(inputs), len(inputs) // 2
    kernel = tangent_kernel(model, inputs)
    assert distance(kernel.gram, truth) < 1e-9, model
    assert distance(torch.stack([*kernel.layers.values()]).sum(0), truth) < 1e-9, model
    again = tangent_kernel(model, inputs.flip(0)).gram  # what is known is not checked
    assert distance(again, truth.view(n, c, n, c).flip(0, 2).reshape(truth.shape)) < 1e-9, model
    assert distance(tangent_kernel(model, inputs, budget_bytes=4000).gram, truth) < 1e-9, model
    cross = tangent_kernel(model, inputs[:half], inputs[half:]).gram
    assert distance(cross, truth[: half * c, half * c :]) < 1e-9, model
    assert distance(tangent_kernel(model, inputs[:1]).gram, truth[:c, :c]) < 1e-9, model
    assert torch.isclose(tangent_trace(model, inputs), truth.trace(), rtol=1e-9), model
    single, few = model.float(), inputs.float() if inputs.is_floating_point() else inputs
    plain = torch.stack([*layer_kernels(jacobian(InPairs(single), few)).values()]).sum(0)
    rounding = distance(plain.double(), truth)
    assert distance(tangent_kernel(single, few).gram.double(), truth) < 1e-4 + 2 * rounding, model
