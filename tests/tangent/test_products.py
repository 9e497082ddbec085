"""Phi v, Phi^T u and singular vectors against the Jacobian."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.tangent import (
    layer_factors,
    pull_back,
    push_forward,
    right_singular_vectors,
    tangent_kernel,
    top_eigenvectors,
)
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
    with pytest.raises(UserError, match=r"shape \(3, 4\): expected a square one"):
        top_eigenvectors(v, 2)


def test_top_eigenvectors() -> None:
    torch.manual_seed(0)
    factor = torch.randn(30, 8, dtype=torch.float64)
    gram = factor @ factor.t()
    values, vectors = top_eigenvectors(gram, 5)
    assert torch.all(values[:-1] >= values[1:])
    assert torch.allclose(gram @ vectors, vectors * values)
    assert torch.allclose(vectors.t() @ vectors, torch.eye(5, dtype=torch.float64), atol=1e-12)
    with pytest.raises(UserError, match="1 to 30"):
        top_eigenvectors(gram, 31)


def test_top_eigenvectors_of_a_large_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ntkexp.tangent.products.DENSE_ROWS", 50)
    torch.manual_seed(0)
    factor = torch.randn(100, 20, dtype=torch.float64) * torch.logspace(0, -3, 20).double()
    gram = factor @ factor.t()
    values, vectors = top_eigenvectors(gram, 4)
    assert torch.allclose(values, torch.linalg.eigvalsh(gram).flip(0)[:4])
    assert torch.allclose(gram @ vectors, vectors * values, atol=1e-10)


def test_right_singular_vectors() -> None:
    model, inputs = built("module used twice")
    rows = torch.cat(list(jacobian(model, inputs).values()), dim=1)
    _, sigmas, right = torch.linalg.svd(rows, full_matrices=False)
    gram = tangent_kernel(model, inputs).gram
    for given in (None, gram):
        found = list(right_singular_vectors(model, inputs, 4, gram=given))
        assert len(found) == 4
        for (sigma, parts), expected, vector in zip(found, sigmas, right, strict=False):
            flat = torch.cat([part.flatten() for part in parts.values()])
            assert abs(sigma - expected) < 1e-8 * sigmas[0]
            assert abs(abs(flat @ vector) - 1) < 1e-6


def test_singular_vectors_end_with_the_rank() -> None:
    model, inputs = built("in-place ReLU")
    twice = torch.cat([inputs[:1], inputs[:1]])
    rank = len(list(right_singular_vectors(model, twice, 6)))
    assert rank == torch.linalg.matrix_rank(tangent_kernel(model, twice).gram, hermitian=True) <= 3


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
