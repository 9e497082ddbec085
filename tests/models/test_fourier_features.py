"""Random Fourier features, beside the kernel that they tend to."""

from __future__ import annotations

import torch

from ntkexp.models import build
from ntkexp.models.fourier_features import FourierFeatures


def test_products_of_features_tend_to_a_gaussian_kernel() -> None:
    network = build(FourierFeatures(width=20_000, scale=2.0), (2,), 1, seed=0)
    x = torch.tensor([[0.0, 0.0], [0.3, 0.1], [0.0, 1.0]])
    features = network[:2](x)  # type: ignore[index]
    kernel = torch.exp(-(2.0**2) * torch.cdist(x, x).square() / 2)
    torch.testing.assert_close(features @ features.T, kernel, atol=0.03, rtol=0)


def test_only_the_linear_output_is_trained() -> None:
    network = build(FourierFeatures(width=50), (2,), 3, seed=0)
    assert [tuple(weight.shape) for weight in network.parameters()] == [(3, 50)]
