"""Anisotropy directions against the mixed derivative itself, and the tasks made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp import models
from ntkexp.data.linear_separable import drawn
from ntkexp.models.activations import Activation
from ntkexp.models.base import Init
from ntkexp.models.lenet5 import Lenet5
from ntkexp.models.mlp import Mlp
from ntkexp.probes.kernel_regression import regression
from ntkexp.seeds import generator
from ntkexp.studies.anisotropy_directions import AnisotropyDirections
from ntkexp.tangent import tangent_kernel

NETWORK = Lenet5(base=2, init=Init.lecun, activation=Activation.gelu)
SIDE = 6


def mixed_derivative(point: torch.Tensor) -> np.ndarray:
    """M (weights, pixels) at an image, entry by entry."""
    network = models.build(NETWORK, (1, SIDE, SIDE), 1, seed=0).double()
    x = point.double().requires_grad_(True)
    gradients = torch.autograd.grad(network(x).sum(), [*network.parameters()], create_graph=True)
    flat = torch.cat([part.flatten() for part in gradients])
    rows = [
        torch.autograd.grad(flat, x, chosen, retain_graph=True, is_grads_batched=True)[0].flatten(1)
        for chosen in torch.eye(len(flat), dtype=flat.dtype).split(500)
    ]
    return torch.cat(rows).numpy()


def studied(**options: int | None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of the table, and the directions as rows."""
    found = AnisotropyDirections(network=NETWORK, side=SIDE, **options).compute()
    table, vectors = found["directions"], found["vectors"]
    assert isinstance(table, dict) and isinstance(vectors, np.ndarray)
    return table, vectors


@pytest.mark.parametrize("count", [None, 3])
def test_directions_are_the_singular_vectors_of_the_mixed_derivative(count: int | None) -> None:
    """Of all of them, and by Krylov iteration of three."""
    table, vectors = studied(count=count, gaussian=0)
    m = mixed_derivative(torch.zeros(1, 1, SIDE, SIDE))
    values = np.linalg.svd(m, compute_uv=False)[: len(vectors)] ** 2
    np.testing.assert_allclose(table["alignment"], values, rtol=1e-8, atol=1e-12)
    for value, u in zip(values[:3], vectors[:3], strict=True):
        np.testing.assert_allclose(m.T @ (m @ u), value * u, atol=1e-9 * values[0])
    assert np.isnan(table["gaussian"]).all()


def test_the_mean_over_inputs_is_that_of_mixed_derivatives() -> None:
    table, vectors = studied(gaussian=3)
    drawn = torch.randn(3, 1, SIDE, SIDE, generator=generator(0, "gaussian"))
    m = np.mean([mixed_derivative(point[None]) for point in drawn], axis=0)
    expected = np.linalg.norm(m @ vectors.T, axis=0) ** 2
    np.testing.assert_allclose(table["gaussian"], expected, rtol=1e-8, atol=1e-12)
    assert not np.allclose(table["gaussian"], table["alignment"])


def test_one_direction_tells_the_classes_apart_and_all_others_are_noise() -> None:
    """T8 of the paper's inventory."""
    u = torch.randn(20, generator=torch.Generator().manual_seed(0))
    u /= u.norm()
    x, positive = drawn(u, 40_000, 1.5, torch.Generator().manual_seed(1))
    y = 2.0 * positive - 1
    torch.testing.assert_close(x @ u, 1.5 * y, rtol=0, atol=1e-4)
    noise = x - torch.outer(x @ u, u)
    expected = torch.eye(20) - torch.outer(u, u)
    torch.testing.assert_close(noise.t() @ noise / len(x), expected, rtol=0, atol=0.03)
    assert abs(float(y.mean())) < 0.02


def test_kernel_regression_is_that_of_the_dense_kernel() -> None:
    network = models.build(Mlp(depth=1, width=7), (5,), 1, seed=0)
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] * x[:, 1] > 0).long()
    given = [(x[:30], y[:30]), (x[30:], y[30:])]
    found = regression(network, *given, ridge=1e-2)
    gram = tangent_kernel(network, x, layers=False).gram.double().numpy()
    start = network(x)[:, 0].detach().double().numpy()
    labels = 2.0 * y.double().numpy() - 1
    ridge = 1e-2 * gram[:30, :30].diagonal().mean()
    known = gram[:30, :30] + ridge * np.eye(30)
    f = start + gram[:, :30] @ np.linalg.solve(known, (labels - start)[:30])
    # Ridge regression of the weights, on gradients one by one.
    gradients = [torch.autograd.grad(network(one[None]).sum(), network.parameters()) for one in x]
    j = np.stack([torch.cat([g.flatten() for g in row]).double().numpy() for row in gradients])
    normal = j[:30].T @ j[:30] + ridge * np.eye(j.shape[1])
    by_weights = start + j @ np.linalg.solve(normal, j[:30].T @ (labels - start)[:30])
    np.testing.assert_allclose(f, by_weights, atol=1e-4)
    right = f * labels > 0
    assert found == pytest.approx([right[:30].mean(), right[30:].mean()])
    assert 0.5 < found[1] < 1 and found[0] > found[1]
