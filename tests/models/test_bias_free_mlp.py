"""The perceptron without biases: its function, its parametrisations, its sizes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.bias_free_mlp import BiasFreeMlp, Weights
from ntkexp.tangent import tangent_kernel


def weights_of(kind: Weights, width: int = 400) -> list[torch.Tensor]:
    net = build(BiasFreeMlp(weights=kind, width=width), (300,), 1, seed=0)
    return [m.weight.detach() for m in net.modules() if isinstance(m, nn.Linear)]


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [
        (Weights.he, math.sqrt(2 / 300), math.sqrt(2 / 400)),
        (Weights.lecun, math.sqrt(1 / 300), math.sqrt(1 / 400)),
        (Weights.torch_default, math.sqrt(1 / 900), math.sqrt(1 / 1200)),
        (Weights.ntk_he, 1.0, 1.0),
    ],
)
def test_weights_have_the_spread_they_are_named_after(
    kind: Weights, first: float, last: float
) -> None:
    found = weights_of(kind)
    assert float(found[0].std()) == pytest.approx(first, rel=0.02)
    assert float(found[-1].std()) == pytest.approx(last, rel=0.12)
    bounded = float(found[0].abs().max()) <= 1 / math.sqrt(300)
    assert bounded == (kind is Weights.torch_default)


def test_the_function_is_written_out() -> None:
    for kind in Weights:
        net = build(BiasFreeMlp(depth=2, width=7, weights=kind), (1, 2, 3), 2, seed=3)
        first, second, last = (m.weight for m in net.modules() if isinstance(m, nn.Linear))
        c = [1.0] * 3
        if kind is Weights.ntk_he:
            c = [math.sqrt(2 / 6), math.sqrt(2 / 7), math.sqrt(1 / 7)]
        x = torch.randn(4, 1, 2, 3)
        h = (c[1] * (c[0] * x.flatten(1) @ first.t()).relu() @ second.t()).relu()
        torch.testing.assert_close(net(x), c[2] * h @ last.t())
        assert not any(name.endswith("bias") for name, _ in net.named_parameters())


def test_in_the_ntk_parametrisation_the_kernel_does_not_grow_with_the_width() -> None:
    torch.manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(5, 20), dim=1)
    traces = [
        float(
            tangent_kernel(build(BiasFreeMlp(width=w, weights=kind), (20,), 1, 0), x).gram.trace()
        )
        for kind in (Weights.ntk_he, Weights.he)
        for w in (100, 800)
    ]
    assert traces[1] / traces[0] == pytest.approx(1, rel=0.4)
    assert traces[3] / traces[2] > 0.6


def test_sizes_are_those_of_the_network() -> None:
    config = BiasFreeMlp(depth=3, width=5)
    assert config.parameters((1, 4, 4), 2) == 16 * 5 + 2 * 25 + 10
    assert config.multiplications((1, 4, 4), 2) == 16 * 5 + 2 * 25 + 10


def test_the_general_rule_for_weights_is_refused() -> None:
    with pytest.raises(UserError, match=r"model\.init=kaiming.*model\.weights"):
        BiasFreeMlp(init=Init.kaiming).check()
