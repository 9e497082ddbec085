"""The sign estimate on the forward of a training step, against dense gradients."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.tangent import SharedForward, tangent_kernel, tangent_trace
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


@settings(max_examples=30, deadline=None)
@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    examples=st.integers(1, 6),
    inplace=st.booleans(),
    budget=st.sampled_from([None, 3000]),
    seed=st.integers(0, 1000),
)
def test_kernel_trace_and_estimate_of_an_mlp(
    widths: list[int], examples: int, inplace: bool, budget: int | None, seed: int
) -> None:
    torch.manual_seed(seed)
    model = mlp(*widths, inplace=inplace).double()
    inputs = torch.randn(examples, widths[0], dtype=torch.float64)
    rows = torch.cat([part.flatten(1) for part in jacobian(model, inputs).values()], dim=1)
    kernel = tangent_kernel(model, inputs, budget_bytes=budget)
    assert kernel.fallback == []
    scale = float(kernel.gram.abs().max()) + 1e-300
    assert (kernel.gram - rows @ rows.t()).abs().max() < 1e-12 * scale
    trace = tangent_trace(model, inputs, budget_bytes=budget)
    assert trace.dtype == torch.float64 and not trace.requires_grad
    assert torch.isclose(trace, rows.square().sum(), rtol=1e-12)
    found = SharedForward(model).run(inputs, draws(seed))
    assert torch.isclose(found, truth(model, inputs, seed), rtol=1e-12)


class Net(nn.Module):
    """Two maps, with `scale` a third parameter, and whatever `compute` makes of them."""

    def __init__(self, compute: Callable[[Net, Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor([0.7]))
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def tied() -> nn.Module:
    model = mlp(4, 4, 4)
    model[3].weight = model[1].weight
    return model


def frozen(name: str) -> nn.Module:
    model = mlp(4, 4, 4, 4)
    model.get_parameter(name).requires_grad_(False)
    return model


USES: dict[str, Callable[[], nn.Module]] = {
    "tied weights": tied,
    "a module twice": lambda: Net(lambda m, x: m.second(m.first(torch.relu(m.first(x))))),
    "a frozen weight": lambda: frozen("3.weight"),
    "a frozen first weight": lambda: frozen("1.weight"),
    "a frozen bias": lambda: frozen("3.bias"),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)),
    "weight norm": lambda: nn.Sequential(
        torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.ReLU(), nn.Linear(3, 2)
    ),
    "a scaled weight": lambda: Net(
        lambda m, x: functional.linear(m.first(x).relu(), 2 * m.second.weight, m.second.bias)
    ),
    "a transposed weight": lambda: Net(
        lambda m, x: functional.linear(m.first(x).relu(), m.second.weight.t(), m.second.bias)
    ),
    "a scaled product": lambda: Net(
        lambda m, x: torch.addmm(m.second.bias, m.first(x).relu(), m.second.weight.t(), alpha=2)
    ),
    "one bias for all outputs": lambda: Net(
        lambda m, x: torch.addmm(m.scale, m.first(x).relu(), m.second.weight.t())
    ),
    "a bias as another's": lambda: Net(
        lambda m, x: functional.linear(m.first(x).relu(), m.second.weight, m.first.bias)
    ),
    "positions": lambda: Net(
        lambda m, x: m.second(m.first(x.unsqueeze(1).expand(-1, 2, -1)).relu()).sum(1)
    ),
}


@pytest.mark.parametrize("name", USES)
def test_estimates_while_weights_move(name: str) -> None:
    torch.manual_seed(2)
    model, inputs = USES[name]().double(), torch.randn(5, 4, dtype=torch.float64)
    shared = SharedForward(model)
    for seed in range(2):
        with shared:
            outputs = model(inputs)
        found = shared.trace(outputs, inputs, draws(seed))
        assert torch.isclose(found, truth(model, inputs, seed), rtol=1e-10)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 1.1


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
