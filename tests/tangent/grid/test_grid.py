"""The kernel of every net of the grid is the product of Jacobians by plain autograd loops."""

from __future__ import annotations

import pytest
import torch

from ntkexp.tangent import SharedForward, TangentFeatures, tangent_kernel, tangent_trace
from ntkexp.tangent.trace import signs
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.grid.nets import NETS, built

RECURRENT = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
# A rule whose numbers are not autograd's leaves its parameters to the fallback, and the kernel is
# right all the same. So the parameters that have no rule are named, and those of all other nets
# have one.
FALLBACK = {
    "bilinear": ["both.weight"],
    "data-dependent branch": ["a.weight", "a.bias", "b.weight", "b.bias"],
    "a scaled product": ["w", "b"],
    "einsum": ["w"],
    "embedding bag": ["0.weight"],
    "distances": ["p"],
    "own derivative": ["w"],
    "weight of two geometries": ["c.weight"],
    "weight norm, transposed": [
        "0.bias",
        *(f"0.parametrizations.weight.original{i}" for i in (0, 1)),
    ],
    "transposed2d no bias": ["0.weight"],
    **{
        name: ["0.weight", "0.bias"]
        for name in NETS
        if name.startswith("transposed") and "no bias" not in name
    },
    **{name: ["1.weight", "1.bias"] for name in ("instance norm", "tracked instance norm")},
    "tokens sent to experts": ["a.weight", "a.bias", "b.weight", "b.bias"],
    "examples sorted": ["a.weight", "a.bias", "head.weight"],
    "packed LSTM": [f"rnn.{name}_l{i}" for i in (0, 1) for name in RECURRENT],
    "PReLU": ["1.weight"],
    "one PReLU": ["1.weight"],
    "divided": ["s"],
    "experts by weight": ["w", "b"],
    "single examples": [f"{m}.{p}" for m in ("a", "norm", "head") for p in ("weight", "bias")],
    "weights looked up by the data": ["w"],
    "bags": ["a.weight", "b.weight"],
    "norms": ["3.weight", "3.bias", "5.weight", "5.bias"],
    "one table, four ways": ["e.weight"],
}


def test_there_are_enough_nets() -> None:
    assert len(NETS) >= 80


@pytest.mark.parametrize("name", NETS)
def test_it_is_the_kernel_of_autograd(name: str) -> None:
    model, inputs = built(name)
    truth = layer_kernels(jacobian(model, inputs))
    total = torch.stack([*truth.values()]).sum(0)
    features = TangentFeatures(model)
    kernel = features.kernel(inputs)
    assert distance(kernel.gram, total) < 1e-10
    assert kernel.fallback == FALLBACK.get(name, [])
    scale = float(total.abs().max())
    for layer, gram in kernel.layers.items():
        assert (gram - truth[layer]).abs().max() <= 1e-10 * scale
    _disturb(model)
    inputs = torch.flip(inputs, [0])
    total = torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)
    for _ in range(2):  # what is known is not checked
        assert distance(features.kernel(inputs).gram, total) < 1e-10
    blocks = tangent_kernel(model, inputs, budget_bytes=4000)
    assert distance(blocks.gram, total) < 1e-10


@torch.no_grad()
def _disturb(model: torch.nn.Module) -> None:
    draws = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=draws, dtype=parameter.dtype)
        parameter.add_(noise, alpha=0.1)


@pytest.mark.parametrize("name", NETS)
def test_traces_are_those_of_autograd(name: str) -> None:
    """Exactly, and for given signs, whose estimate is sum_i |sum_c s_ic grad f_ic|^2."""
    model, inputs = built(name)
    rows = torch.cat([*jacobian(model, inputs).values()], 1).view(len(inputs), -1, count(model))
    torch.testing.assert_close(tangent_trace(model, inputs), rows.square().sum())
    shared, draws, again = SharedForward(model), torch.Generator(), torch.Generator()
    for _ in range(2):  # the second call checks less
        coins = signs(rows[:, :, 0], again).unsqueeze(2)
        expected = (coins * rows).sum(1).square().sum()
        torch.testing.assert_close(shared.run(inputs, draws), expected)


def count(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


LSTMS = [name for name in NETS if name.startswith("LSTM,") or name == "LSTM"]


@pytest.mark.parametrize("name", LSTMS)
def test_a_fused_lstm_takes_no_fallback(name: str) -> None:
    """In float32 torch's LSTM is one operation: it is computed step by step instead."""
    model, inputs = built(name)
    exact = tangent_kernel(model, inputs)
    single = tangent_kernel(model.float(), inputs.float())
    assert exact.fallback == single.fallback == []
    assert distance(single.gram.double(), exact.gram) < 1e-5
