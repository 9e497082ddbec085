"""Functions that are random or couple the examples of a batch are refused, all others are not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.tangent import (
    SharedForward,
    layer_factors,
    tangent_kernel,
    tangent_kernels,
    tangent_trace,
)
from ntkexp.tangent.independence import checking, orders


class Coupled(nn.Module):
    """A linear map of what `mix` makes of the batch."""

    def __init__(self, mix: Callable[[Tensor], Tensor], features: int = 3) -> None:
        super().__init__()
        self.linear, self.mix = nn.Linear(features, 2), mix

    def forward(self, x: Tensor) -> Tensor:
        head: Tensor = self.linear(self.mix(x))
        return head


def _from_the_third(x: Tensor) -> Tensor:
    return torch.cat([x[:2], x[2:] + x.cumsum(0)[2:]])


def _attention(x: Tensor) -> Tensor:
    return torch.softmax(x @ x.T, 1) @ x


def _batch_norm(x: Tensor) -> Tensor:
    return functional.batch_norm(x, None, None, training=True)


COUPLINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "a sum over the batch": lambda x: x.cumsum(0),
    "from the third example on": _from_the_third,
    "the next example": lambda x: x + 0.1 * x.roll(1, 0),
    "a thousandth of the mean": lambda x: x + 1e-3 * x.mean(0),
    "a hundred thousandth of the sum": lambda x: x + 2e-5 * x.sum(0),
    "the number of the row": lambda x: x * torch.arange(1, len(x) + 1).unsqueeze(1),
    "the size of the batch": lambda x: x * len(x),
    "attention over the batch": _attention,
    "an L2 norm over the batch": lambda x: functional.normalize(x, dim=0),
    "batch statistics": _batch_norm,
    "a mean in numpy": lambda x: x + torch.from_numpy(x.detach().numpy().mean(0)),
}
RANDOM: dict[str, Callable[[Tensor], Tensor]] = {
    "dropout": lambda x: functional.dropout(x, 0.5),
    "dropout of one in a thousand": lambda x: functional.dropout(x, 0.001),
    "a random number of Python's": lambda x: x * (1 + random.random()),
    "noise": lambda x: x + 1e-3 * torch.randn_like(x),
}


def coupled(mix: Callable[[Tensor], Tensor], dtype: torch.dtype, zero: bool) -> nn.Module:
    """An MLP with `mix` in it; `zero`: its last layer is, and hides what goes on before."""
    torch.manual_seed(0)
    last = Coupled(mix, 4)
    if zero:
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), last).to(dtype)


def measures(model: nn.Module, inputs: Tensor) -> list[Callable[[], object]]:
    """What a coupling is met by; each checks for itself."""
    return [
        lambda: tangent_kernel(model, inputs),
        lambda: tangent_kernel(model, inputs, budget_bytes=600),
        lambda: tangent_kernels(model, {"a": inputs[:1], "b": inputs}),
        lambda: tangent_trace(model, inputs),
        lambda: layer_factors(model, inputs),
        lambda: SharedForward(model).run(inputs, torch.Generator()),
    ]


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("zero", [False, True], ids=["", "zero last layer"])
@pytest.mark.parametrize("name", COUPLINGS)
def test_coupled_examples_are_refused(name: str, zero: bool, dtype: torch.dtype, n: int) -> None:
    model, inputs = coupled(COUPLINGS[name], dtype, zero), torch.randn(n, 3, dtype=dtype)
    assert model(inputs).any() != zero
    if n == 2 and name == "from the third example on":
        assert tangent_kernel(model, inputs).gram.any()
        return
    # Batch statistics of a single example are refused by torch itself.
    with pytest.raises(UserError, match=r"couples the examples|when training"):
        tangent_kernel(model, inputs)


@pytest.mark.parametrize("name", ["the next example", "an L2 norm over the batch"])
def test_every_measure_refuses_coupled_examples(name: str) -> None:
    model, inputs = coupled(COUPLINGS[name], torch.float64, False), torch.randn(5, 3).double()
    for measure in measures(model, inputs):
        with pytest.raises(UserError, match="couples the examples"):
            measure()


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("zero", [False, True], ids=["", "zero last layer"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_outputs_are_refused(name: str, zero: bool, dtype: torch.dtype, n: int) -> None:
    model, inputs = coupled(RANDOM[name], dtype, zero), torch.randn(n, 3, dtype=dtype)
    before = torch.get_rng_state()
    every = measures(model, inputs)
    for measure in every if n == 3 and not zero else every[:1]:
        with pytest.raises(UserError, match="it is random"):
            measure()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_layer_that_draws_is_named() -> None:
    model = coupled(RANDOM["dropout of one in a thousand"], torch.float32, zero=False)
    with pytest.raises(UserError, match="layer 2 draws random numbers"):
        tangent_kernel(model, torch.randn(4, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_gate_of_zero_is_opened(dtype: torch.dtype, n: int) -> None:
    """x + g mean(x) with g = 0, which is trained: df / dg is of all examples."""

    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.g, self.head = nn.Parameter(torch.zeros(())), nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            head: Tensor = self.head(x + self.g * x.mean(0))
            return head

    model, inputs = Gate().to(dtype), torch.randn(n, 3, dtype=dtype)
    for measure in measures(model, inputs):
        with pytest.raises(UserError, match="couples the examples"):
            measure()
    model.g.requires_grad_(False)  # then it stays closed, and couples nothing
    assert tangent_kernel(model, inputs).gram.any()


def test_a_draw_that_changes_nothing_is_no_reason() -> None:
    """As of layers that are left out at random in training: the coin is thrown in either mode."""

    def coin(x: Tensor) -> Tensor:
        thrown, training = float(torch.rand(())), False
        return 2 * x if training and thrown < 0.5 else x

    model = coupled(coin, torch.float32, zero=False)
    assert tangent_kernel(model, torch.randn(5, 3)).gram.any()


def _noisy(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    """As cuDNN may choose another algorithm for another size: errors of a relative 1e-5."""
    if output.dtype == torch.float64:
        return output
    draws = torch.Generator().manual_seed(len(output))
    return output * (1 + 1e-5 * torch.randn(output.shape[1:], generator=draws))


def test_convolutions_may_round_by_the_size_of_the_batch() -> None:
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())]
    model = nn.Sequential(nn.Conv2d(3, 8, 3), *layers, nn.Flatten(), nn.Linear(8 * 36, 3))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
            module.register_forward_hook(_noisy)
    inputs = torch.randn(9, 3, 8, 8)
    assert (model(inputs)[:2] - model(inputs[:2])).abs().max() > 1e-6 * model(inputs).abs().max()
    assert tangent_kernel(model, inputs).gram.isfinite().all()
    assert tangent_trace(model, inputs).isfinite()


def test_depth_is_no_coupling() -> None:
    """Rounding grows with depth; in float64 there is little of it."""
    torch.manual_seed(0)
    layers = [layer for _ in range(60) for layer in (nn.Linear(32, 32), nn.ReLU())]
    for layer in layers[::2]:
        nn.init.normal_(layer.weight, std=0.5)  # type: ignore[arg-type]
    model = nn.Sequential(*layers, nn.LayerNorm(32), nn.Linear(32, 3))
    assert tangent_kernel(model, torch.randn(9, 32)).gram.isfinite().all()


@pytest.mark.parametrize("seed", [713, 1, 2, 3])
def test_large_weights_are_no_coupling(seed: int) -> None:
    """A narrow network of large weights was refused once for its rounding."""
    from ntkexp.scripts.tools.bench.right_networks import network

    _, model, inputs = network(seed)
    assert tangent_kernel(model, inputs).gram.isfinite().all()


def test_a_refusal_can_be_passed() -> None:
    model, inputs = coupled(COUPLINGS["the next example"], torch.float64, zero=False), torch.eye(3)
    inputs = inputs.double()
    expected = tangent_kernel(model, inputs, check=False).gram
    with pytest.warns(UserWarning, match="couples the examples"):
        found = tangent_kernel(model, inputs, check="warn").gram
    assert torch.equal(found, expected)
    with pytest.warns(UserWarning, match="couples the examples"):
        tangent_trace(model, inputs, check="warn")
    with pytest.raises(UserError, match=r"check='no': True, False and 'warn' are accepted"):
        tangent_kernel(model, inputs, check="no")  # type: ignore[arg-type]
    with checking("warn", "an option"), pytest.warns(UserWarning, match="couples the examples"):
        tangent_kernel(model, inputs)
    with checking(True, "an option"), pytest.raises(UserError, match="or go on with an option"):
        tangent_kernel(model, inputs)


class Single(nn.Module):
    """Computes in float32 whatever its weights are, as some norms of language models do."""

    def __init__(self, coupling: float) -> None:
        super().__init__()
        self.linear, self.coupling = nn.Linear(3, 2), coupling

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        found: Tensor = self.linear((x + self.coupling * x.mean(0)).to(self.linear.weight.dtype))
        return found


def test_what_cannot_be_computed_in_float64_is_warned_of_where_rounding_may_explain_it() -> None:
    inputs = torch.randn(6, 3)
    with pytest.warns(UserWarning, match="couples the examples"):
        tangent_kernel(Single(1e-4), inputs)
    with pytest.raises(UserError, match="couples the examples"):
        tangent_kernel(Single(0.1), inputs)


@pytest.mark.parametrize("n", [3, 4, 9, 32])
def test_halves_move_every_example(n: int) -> None:
    halves = orders(n)
    assert sorted(int(row) for half in halves for row in half if n > 3) in ([], [*range(n)])
    assert all(not (half == torch.arange(len(half))).any() for half in halves)
