"""Which images a run sees, and with which labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ntkexp.data import Dataset, load, sharing
from ntkexp.data.base import Data
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.disk import Disk
from ntkexp.data.images.dataset import Images
from ntkexp.data.images.options import Augment, Difficult, Standardise
from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError

CPU = torch.device("cpu")


def of(config: Images, seed: int = 0) -> Dataset:
    return load(config, seed, CPU, progress=False)


def pixels(inputs: torch.Tensor, dataset: Dataset) -> torch.Tensor:
    """The bytes that normalised inputs came from."""
    mean, std = (torch.tensor(v).view(-1, 1, 1) for v in (dataset.mean, dataset.std))
    return ((inputs * std + mean) * 255).round().byte()


def rows(inputs: torch.Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in inputs}


def test_all_images_are_there_in_the_seeds_order(made_up: Any) -> None:
    made_up.parquet("mnist", train=30, test=10)
    data = of(Mnist())
    assert (data.classes, data.input_shape) == (10, (1, 28, 28))
    assert (len(data.train), len(data.test)) == (30, 10)
    images, labels = made_up.images("mnist", 30, seed=1)
    label_of = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    seen = pixels(data.train.inputs, data)
    assert rows(seen) == set(label_of)
    assert [label_of[image.numpy().tobytes()] for image in seen] == data.train.targets.tolist()
    assert not torch.equal(seen, pixels(of(Mnist(), 1).train.inputs, data))
    assert set(data.checksums) == {
        "mnist/train-00000-of-00001.parquet",
        "mnist/test-00000-of-00001.parquet",
    }
    assert len(data.remarks) == 2


def test_a_grey_dataset_is_normalised_by_its_own_training_set(made_up: Any) -> None:
    made_up.parquet("kmnist", train=40)
    data = of(Kmnist())
    assert data.train.inputs.dtype == torch.float32
    assert data.train.inputs.double().mean().item() == pytest.approx(0, abs=1e-6)
    assert data.train.inputs.double().std(correction=0).item() == pytest.approx(1, abs=1e-6)
    few = of(Kmnist(train_examples=3))
    assert (few.mean, few.std) == (data.mean, data.std)


def test_cifar_is_normalised_by_the_published_moments(made_up: Any) -> None:
    made_up.pickles()
    data = of(Cifar10())
    assert data.mean == (0.4914, 0.4822, 0.4465)
    assert data.std == (0.2023, 0.1994, 0.2010)
    assert not pixels(data.pad_value.view(3, 1, 1), data).any()  # black


def test_images_are_standardised_as_asked(made_up: Any) -> None:
    """By their own moments each channel has mean 0 and deviation 1; by none pixels stay."""
    made_up.pickles()
    own, none = (of(Cifar10(standardise=way)) for way in (Standardise.own, Standardise.none))
    channels = own.train.inputs.double().transpose(0, 1).flatten(1)
    torch.testing.assert_close(channels.mean(1), torch.zeros(3).double(), rtol=0, atol=1e-6)
    torch.testing.assert_close(channels.std(1, correction=0), torch.ones(3).double())
    few = of(Cifar10(standardise=Standardise.own, train_examples=3))
    assert (few.mean, few.std) == (own.mean, own.std)
    raw = (none.test.inputs * 255).round().byte()
    assert raw.max() > 1 and torch.equal(raw, pixels(own.test.inputs, own))


def test_fewer_examples_are_the_first_of_more(made_up: Any) -> None:
    made_up.parquet("mnist", train=60, test=20)
    every = of(Mnist(noise=0.5))
    few = of(Mnist(noise=0.5, train_examples=25, test_examples=7))
    assert (len(few.train), len(few.test)) == (25, 7)
    for name in ("inputs", "targets", "clean_targets", "corrupted", "difficult"):
        assert torch.equal(getattr(few.train, name), getattr(every.train, name)[:25])
        assert torch.equal(getattr(few.test, name), getattr(every.test, name)[:7])


def test_noise_touches_training_labels_only(made_up: Any) -> None:
    made_up.parquet("mnist", train=200, test=200)
    clean, noisy = of(Mnist()), of(Mnist(noise=0.5))
    assert torch.equal(clean.train.inputs, noisy.train.inputs)
    assert torch.equal(clean.train.targets, noisy.train.clean_targets)
    changed = noisy.train.targets != noisy.train.clean_targets
    assert 50 < int(changed.sum()) < 130
    assert bool((noisy.train.corrupted | ~changed).all())
    assert not clean.train.corrupted.any()
    assert torch.equal(noisy.test.targets, clean.test.targets)
    assert not noisy.test.corrupted.any()
    assert not noisy.train.difficult.any()


def test_random_label_part_is_of_further_images(made_up: Any) -> None:
    made_up.parquet("mnist", train=200)
    config = Mnist(train_examples=100, difficult=Difficult.random_labels, difficult_examples=50)
    data = of(config)
    difficult = data.train.difficult
    assert (len(data.train), int(difficult.sum())) == (150, 50)
    assert len(rows(data.train.inputs)) == 150  # no image twice
    assert torch.equal(data.train.corrupted, difficult)
    easy = data.train.targets[~difficult] == data.train.clean_targets[~difficult]
    hard = data.train.targets[difficult] == data.train.clean_targets[difficult]
    assert easy.all()
    assert 0 <= int(hard.sum()) < 15  # one in ten by chance
    config.noise_excludes_true = True
    data = of(config)
    assert (data.train.targets != data.train.clean_targets)[difficult].all()
    assert not data.test.difficult.any()


def test_random_label_part_leaves_the_easy_part_as_it_was(made_up: Any) -> None:
    made_up.parquet("mnist", train=100)
    with_part = Mnist(noise=0.3, difficult=Difficult.random_labels, difficult_examples=20)
    both = of(with_part)  # null train_examples: all that the difficult part leaves
    easy = of(Mnist(noise=0.3, train_examples=80))
    assert len(both.train) == 100
    assert torch.equal(both.train.targets[:80], easy.train.targets)
    assert torch.equal(both.train.inputs[:80], easy.train.inputs)


def test_kmnist_part_has_its_own_labels_and_mnists_input_map(made_up: Any) -> None:
    made_up.parquet("mnist", train=50)
    made_up.parquet("kmnist", train=40)
    config = Mnist(
        noise=1.0,
        train_examples=30,
        difficult=Difficult.kmnist,
        difficult_examples=15,
    )
    data = of(config)
    difficult = data.train.difficult
    assert difficult.tolist() == [False] * 30 + [True] * 15
    assert torch.equal(data.train.targets[30:], data.train.clean_targets[30:])
    assert torch.equal(data.train.corrupted, ~difficult)
    kmnist = of(Kmnist())
    of_kmnist = rows(pixels(kmnist.train.inputs, kmnist))
    assert rows(pixels(data.train.inputs[30:], data)) <= of_kmnist
    assert data.mean == of(Mnist()).mean
    assert "kmnist/train-00000-of-00001.parquet" in data.checksums
    assert any(remark.startswith("kmnist: 40 train") for remark in data.remarks)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (Mnist(noise=1.5), "data.noise=1.5: .* from 0 to 1"),
        (Mnist(noise=float("nan")), "data.noise=nan"),
        (Mnist(train_examples=0), "data.train_examples=0"),
        (Mnist(test_examples=-1), "data.test_examples=-1"),
        (Mnist(difficult_examples=9), "data.difficult=none"),
        (Mnist(difficult=Difficult.kmnist), "kmnist needs 1 or more"),
        (
            Cifar10(difficult=Difficult.kmnist, difficult_examples=1),
            "data.difficult=kmnist: goes with data=mnist, not cifar10",
        ),
        (Disk(train_examples=0), "data.train_examples=0"),
        (Disk(grid=1), "data.grid=1"),
        (Mnist(name="disk"), "data.name=disk: expected mnist; data=NAME chooses another"),
    ],
)
def test_the_impossible_is_refused_before_any_image_is_read(config: Data, says: str) -> None:
    with pytest.raises(UserError, match=says) as refusal:
        load(config, seed=0, device=CPU)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"train_examples": 31}, "data.train_examples: 31 training examples, mnist has 30"),
        ({"test_examples": 11}, "data.test_examples=11: there are 10"),
        (
            {
                "train_examples": 25,
                "difficult": Difficult.random_labels,
                "difficult_examples": 6,
            },
            r"25 \+ 6 difficult training examples, mnist has 30",
        ),
        (
            {"difficult": Difficult.kmnist, "difficult_examples": 41},
            "data.difficult_examples=41: there are 40",
        ),
    ],
)
def test_more_examples_than_there_are_is_refused(
    made_up: Any, changes: dict[str, Any], says: str
) -> None:
    made_up.parquet("mnist", train=30, test=10)
    made_up.parquet("kmnist", train=40)
    with pytest.raises(UserError, match=says):
        of(Mnist(**changes))


def test_members_of_one_seed_hold_their_shared_images(made_up: Any) -> None:
    made_up.parquet("mnist")
    clean, noisy = Mnist(), Mnist(noise=0.5)
    with sharing():
        one, same, other = of(clean), of(noisy), of(clean, seed=1)
        for split in ("train", "test"):
            inputs = getattr(one, split).inputs
            assert getattr(same, split).inputs is inputs
            assert getattr(other, split).inputs.data_ptr() != inputs.data_ptr()
        assert not torch.equal(same.train.targets, one.train.targets)
    assert of(clean).train.inputs is not one.train.inputs
    torch.testing.assert_close(of(noisy).train.inputs, same.train.inputs, rtol=0, atol=0)


def test_augmentation_is_passed_on(made_up: Any) -> None:
    made_up.pickles()
    assert of(Cifar10(augment=Augment.crop_flip)).augment is Augment.crop_flip
