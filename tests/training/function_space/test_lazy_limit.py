"""The alpha-scaled network comes to the linearised one as 1 / alpha (George's thesis, 5.2).

So it does where the network is smooth. A ReLU that turns on the way changes alpha (f - f_0) at
that point by a number of order 1, whatever alpha is; a share of order 1 / alpha of all turns, which
on few points and training examples is a matter of luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from omegaconf import OmegaConf
from torch import Tensor, nn

from ntkexp import data, models
from ntkexp.config import TrainConfig
from ntkexp.data import Split
from ntkexp.training.function_space import routes
from ntkexp.training.function_space.learner import FunctionLearner
from ntkexp.training.prepared import Prepared
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import composed

# The networks and the rate of Figure 5.1, in float64, for as long as a test may take.
WORDS = ("+exp=lazy/yin_yang", "probe=[]", "optim.stop_after_losses=false", "optim.steps=200")


def trained(*words: str, smooth: bool, route: str = "network") -> tuple[Tensor, Tensor]:
    """The outputs on the lattice before and after training."""
    config = OmegaConf.to_object(composed([*WORDS, "data.grid=30", "members=null", *words]))
    assert isinstance(config, TrainConfig)
    found = data.load(config.data, config.seed, torch.device("cpu"), progress=False)
    dataset = replace(found, train=doubled(found.train), test=doubled(found.test))
    objective = config.objective.build(dataset.train.targets, dataset.classes)
    network = models.build(config.model, dataset.input_shape, objective.outputs, config.seed)
    if smooth:
        for name in [n for n, part in network.named_children() if isinstance(part, nn.ReLU)]:
            setattr(network, name, nn.Tanh())
    transformed = config.transform.build(network.double(), dataset.train)
    prepared = Prepared(config, dataset, objective, transformed.module, transformed, {}, {})
    work = Supervised(prepared, routes.ROUTES, route)
    before = work.model(dataset.test.inputs).detach().clone()
    while not work.over:
        work.advance(work.last)
    if isinstance(work.learner, FunctionLearner):
        work.learner.followed()
    return before, work.model(dataset.test.inputs).detach().clone()


def doubled(split: Split) -> Split:
    return replace(split, inputs=split.inputs.double())


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
