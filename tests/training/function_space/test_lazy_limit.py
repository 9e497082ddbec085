"""The alpha-scaled network comes to the linearised one as 1 / alpha (George's thesis, 5.2).

So it does where the network is smooth. A ReLU that turns on the way changes alpha (f - f_0) at
that point by a number of order 1, whatever alpha is; a share of order 1 / alpha of all turns, which
on few points and training examples is a matter of luck.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from ntkexp.training.function_space import routes
from ntkexp.training.function_space.learner import FunctionLearner
from ntkexp.training.supervised import Supervised
from tests.training.function_space.test_function_space import in_float64

# The networks and the rate of Figure 5.1, in float64, for as long as a test may take.
WORDS = ("+exp=lazy/yin_yang", "probe=[]", "optim.stop_after_losses=false", "optim.steps=200")


def smoothed(network: nn.Module) -> None:
    for name in [n for n, part in network.named_children() if isinstance(part, nn.ReLU)]:
        setattr(network, name, nn.Tanh())


def trained(*words: str, smooth: bool, route: str = "network") -> tuple[Tensor, Tensor]:
    """The outputs on the lattice before and after training."""
    words = (*WORDS, "data.grid=30", "members=null", *words)
    prepared = in_float64(words, smoothed if smooth else None)
    work, points = Supervised(prepared, routes.ROUTES, route), prepared.dataset.test.inputs
    before = work.model(points).detach().clone()
    while not work.over:
        work.advance(work.last)
    if isinstance(work.learner, FunctionLearner):
        work.learner.followed()
    return before, work.model(points).detach().clone()


def gaps(alphas: Sequence[int], *, smooth: bool, seed: int) -> list[float]:
    """Mean distance of the outputs, as a share of how far the linearised network has moved."""
    words = (f"seed={seed}",)
    start, linear = trained("transform=linearise", *words, smooth=smooth, route="function")
    found = []
    for alpha in alphas:
        scaled = ("transform=alpha_scale", f"transform.alpha={alpha}", *words)
        begun, ended = trained(*scaled, smooth=smooth)
        torch.testing.assert_close(begun, start)
        found.append(float((ended - linear).abs().mean() / (linear - start).abs().mean()))
    return found


def test_the_difference_to_a_smooth_linearised_network_falls_as_one_over_alpha() -> None:
    first, second, third = gaps((25, 100, 400), smooth=True, seed=0)
    assert first / second == pytest.approx(4, rel=0.1)
    assert second / third == pytest.approx(4, rel=0.1)


def test_at_alpha_100_the_networks_of_the_figure_are_nearly_linearised() -> None:
    first, second, third = gaps((25, 100, 400), smooth=False, seed=1)
    assert first > 2 * second > 4 * third
    assert second < 0.02
