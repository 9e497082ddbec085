"""The estimate read off the graph of a chain, against dense gradients and the general path."""

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
from ntkexp.tangent.gradients.chain import chain_of, squared_length
from ntkexp.tangent.shared_forward import signs
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


def by_rules(model: nn.Module, inputs: Tensor, seed: int) -> Tensor:
    """The general path: a product with 1 is no link of a chain."""
    return tangent_trace(
        model, inputs, outputs=lambda f: 1.0 * f, estimate="signs", generator=draws(seed)
    )


def is_chain(model: nn.Module, inputs: Tensor) -> bool:
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return chain_of(model(inputs), wanted) is not None


def estimates(model: nn.Module, inputs: Tensor, steps: int = 3) -> list[tuple[Tensor, Tensor]]:
    """Steps of training with the estimate, its weights moving: what was found, and the truth."""
    shared, found = SharedForward(model), []
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for seed in range(steps):
        with shared:
            outputs = model(inputs)
        found.append((shared.trace(outputs, inputs, draws(seed)), truth(model, inputs, seed)))
        gradients = torch.autograd.grad(outputs.square().sum(), trained, allow_unused=True)
        with torch.no_grad():
            for parameter, gradient in zip(trained, gradients, strict=True):
                if gradient is not None:
                    parameter -= 1e-3 * gradient
    return found


@settings(max_examples=60, deadline=None)
@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=7),
    examples=st.integers(1, 6),
    inplace=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_a_chain_gives_what_the_rules_and_dense_gradients_give(
    widths: list[int], examples: int, inplace: bool, dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    model = mlp(*widths, inplace=inplace).to(dtype)
    inputs = torch.randn(examples, widths[0], dtype=dtype)
    outputs = model(inputs)
    chain = chain_of(outputs, model.parameters())
    assert chain is not None and len(chain) == len(widths) - 1
    found = squared_length(chain, signs(outputs, draws(seed)))
    close = 1e-5 if dtype is torch.float32 else 1e-12
    assert found.dtype == torch.float64 and not found.requires_grad
    assert torch.isclose(found, by_rules(model, inputs, seed), rtol=close)
    assert torch.isclose(found, truth(model, inputs, seed), rtol=close)


@settings(max_examples=30, deadline=None)
@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    examples=st.integers(1, 6),
    budget=st.sampled_from([None, 3000]),
    seed=st.integers(0, 1000),
)
def test_kernel_and_trace_of_a_chain(
    widths: list[int], examples: int, budget: int | None, seed: int
) -> None:
    torch.manual_seed(seed)
    model = mlp(*widths).double()
    inputs = torch.randn(examples, widths[0], dtype=torch.float64)
    rows = torch.cat([part.flatten(1) for part in jacobian(model, inputs).values()], dim=1)
    kernel = tangent_kernel(model, inputs, budget_bytes=budget)
    general = tangent_kernel(model, inputs, outputs=lambda f: 1.0 * f)
    assert kernel.fallback == [] and [*kernel.layers] == [*general.layers]
    scale = float(kernel.gram.abs().max()) + 1e-300
    assert (kernel.gram - rows @ rows.t()).abs().max() < 1e-12 * scale
    for layer, gram in general.layers.items():
        assert (kernel.layers[layer] - gram).abs().max() < 1e-12 * scale
    trace = tangent_trace(model, inputs, budget_bytes=budget)
    assert trace.dtype == torch.float64 and not trace.requires_grad
    assert torch.isclose(trace, rows.square().sum(), rtol=1e-12)


@pytest.mark.parametrize("what", [tangent_trace, tangent_kernel])
def test_a_chain_whose_inputs_mix_examples_is_refused(what: Callable[..., object]) -> None:
    model = net(lambda self, x: self.second(self.first(x - x.mean(0)).relu()))
    assert is_chain(model, torch.randn(6, 4))
    with pytest.raises(UserError, match="couples the examples"):
        what(model, torch.randn(6, 4))


def test_affine_maps_may_follow_each_other() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    inputs = torch.randn(6, 4, dtype=torch.float64)
    assert is_chain(model, inputs)
    for found, expected in estimates(model, inputs):
        assert torch.isclose(found, expected, rtol=1e-10)


class Net(nn.Module):
    """Two maps, with `one` a third parameter, and whatever `compute` makes of them."""

    def __init__(self, compute: Callable[[Net, Tensor], Tensor], one: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.one = nn.Parameter(torch.tensor([0.7])) if one else None
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def net(compute: Callable[[Net, Tensor], Tensor], *, one: bool = False) -> Net:
    return Net(compute, one)


def tied() -> nn.Module:
    model = mlp(4, 4, 4)
    model[3].weight = model[1].weight
    return model


def frozen(name: str) -> nn.Module:
    model = mlp(4, 4, 4, 4)
    model.get_parameter(name).requires_grad_(False)
    return model


def plain(m: Net, x: Tensor) -> Tensor:
    return m.second(functional.relu(m.first(x)))


NO_CHAINS: dict[str, Callable[[], nn.Module]] = {
    "tied weights": tied,
    "a module twice": lambda: net(lambda m, x: m.second(m.first(torch.relu(m.first(x))))),
    "a frozen weight": lambda: frozen("3.weight"),
    "a frozen first weight": lambda: frozen("1.weight"),
    "a frozen bias": lambda: frozen("3.bias"),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)),
    "tanh": lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)),
    "leaky ReLU": lambda: nn.Sequential(nn.Linear(4, 3), nn.LeakyReLU(), nn.Linear(3, 2)),
    "ReLU at the end": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
    "weight norm": lambda: nn.Sequential(
        torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.ReLU(), nn.Linear(3, 2)
    ),
    "a skip": lambda: net(lambda m, x: m.second(h := torch.relu(m.first(x))) + h),
    "a scaled weight": lambda: net(
        lambda m, x: functional.linear(m.first(x).relu(), 2 * m.second.weight, m.second.bias)
    ),
    "a transposed weight": lambda: net(
        lambda m, x: functional.linear(m.first(x).relu(), m.second.weight.t(), m.second.bias)
    ),
    "a scaled product": lambda: net(
        lambda m, x: torch.addmm(m.second.bias, m.first(x).relu(), m.second.weight.t(), alpha=2)
    ),
    "a scaled bias": lambda: net(
        lambda m, x: torch.addmm(m.second.bias, m.first(x).relu(), m.second.weight.t(), beta=3)
    ),
    "one bias for all outputs": lambda: net(
        lambda m, x: torch.addmm(m.one, m.first(x).relu(), m.second.weight.t()), one=True
    ),
    "a parameter aside": lambda: net(lambda m, x: plain(m, x) + m.one, one=True),
    "a parameter not used": lambda: net(plain, one=True),
    "a bias as another's": lambda: net(
        lambda m, x: functional.linear(m.first(x).relu(), m.second.weight, m.first.bias)
    ),
    "positions": lambda: net(
        lambda m, x: plain(m, x.unsqueeze(1).expand(-1, 2, -1)).sum(1)  # (n, 2, 4) through linears
    ),
}


@pytest.mark.parametrize("name", NO_CHAINS)
def test_what_is_no_chain_takes_the_rules(name: str) -> None:
    torch.manual_seed(2)
    model = NO_CHAINS[name]().double()
    inputs = torch.randn(5, 4, dtype=torch.float64)
    assert not is_chain(model, inputs)
    for found, expected in estimates(model, inputs):
        assert torch.isclose(found, expected, rtol=1e-10)


def test_functional_use_of_the_same_maps_is_the_same_chain() -> None:
    model = net(
        lambda m, x: functional.linear(m.first(x).relu(), m.second.weight, m.second.bias)
    ).double()
    inputs = torch.randn(5, 4, dtype=torch.float64)
    assert is_chain(model, inputs)
    for found, expected in estimates(model, inputs):
        assert torch.isclose(found, expected, rtol=1e-10)


class Turning(nn.Module):
    """A chain until `turned`."""

    def __init__(self) -> None:
        super().__init__()
        self.chain, self.turned = mlp(4, 5, 3), False

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.chain(x)) if self.turned else self.chain(x)


def test_a_chain_that_ceases_to_be_one_is_recorded_again() -> None:
    torch.manual_seed(0)
    model, inputs = Turning().double(), torch.randn(5, 4, dtype=torch.float64)
    shared = SharedForward(model)
    for seed, turned in enumerate([False, False, True, True, False]):
        model.turned = turned
        with shared:
            outputs = model(inputs)
        found = shared.trace(outputs, inputs, draws(seed))
        assert torch.isclose(found, truth(model, inputs, seed), rtol=1e-10)


def warmed() -> tuple[nn.Sequential, Tensor, SharedForward]:
    """A chain whose first estimate is behind it."""
    torch.manual_seed(0)
    model, inputs = mlp(4, 5, 6, 3).double(), torch.randn(5, 4, dtype=torch.float64)
    shared = SharedForward(model)
    shared.run(inputs, draws(0))
    return model, inputs, shared


def test_no_hooks_once_it_is_known_for_a_chain() -> None:
    model, _, shared = warmed()
    with shared:
        assert not any(module._forward_hooks for module in model.modules())


def test_smaller_batches_and_other_weights_are_no_matter() -> None:
    model, inputs, shared = warmed()
    with torch.no_grad():
        model[1].weight.mul_(2)
    found = shared.run(inputs[:2], draws(4))
    assert torch.isclose(found, truth(model, inputs[:2], 4), rtol=1e-10)


def test_an_overwritten_activation_is_noticed() -> None:
    model, inputs, shared = warmed()
    hidden: list[Tensor] = []
    model[2].register_forward_hook(lambda module, args, output: hidden.append(output))
    with shared:
        outputs = model(inputs)
    assert chain_of(outputs, model.parameters()) is not None
    with torch.no_grad():
        hidden[-1].zero_()
    assert chain_of(outputs, model.parameters()) is None
    found = shared.trace(outputs, inputs, draws(1))
    assert torch.isclose(found, truth(model, inputs, 1), rtol=1e-10)


def test_overwritten_weights_are_refused() -> None:
    model, inputs, shared = warmed()
    with shared:
        outputs = model(inputs)
    with torch.no_grad():
        model[3].weight.mul_(1.001)
    with pytest.raises(UserError, match="before the weights or the inputs change"):
        shared.trace(outputs, inputs, draws(1))


def test_a_freed_graph_is_no_chain() -> None:
    model, inputs, _ = warmed()
    outputs = model(inputs)
    outputs.sum().backward()
    assert chain_of(outputs, model.parameters()) is None


def test_the_graph_serves_the_step_after_the_estimate() -> None:
    model, inputs, shared = warmed()
    labels = torch.zeros(len(inputs), dtype=torch.long)
    parameters = list(model.parameters())
    expected = torch.autograd.grad(functional.cross_entropy(model(inputs), labels), parameters)
    with shared:
        outputs = model(inputs)
    shared.trace(outputs, inputs, draws(1))
    found = torch.autograd.grad(functional.cross_entropy(outputs, labels), parameters)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_no_graph_outlives_its_step() -> None:
    model, inputs, shared = warmed()
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
