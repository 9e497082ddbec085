"""Generators in the plane: what they capture, and the two gradients that they follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from ntkexp.config import StudyConfig
from ntkexp.information.clip import clipped, norm
from ntkexp.studies.toy_gans import NOISE, Game, ToyGans, drawn
from ntkexp.theory.information.toys import TOYS, gaussians, spiral
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table

PLACE = Place(StudyConfig(), torch.device("cpu"))


def some(*values: list[float]) -> list[Tensor]:
    return [torch.tensor(each) for each in values]


def test_a_longer_gradient_keeps_its_direction_and_gets_the_length_of_the_other() -> None:
    long, by = some([3.0, 0.0], [4.0]), some([1.0], [2.0, 2.0])
    found = clipped(long, by=by)
    assert norm(found).item() == pytest.approx(3.0)
    assert torch.allclose(torch.cat(found) / 3, torch.cat(long) / 5)


def test_a_shorter_gradient_stays_and_none_stays_none() -> None:
    short = some([0.1, 0.2])
    assert torch.equal(clipped(short, by=some([5.0]))[0], short[0])
    assert torch.equal(clipped(some([0.0, 0.0]), by=some([5.0]))[0], torch.zeros(2))
    assert torch.equal(clipped(short, by=some([0.0]))[0], torch.zeros(2))


@pytest.mark.parametrize("name", TOYS)
def test_the_data_capture_every_mode_with_nearly_all_samples(name: str) -> None:
    """Of a normal vector in the plane 1.1 % are farther than three standard deviations."""
    toy = TOYS[name]()
    captured, near = toy.captured(drawn(toy, 10_000, torch.Generator().manual_seed(0)))
    assert captured == toy.count == {"gaussians": 25, "spiral": 50}[name]
    assert near > 0.985


def test_a_mode_needs_samples_enough_within_its_reach() -> None:
    corner = torch.tensor([[2.0, 2.0]])
    assert gaussians().captured(corner.repeat(100, 1)) == (1, 1.0)
    assert gaussians().captured(corner.repeat(99, 1)) == (0, 1.0)
    assert gaussians().captured(corner.repeat(200, 1) + 0.14) == (0, 0.0)


def test_stretches_of_the_spiral_are_equally_long() -> None:
    toy = spiral()
    lengths = [np.ptp(np.flatnonzero(toy.modes == mode)) for mode in (0, 49)]
    # The first points lie nearer to one another, for the curve is drawn faster outside.
    assert lengths[0] > 2 * lengths[1]
    steps = np.linalg.norm(np.diff(toy.points, axis=0), axis=1)
    arcs = np.bincount(toy.modes[:-1], weights=steps)
    assert arcs == pytest.approx(np.full(50, arcs.mean()), rel=0.02)


@pytest.mark.parametrize("clip", [True, False])
def test_a_generator_follows_its_own_gradient_and_that_of_the_information(clip: bool) -> None:
    """Beside autograd on both losses, written down anew."""
    work = Game(ToyGans(clip=clip, beta=2.0, batch_size=50), PLACE)
    prior = work.prior(50, "test", 0)
    fake = work.networks["generator"](prior)
    taken: list[Tensor] = []
    update = work.updates["generator"]
    update.take, update.apply = taken.extend, lambda lr: None  # type: ignore[assignment, method-assign]
    work.generate(fake, prior[:, NOISE:])

    weights = [*work.networks["generator"].parameters()]
    fake = work.networks["generator"](prior)
    code = prior[:, NOISE:]
    own = torch.autograd.grad(
        softplus(-work.networks["discriminator"](fake)).mean(), weights, retain_graph=True
    )
    T = work.networks["statistics"]
    together = T(torch.cat([fake, code], 1)).mean()
    apart = T(torch.cat([fake, code.roll(1, 0)], 1)).exp().mean()
    mean = 0.99 + 0.01 * apart.detach()
    more = torch.autograd.grad(2.0 * (apart / mean - together), weights)
    ratio = (norm(own) / norm(more)).clamp(max=1) if clip else 1.0
    for found, first, second in zip(taken, own, more, strict=True):
        assert torch.allclose(found, first + ratio * second, atol=1e-6)


def test_without_the_information_there_is_no_statistics_network() -> None:
    work = Game(ToyGans(beta=0.0), PLACE)
    assert [*work.networks] == ["discriminator", "generator"]
    # Each player begins alike whatever the others are.
    other = Game(ToyGans(), PLACE)
    for name, network in work.networks.items():
        for mine, theirs in zip(
            network.parameters(), other.networks[name].parameters(), strict=True
        ):
            assert torch.equal(mine, theirs)


def test_a_game_that_is_cut_short_goes_on(tmp_path: Path) -> None:
    words = ("study=toy_gans", "study.steps=6", "study.shown=[3]", "probing.spacing=linear",
             "probing.every=3", "members={study.beta:[0.0,1.0]}", "progress=false",
             "device=cpu")  # fmt: skip
    run = goes_on(tmp_path, *words, stop_at=4, command="study")
    assert table(run, "gan_looks")["step"].tolist() == [0, 0, 3, 3, 6, 6]
    assert table(run, "gan_samples").groupby("step").size().to_dict() == {3: 4000, 6: 4000}
    looks = table(run, "gan_looks").set_index(["study.beta", "step"])
    assert looks.loc[(1.0, 6), "information_norm"] > 0
    assert looks.loc[(0.0, 6), "information_norm"] == 0
