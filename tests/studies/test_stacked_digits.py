"""Stacked MNIST: its examples, what a generator's samples are taken for, and its updates."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ntkexp.config import StudyConfig
from ntkexp.data.images.sources import read
from ntkexp.information.clip import norm
from ntkexp.models.cnn import Cnn
from ntkexp.studies.stacked_digits import EXAMPLES, StackedDigits, Stacking
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table, train

pytestmark = pytest.mark.usefixtures("made_images")


def made(**options: object) -> Stacking:
    study = StackedDigits(network=Cnn(base=2), base=2, **options)  # type: ignore[arg-type]
    return Stacking(study, Place(StudyConfig(), torch.device("cpu")))


def test_an_example_is_three_digits_in_their_channels() -> None:
    """Every triple is about as frequent as the digits of its channels."""
    work = made(batch_size=20)
    images, labels = read("mnist", "train"), torch.from_numpy(read("mnist", "train").labels)
    rows = work.order.indices(3)
    for image, triple in zip(work.real(3), work.triples[rows], strict=True):
        for channel, row in zip(image, triple.tolist(), strict=True):
            digit = torch.from_numpy(images.pixels[row, 0]).float()
            assert torch.allclose((channel + 1) * 127.5, digit, atol=1e-4)
    assert work.triples.shape == (EXAMPLES, 3)
    counts = torch.bincount(labels[work.triples] @ torch.tensor([100, 10, 1]), minlength=1000)
    assert counts.sum() == EXAMPLES and counts.min() > 70 and counts.max() < 190


def test_codes_are_uniform_on_the_cube() -> None:
    z = made().prior(1000, "test", 0)
    assert z.shape == (1000, 100) and z.abs().max() <= 1
    assert z.var().item() == pytest.approx(1 / 3, rel=0.01)
    assert abs(z.mean().item()) < 0.01


def test_samples_are_taken_for_the_digits_of_their_channels() -> None:
    work = made(samples=30)
    prior = work.prior(30, "gan.look", 0)
    with torch.no_grad(), work.looked_at(None, scheduled=True):
        images = work.networks["generator"](prior)
        by_hand = [work.classifier.classes(images[:, channel]) for channel in range(3)]
        assert torch.equal(work.triples_of(prior), torch.stack(by_hand, 1))
    ((_, row),) = [written for written in work.rows() if written[0] == "stacked_looks"]
    assert row["captured"] == len({*map(tuple, torch.stack(by_hand, 1).tolist())})


def test_a_generator_follows_its_own_gradient_and_that_of_the_information() -> None:
    """Beside autograd on both losses, written down anew; T is told of each image and its own code,
    and of the image and the code of the one before."""
    work = made(beta=2.0, batch_size=10)
    prior, taken = work.prior(10, "test", 0), list[Tensor]()
    update = work.updates["generator"]
    update.take, update.apply = taken.extend, lambda lr: None  # type: ignore[assignment, method-assign]
    work.generate(work.networks["generator"](prior), prior)

    weights = [*work.networks["generator"].parameters()]
    fake = work.networks["generator"](prior)
    chance = work.networks["discriminator"](fake).sigmoid()
    own = torch.autograd.grad(-chance.log().mean(), weights, retain_graph=True)
    T = work.networks["statistics"]
    apart = torch.stack([T(fake[[i]], prior[[i - 1]])[0] for i in range(10)]).exp().mean()
    mean = 0.99 + 0.01 * apart.detach()
    more = torch.autograd.grad(2.0 * (apart / mean - T(fake, prior).mean()), weights)
    ratio = (norm(own) / norm(more)).clamp(max=1)
    for found, first, second in zip(taken, own, more, strict=True):
        assert torch.allclose(found, first + ratio * second, atol=1e-6)


def test_g_and_d_have_a_quarter_of_the_text_s_channels_and_t_all() -> None:
    study = StackedDigits(network=Cnn(base=2))
    work = Stacking(study, Place(StudyConfig(), torch.device("cpu")))
    shapes = [tuple(w.shape) for w in work.networks["discriminator"].parameters() if w.dim() == 4]
    assert shapes == [(16, 3, 5, 5), (32, 16, 5, 5), (64, 32, 5, 5), (128, 64, 5, 5)]
    statistics = [tuple(w.shape) for w in work.networks["statistics"].parameters() if w.dim() == 4]
    assert statistics == [(16, 3, 5, 5), (32, 16, 5, 5), (64, 32, 5, 5)]


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_a_game_that_is_cut_short_goes_on(beta: float, tmp_path: Path) -> None:
    words = ("data=mnist", "model=cnn", "model.base=2", "probe=[]", "optim.steps=5")
    parent = train(tmp_path / "parent", *words, "progress=false", "device=cpu")
    run = goes_on(
        tmp_path, "study=stacked_digits", "+model@study.network=cnn", "study.network.base=2",
        f"study.weights.run={parent}", f"study.beta={beta}", "study.base=2", "study.steps=4",
        "study.samples=40", "study.batch_size=10", "probing.spacing=linear", "probing.every=2",
        "progress=false", "device=cpu", stop_at=3, command="study",
    )  # fmt: skip
    looks, pixels = table(run, "stacked_looks"), table(run, "stacked_samples")
    assert looks["step"].tolist() == [0, 2, 4]
    assert (looks["information_norm"].iloc[-1] > 0) == (beta > 0)
    assert looks["accuracy"].nunique() == 1
    assert sorted(pixels["image"].unique()) == [*range(-25, 25)]
    assert pixels[["red", "green", "blue"]].to_numpy().min() >= 0
    assert len(pixels) == 50 * 28 * 28
