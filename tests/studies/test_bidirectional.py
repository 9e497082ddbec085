"""Encoders and decoders: what each player lowers, written down anew, and the plane's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Normal
from torch.nn.functional import logsigmoid

from ntkexp.config import StudyConfig
from ntkexp.studies.bidirectional import Variant
from ntkexp.studies.toy_inference import LOOKS, POINTS, ToyInference, ToyModel
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table


def made(variant: Variant) -> ToyModel:
    study = ToyInference(variant=variant, batch_size=40)
    return ToyModel(study, Place(StudyConfig(), torch.device("cpu")))


def gradients_of_an_update(work: ToyModel) -> dict[str, list[Tensor]]:
    """By player, what its update takes; nothing is changed."""
    taken: dict[str, list[Tensor]] = {}
    for name, update in work.updates.items():

        def take(gradients: list[Tensor], name: str = name) -> None:
            taken[name] = [gradient.clone() for gradient in gradients]

        update.take, update.apply = take, lambda lr: None  # type: ignore[method-assign]
    work.update(0)
    return taken


def test_looks_see_what_training_saw() -> None:
    """Averages over noise and codes would not do: the decoder has both."""
    work = made(Variant.l2)
    for step in range(3):
        work.update(step)
    z = 0.1 * torch.randn(40, 2)
    trained = work.decoder(z)
    assert torch.equal(work.decoder.eval()(z), trained)


@pytest.mark.parametrize("variant", [Variant.ali, Variant.l2, Variant.adversarial])
def test_each_player_follows_its_objective(variant: Variant) -> None:
    work = made(variant)
    taken = gradients_of_an_update(work)

    x = work.real(0)
    noise, prior = work.normal(len(x), "inference.update", 0)
    z, fake = work.encoder(x, noise), work.decoder(prior)
    D = work.networks["discriminator"]
    of_q, of_p = D(x, z), D(fake, prior)
    raised = {"discriminator": logsigmoid(of_q).mean() + logsigmoid(-of_p).mean()}
    generator = logsigmoid(-of_q).mean() + logsigmoid(of_p).mean()
    if variant is Variant.l2:
        # That of a decoder of unit variance, but for a constant.
        density: Tensor = Normal(work.decoder(z), 1).log_prob(x)  # type: ignore[no-untyped-call]
        generator = generator + density.sum(1).mean()
    if variant is Variant.adversarial:
        C, again = work.networks["critic"], work.decoder(z)
        generator = generator + logsigmoid(C(x, again)).mean()
        raised["critic"] = logsigmoid(C(x, x)).mean() + logsigmoid(-C(x, again)).mean()
    raised["generator"] = generator
    assert taken.keys() == raised.keys()
    for name, objective in raised.items():
        weights = [*work.networks[name].parameters()]
        by_hand = torch.autograd.grad(-objective, weights, retain_graph=True)
        for found, expected in zip(taken[name], by_hand, strict=True):
            assert torch.allclose(found, expected, atol=1e-5)


def test_with_mine_encoder_and_decoder_have_the_game_of_ali_and_the_encoder_more() -> None:
    ali, mine = (gradients_of_an_update(made(which)) for which in (Variant.ali, Variant.mine))
    assert {*mine} == {*ali, "statistics"}
    parts = made(Variant.mine)
    first = len([*parts.encoder.parameters()])
    for without, beside in zip(ali["generator"][first:], mine["generator"][first:], strict=True):
        assert torch.equal(without, beside)
    assert not torch.allclose(ali["generator"][0], mine["generator"][0])


def test_the_plane_is_measured_with_points_that_nobody_trained_on() -> None:
    """An encoder and a decoder that do nothing reconstruct all, and draw what the prior draws."""
    work = made(Variant.ali)
    work.encoder.forward = lambda x, noise: x
    work.decoder.forward = lambda z: z
    work.last = 0
    work.look()
    written = dict(work.rows())
    looks, points = (each.frame(written[each.name]) for each in (LOOKS, POINTS))
    assert looks["error"].item() == 0
    # Normal samples lie near a centre now and then.
    assert 0.05 < looks["near"].item() < 0.3
    off = points[["again_x", "again_y"]].to_numpy() - work.toy.points[points["mode"]]
    assert np.abs(off).max() < 0.3


def test_a_model_that_is_cut_short_goes_on(tmp_path: Path) -> None:
    words = ("study=toy_inference", "study.steps=4", "probing.spacing=linear", "probing.every=2",
             "members={study.variant:[adversarial,mine]}", "progress=false",
             "device=cpu")  # fmt: skip
    run = goes_on(tmp_path, *words, stop_at=3, command="study")
    looks = table(run, "inference_looks").query("step == 4").set_index("study.variant")
    found = looks["information_norm"]
    assert found["mine"] > 0 == found["adversarial"]
    assert len(table(run, "inference_points")) == 2000
