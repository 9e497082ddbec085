"""Average tangent features against looped autograd in float64, and the identity they obey (T1)."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import average_features, tangent_kernel
from ntkexp.tangent.average_features import RULES, Rule, quadrature
from ntkexp.tangent.mean_feature import MeanFeature
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.grid.nets import built
from tests.tangent.grid.traps import TRAPS

POINTS = 4


def elsewhere(model: nn.Module, size: float = 0.3) -> dict[str, Tensor]:
    """Other weights, at some distance."""
    generator = torch.Generator().manual_seed(0)
    return {
        name: p.detach() + size * torch.randn(p.shape, generator=generator, dtype=p.dtype)
        for name, p in model.named_parameters()
        if p.requires_grad
    }


def looped(
    model: nn.Module, start: dict[str, Tensor], inputs: Tensor, points: list[tuple[float, float]]
) -> dict[str, Tensor]:
    """The weighted mean of whole Jacobians, by plain autograd."""
    net = copy.deepcopy(model)
    ends = {name: p.detach().clone() for name, p in net.named_parameters()}
    total: dict[str, Tensor] = {}
    for t, weight in points:
        with torch.no_grad():
            for name, p in net.named_parameters():
                if name in start:
                    p.copy_((1 - t) * start[name] + t * ends[name])
        for name, rows in jacobian(net, inputs).items():
            total[name] = total.get(name, torch.zeros(())) + weight * rows
    return total


@pytest.mark.parametrize("budget", [None, 3000])
@pytest.mark.parametrize("name", TRAPS)
def test_the_kernel_is_that_of_the_mean_jacobian(name: str, budget: int | None) -> None:
    model, inputs = built(name)
    start, before = elsewhere(model), copy.deepcopy(model.state_dict())
    found = average_features(model, start, inputs, points=POINTS, budget_bytes=budget)
    rows = looped(model, start, inputs, quadrature("linspace", POINTS))
    truth = layer_kernels(rows)
    assert distance(found.kernel.gram, torch.stack([*truth.values()]).sum(0)) < 1e-9
    for layer, gram in found.kernel.layers.items():
        assert distance(gram, truth[layer]) < 1e-9
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


@pytest.mark.parametrize("name", TRAPS)
@pytest.mark.parametrize("rule", RULES)
def test_what_the_layers_add_is_the_mean_jacobian_times_the_change(name: str, rule: Rule) -> None:
    model, inputs = built(name)
    start = elsewhere(model)
    found = average_features(model, start, inputs, points=POINTS, compared=(rule,))
    rows = looped(model, start, inputs, quadrature(rule, POINTS))
    ends = dict(model.named_parameters())
    truth = sum(rows[key] @ (ends[key].detach() - start[key]).flatten() for key in rows)
    moved = torch.stack([*found.moves[rule].values()]).sum(0)
    assert torch.allclose(moved.flatten(), truth, rtol=1e-8, atol=1e-10)
    assert found.moves[rule].keys() == found.kernel.layers.keys()


def smooth() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    return net.double(), torch.randn(5, 3, dtype=torch.float64)


def test_t1_of_a_smooth_net_midpoint_and_trapezoid_err_as_the_square_of_the_step() -> None:
    net, inputs = smooth()
    start = elsewhere(net)
    few, many = (average_features(net, start, inputs, points=points) for points in (20, 40))
    for rule in ("midpoint", "trapezoid"):
        assert few.error(rule) < 1e-3
        assert few.error(rule) / many.error(rule) == pytest.approx(4, rel=0.15)
    assert few.error("linspace") / many.error("linspace") == pytest.approx(2, rel=0.15)


def test_t1_of_a_relu_net_the_error_falls_with_the_points() -> None:
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    net, inputs = net.double(), torch.randn(6, 3, dtype=torch.float64)
    start = elsewhere(net)
    errors = [
        average_features(net, start, inputs, points=points).error("midpoint")
        for points in (5, 50, 500)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3


def test_a_segment_of_no_length_has_the_tangent_kernel() -> None:
    net, inputs = smooth()
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    found = average_features(net, start, inputs, points=3, rule="trapezoid")
    kernel = tangent_kernel(net, inputs)
    assert distance(found.kernel.gram, kernel.gram) < 1e-12
    assert found.kernel.shape == (5, 2, 5, 2)


def test_the_first_and_the_last_layer_are_never_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sum of (n, k, p) is made for the middle layer alone; biases have no outer products."""
    net, inputs = smooth()
    kinds: dict[tuple[int, ...], str] = {}
    original = MeanFeature.factor

    def watched(self: MeanFeature) -> object:
        factor = original(self)
        kinds[tuple(factor.jacobian().shape)] = type(factor).__name__
        return factor

    monkeypatch.setattr(MeanFeature, "factor", watched)
    average_features(net, elsewhere(net), inputs, points=3)
    assert kinds[(5, 2, 24)] == "Outer"
    assert kinds[(5, 2, 64)] == "Direct"
    assert kinds[(5, 2, 16)] == "Outer"


def test_inputs_that_were_shared_and_are_no_more_are_written_out() -> None:
    """A first layer that stands still for a while, and then moves."""
    torch.manual_seed(3)
    mean, truth = MeanFeature(), torch.zeros(4, 2, 6, dtype=torch.float64)
    from ntkexp.tangent import Outer
    from ntkexp.tangent.positions import Columns

    u = torch.randn(4, 1, 3, 1, dtype=torch.float64)
    for index, weight in enumerate((0.2, 0.3, 0.5)):
        inputs = u if index < 2 else torch.randn_like(u)
        factor = Outer(Columns(inputs), torch.randn(4, 2, 1, 2, 1, dtype=torch.float64))
        mean.add(factor, weight)
        truth += weight * factor.jacobian()
    assert torch.allclose(mean.factor().jacobian(), truth)


@pytest.mark.parametrize("rule", RULES)
def test_the_weights_of_a_rule_are_one_together_and_integrate_a_line(rule: Rule) -> None:
    points = quadrature(rule, 50)
    assert len(points) == 50
    assert sum(weight for _, weight in points) == pytest.approx(1)
    assert sum(weight * t for t, weight in points) == pytest.approx(0.5)


def test_bad_input_is_refused() -> None:
    net, inputs = smooth()
    with pytest.raises(UserError, match="simpson"):
        average_features(net, elsewhere(net), inputs, rule="simpson")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="points=1"):
        average_features(net, elsewhere(net), inputs, points=1)
    with pytest.raises(UserError, match=r"0\.bias"):
        start = elsewhere(net)
        del start["0.bias"]
        average_features(net, start, inputs)
    for wrong in (torch.zeros(()), torch.zeros(1)):
        with pytest.raises(UserError, match=r"start of 0\.bias is \("):
            average_features(net, {**elsewhere(net), "0.bias": wrong}, inputs)
