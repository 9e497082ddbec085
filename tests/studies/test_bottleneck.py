"""Digits through a bottleneck: what is lowered, and what is known of a Gaussian code."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from ntkexp.config import StudyConfig
from ntkexp.seeds import generator
from ntkexp.studies.bottleneck import AVERAGED, Bottleneck, Training
from ntkexp.studies.bottleneck_networks import CODE, Encoder, Statistics, Variant
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table

pytestmark = pytest.mark.usefixtures("made_images")


def made(variant: Variant, **options: object) -> Training:
    study = Bottleneck(variant=variant, examples=60, **options)  # type: ignore[arg-type]
    return Training(study, Place(StudyConfig(), torch.device("cpu")))


@pytest.mark.parametrize("variant", Variant)
def test_every_way_takes_a_step_and_averages_its_weights(variant: Variant) -> None:
    work = made(variant)
    before = [w.detach().clone() for w in work.networks["averaged"].parameters()]
    assert math.isfinite(work.update(0)["classifier_loss"])
    for was, now, mean in zip(
        before,
        work.networks["classifier"].parameters(),
        work.networks["averaged"].parameters(),
        strict=True,
    ):
        assert not torch.equal(was, now)
        assert torch.allclose(mean, AVERAGED * was + (1 - AVERAGED) * now, atol=1e-8)
    assert ("statistics" in work.networks) is variant.measured
    assert 0 <= work.error() <= 1


def test_dvb_is_the_distance_from_a_standard_normal_code() -> None:
    work = made(Variant.dvb, beta=0.5)
    classifier = work.networks["classifier"]
    assert isinstance(classifier, torch.nn.ModuleDict)
    x = work.images("train", slice(0, 7))
    z, mean, sigma = work.codes(classifier, x, generator(0, "test"), training=True)
    assert mean is not None and sigma is not None
    penalty, found = work.penalty(x, z, mean, sigma, z, ())
    by_hand = kl_divergence(Normal(mean, sigma), Normal(0, 1)).sum(1).mean()
    assert found == pytest.approx(by_hand.item(), rel=1e-5)
    assert penalty.item() == pytest.approx(0.5 * found)


def test_the_encoder_lowers_what_the_statistics_network_raises() -> None:
    work = made(Variant.mine_gaussian, beta=1.0)
    x, z = work.images("train", slice(0, 20)), torch.randn(20, CODE, requires_grad=True)
    loss, _, _ = work.told_apart(x, z, ())
    (raises,) = torch.autograd.grad(-loss, z)
    work.memory["log_mean"] = torch.zeros(())
    penalty, _ = work.penalty(x, z, None, None, z, ())
    (lowers,) = torch.autograd.grad(penalty, z)
    assert torch.allclose(lowers, raises)


def test_noise_is_there_in_training_alone() -> None:
    for variant in (Variant.noise, Variant.dropout):
        work = made(variant)
        classifier = work.networks["classifier"]
        assert isinstance(classifier, torch.nn.ModuleDict)
        x = work.images("train", slice(0, 5))
        twice = [
            work.codes(classifier, x, generator(0, "test", draw), training=training)[0]
            for training in (False, True)
            for draw in (0, 1)
        ]
        assert torch.equal(twice[0], twice[1])
        assert not torch.equal(twice[2], twice[3])
    T = Statistics(4)
    pairs, noise = torch.ones(3, 4), [torch.ones(3, 4), torch.ones(3, 512), torch.ones(3, 512)]
    assert not torch.equal(T(pairs), T(pairs, noise))


def test_dropout_leaves_the_mean_of_a_linear_map() -> None:
    encoder = Encoder(3, 2)
    x, masks = torch.rand(2, 3), torch.ones(2, 2, 1024)
    assert torch.equal(encoder(x), encoder(x, masks))
    assert torch.allclose(encoder(x, 0 * masks), encoder.last.bias.expand(2, 2))


def test_rates_fall_by_three_per_cent() -> None:
    work = made(Variant.baseline, shrink_every=10, lr=0.1)
    assert work.rate("classifier", 9) == 0.1
    assert work.rate("classifier", 30) == pytest.approx(0.1 * 0.97**3)


@pytest.mark.parametrize("variant", ["mine_gaussian", "dropout"])
def test_a_training_that_is_cut_short_goes_on(variant: str, tmp_path: Path) -> None:
    words = ("study=bottleneck", f"study.variant={variant}", "study.examples=60", "study.steps=4",
             "probing.spacing=linear", "probing.every=2", "progress=false",
             "device=cpu")  # fmt: skip
    run = goes_on(tmp_path, *words, stop_at=3, command="study")
    (found,) = table(run, "bottleneck_information").to_dict("records")
    gaussian = variant == "mine_gaussian"
    # As it is drawn, sigma is .007: every image has a code of its own.
    assert (found["truth"] == pytest.approx(math.log(60))) is gaussian
    assert math.isnan(found["mine"]) is not gaussian
    assert table(run, "bottleneck")["step"].tolist() == [0, 2, 4]
