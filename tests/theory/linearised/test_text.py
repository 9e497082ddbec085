"""What the text of linearised networks proves or quotes: Theorem 1 by Stein's identity, and the
bound (2), on small smooth networks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from numpy.polynomial.hermite_e import hermegauss
from torch import nn

from ntkexp.tangent import tangent_kernel


def network(inputs: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(inputs, 5), nn.Tanh(), nn.Linear(5, 1)).double()


def test_theorem_1_the_alignment_of_a_linear_predictor_is_a_mean_mixed_derivative() -> None:
    """alpha(u'x) = |E[u'x grad f(x)]|^2 = |E[d^2 f / dx dtheta] u|^2 for x ~ N(0, I), both means by
    Gauss-Hermite quadrature; at the origin alone it is another number."""
    net, u = network(2), torch.tensor([0.6, -0.8], dtype=torch.float64)
    nodes, weights = hermegauss(30)
    weights = weights / weights.sum()

    def gradient(x: torch.Tensor) -> torch.Tensor:
        parts = torch.autograd.grad(net(x).sum(), [*net.parameters()], create_graph=True)
        return torch.cat([part.flatten() for part in parts])

    by_definition = mixed = 0.0
    for (a, p), (b, q) in itertools.product(zip(nodes, weights, strict=True), repeat=2):
        x = torch.tensor([a, b])
        by_definition = by_definition + p * q * (u @ x) * gradient(x).detach()
        mixed = mixed + p * q * torch.autograd.functional.jacobian(gradient, x) @ u
    alpha = float(torch.as_tensor(by_definition).square().sum())
    assert float(torch.as_tensor(mixed).square().sum()) == pytest.approx(alpha, rel=1e-9)
    origin = torch.autograd.functional.jacobian(gradient, torch.zeros(2, dtype=torch.float64)) @ u
    assert float(origin.square().sum()) != pytest.approx(alpha, rel=0.05)


@pytest.mark.parametrize("m", [20, 80])
def test_bound_2_is_met_on_average_and_has_its_size(m: int) -> None:
    """Of all h with |h| <= |f| the largest difference of a mean over m draws from the mean over all
    points, |f| |mean embedding's error|, is at most 2 sqrt(|f|^2 E[Theta(x, x)] / m)."""
    rng, n = np.random.default_rng(0), 300
    points = torch.from_numpy(rng.normal(size=(n, 4)))
    K = tangent_kernel(network(4), points).gram.detach().numpy()
    f = K @ rng.normal(size=n)  # in the kernel's space, with a norm of its own
    norm = float(np.sqrt(f @ np.linalg.lstsq(K, f, rcond=1e-10)[0]))
    gaps = []
    for _ in range(200):
        error = np.full(n, -1 / n)
        np.add.at(error, rng.integers(0, n, m), 1 / m)
        gaps.append(norm * np.sqrt(error @ K @ error))
    bound = 2 * np.sqrt(norm**2 * np.trace(K) / n / m)
    assert bound / 5 < np.mean(gaps) < bound
