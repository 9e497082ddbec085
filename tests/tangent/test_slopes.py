"""Factors of sums over outputs are the outputs' own, weighted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from ntkexp.tangent import TangentFeatures


def networks() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    return {
        "rules": nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double(),
        "no rule": nn.Sequential(nn.Linear(3, 4), nn.PReLU(4), nn.Linear(4, 3)).double(),
    }


@pytest.mark.parametrize("name", networks())
@pytest.mark.parametrize("n", [1, 5])
def test_factors_of_sums_are_weighted_sums_of_factors(name: str, n: int) -> None:
    features, x = TangentFeatures(networks()[name]), torch.randn(n, 3, dtype=torch.float64)
    weights = torch.randn(2, n, dtype=torch.float64)

    def slopes(outputs: Tensor, indices: Tensor) -> Sequence[Tensor]:
        return [w[indices, None] * outputs.square() for w in weights]

    whole, sums = features.factors(x), features.factors(x, slopes)
    assert (whole.outputs, sums.outputs) == (3, 2)
    assert bool(whole.fallback) == (name == "no rule")
    a = torch.stack([*slopes(networks()[name](x).detach(), torch.arange(n))])
    for layer, factors in whole.layers.items():
        for parameter, factor in factors.items():
            expected = torch.einsum("mnk,nkp->nmp", a, factor.jacobian())
            torch.testing.assert_close(sums.layers[layer][parameter].jacobian(), expected)
