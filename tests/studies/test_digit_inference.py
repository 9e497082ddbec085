"""Encoders and decoders of digits: the text's networks, and how reconstructions are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ntkexp.config import StudyConfig
from ntkexp.models.cnn import Cnn
from ntkexp.studies.bidirectional import Variant
from ntkexp.studies.digit_inference import DigitInference, DigitModel
from ntkexp.studies.digit_networks import Encoder, Judge
from ntkexp.training.place import Place
from tests.tiny_runs import goes_on, table

pytestmark = pytest.mark.usefixtures("made_images")


def made(variant: Variant, base: int = 2) -> DigitModel:
    study = DigitInference(network=Cnn(base=2), variant=variant, base=base, batch_size=10)
    return DigitModel(study, Place(StudyConfig(), torch.device("cpu")))


def test_noise_enters_the_encoder_as_maps_of_equal_pixels() -> None:
    encoder = Encoder(5, [2, 3, 4]).double()
    x = torch.rand(3, 1, 28, 28, dtype=torch.float64)
    noise = torch.randn(3, 5, dtype=torch.float64)
    maps = torch.cat([x, noise[:, :, None, None].expand(3, 5, 28, 28)], 1)
    assert torch.allclose(
        encoder(x, noise), encoder.last(encoder.features(encoder.first(maps))), atol=1e-12
    )


def test_at_full_width_the_networks_are_those_of_tables_c4_to_c7() -> None:
    work = made(Variant.adversarial, base=64)
    networks = {"encoder": work.encoder, "decoder": work.decoder, **work.networks}
    shapes = {
        name: [tuple(w.shape) for w in network.parameters() if w.dim() > 1]
        for name, network in networks.items()
    }
    convolved = [(128, 64, 5, 5), (256, 128, 5, 5)]
    assert shapes["encoder"] == [
        (64, 129, 5, 5), *convolved, (256, 256, 4, 4), (128, 256),
    ]  # fmt: skip
    assert shapes["decoder"] == [
        (4 * 4 * 256, 128), (256, 128, 5, 5), (128, 64, 5, 5), (64, 1, 5, 5),
    ]  # fmt: skip
    assert shapes["discriminator"] == [
        (64, 1, 5, 5), *convolved, (1024, 4 * 4 * 256 + 128), (1, 1024),
    ]  # fmt: skip
    assert shapes["critic"] == [
        (64, 2, 5, 5), *convolved, (1024, 4 * 4 * 256), (1, 1024),
    ]  # fmt: skip
    mine = made(Variant.mine, base=64).networks["statistics"]
    assert sum(w.numel() for w in mine.parameters()) == sum(
        # Convolutions with their biases, what z adds to each channel, and a linear layer.
        25 * before * after + after + 128 * after
        for before, after in ((1, 64), (64, 128), (128, 256))
    ) + (4 * 4 * 256 + 1)


def test_both_arguments_of_a_judge_count() -> None:
    for code, second in ((7, torch.randn(4, 7)), (0, torch.rand(4, 1, 28, 28))):
        judge, x = Judge([1 if code else 2, 2, 2, 2], code, 8), torch.rand(4, 1, 28, 28)
        assert judge(x, second).shape == (4, 1)
        assert not torch.equal(judge(x, second), judge(x, second.flip(0)))
        assert not torch.equal(judge(x, second), judge(x.flip(0), second))


def test_a_perfect_reconstruction_shows_what_the_image_shows() -> None:
    work = made(Variant.ali)
    work.encoder.forward = lambda x, noise: x
    work.decoder.forward = lambda z: z
    found = work.judged()
    assert found["error"] == 0
    assert found["similarity"] == pytest.approx(1)
    assert found["accuracy"] == found["of_images"] == work.classifier.accuracy()


def test_the_error_is_a_distance_between_images_of_minus_one_to_one() -> None:
    work = made(Variant.ali)
    work.encoder.forward = lambda x, noise: x
    work.decoder.forward = lambda z: -torch.ones_like(z)
    pixels = work.pixels["test"].double() / 255
    by_hand = 2 * pixels.flatten(1).norm(dim=1).mean()
    assert work.judged()["error"] == pytest.approx(by_hand.item(), rel=1e-5)


@pytest.mark.parametrize("variant", ["mine", "adversarial"])
def test_a_model_that_is_cut_short_goes_on(variant: str, tmp_path: Path) -> None:
    words = ("study=digit_inference", "+model@study.network=cnn", "study.network.base=2",
             f"study.variant={variant}", "study.base=2", "study.steps=4", "study.batch_size=10",
             "probing.spacing=linear", "probing.every=2", "progress=false",
             "device=cpu")  # fmt: skip
    run = goes_on(tmp_path, *words, stop_at=3, command="study")
    looks = table(run, "digit_inference")
    assert looks["step"].tolist() == [0, 2, 4]
    assert (looks["information_norm"].gt(0).iloc[-1]) == (variant == "mine")
