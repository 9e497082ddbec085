"""Phi v and Phi^T u against the Jacobian."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.tangent import layer_factors, pull_back, push_forward
from tests.tangent.dense_jacobian import jacobian
from tests.tangent.grid.nets import built
from tests.tangent.grid.traps import TRAPS


@pytest.mark.parametrize("name", TRAPS)
def test_products_are_those_with_the_jacobian(name: str) -> None:
    model, inputs = built(name)
    rows = jacobian(model, inputs)
    parameters = dict(model.named_parameters())
    direction = {key: torch.randn_like(parameters[key]) for key in rows}
    moved = push_forward(model, inputs, direction)
    truth = sum(rows[key] @ direction[key].flatten() for key in rows)
    assert torch.allclose(moved.flatten(), truth, rtol=1e-9, atol=1e-12)
    cotangent = torch.randn_like(moved)
    for key, pulled in pull_back(model, inputs, cotangent).items():
        assert pulled.shape == parameters[key].shape
        assert torch.allclose(pulled.flatten(), rows[key].t() @ cotangent.flatten(), atol=1e-10)


def test_some_parameters_move_and_others_stand_still() -> None:
    model, inputs = built("in-place ReLU")
    rows = jacobian(model, inputs)
    direction = {"3.bias": torch.ones(4, dtype=torch.float64)}
    truth = rows["3.bias"].sum(1)
    assert torch.allclose(push_forward(model, inputs, direction).flatten(), truth)
    with pytest.raises(UserError, match="nothing"):
        push_forward(model, inputs, {})
    with pytest.raises(UserError, match="weights"):
        push_forward(model, inputs, {"weights": torch.ones(1)})


def test_a_tensor_of_another_shape_is_not_turned_or_stretched() -> None:
    model, inputs = nn.Linear(4, 3).double(), torch.rand(5, 4, dtype=torch.float64)
    v = torch.rand(3, 4, dtype=torch.float64)
    for wrong in (v.t().contiguous(), v.flatten(), torch.ones(1)):
        with pytest.raises(UserError, match=r"direction of weight is \(.*expected .* \(3, 4\)"):
            push_forward(model, inputs, {"weight": wrong})
    with pytest.raises(UserError, match="direction of weight is a float"):
        push_forward(model, inputs, {"weight": 1.0})  # type: ignore[dict-item]
    u = torch.rand(5, 3, dtype=torch.float64)
    flat, whole = (pull_back(model, inputs, of)["weight"] for of in (u.flatten(), u))
    assert torch.equal(flat, whole)
    with pytest.raises(UserError, match=r"\(3, 5\); expected that of the outputs, \(5, 3\)"):
        pull_back(model, inputs, u.t().contiguous())


@pytest.mark.parametrize("name", TRAPS)
def test_layer_factors_are_the_jacobian(name: str) -> None:
    model, inputs = built(name)
    rows = jacobian(model, inputs)
    found = layer_factors(model, inputs)
    for layer, factors in found.layers.items():
        for parameter, factor in factors.items():
            assert parameter.rpartition(".")[0].startswith(layer)
            ours = factor.jacobian().flatten(0, 1)
            assert torch.allclose(ours, rows[parameter], rtol=1e-9, atol=1e-12)
