"""Sets with a spurious attribute: their proportions, their groups, and what an image becomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import data
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.dataset import Dataset
from ntkexp.data.digits_on_characters import DigitsOnCharacters, laid_over
from ntkexp.data.images.sources import files_here, read
from ntkexp.data.patched_cifar import PatchedCifar
from ntkexp.data.spurious import (
    SHARES,
    Kind,
    Marks,
    SpuriousImages,
    balanced_groups,
    counts_of,
    total_of,
)
from ntkexp.errors import UserError
from tests.tiny_runs import composed, train

CPU = torch.device("cpu")


# 300 and 60 images of each set, 30 and 6 of a class.
pytestmark = pytest.mark.usefixtures("made_images")


def load(options: SpuriousImages, seed: int = 0) -> Dataset:
    return data.load(options, seed=seed, device=CPU, progress=False)


def pixels_of(found: Dataset, split: str) -> np.ndarray:
    """Bytes again: (n, channels, H, W)."""
    inputs = {"train": found.train, "test": found.test}[split].inputs
    std, mean = (torch.tensor(one).view(-1, 1, 1) for one in (found.std, found.mean))
    return (255 * (inputs * std + mean)).round().numpy().astype(np.uint8)


def has_patch(found: Dataset, split: str, side: int) -> np.ndarray:
    corner = pixels_of(found, split)[:, :, :side, :side]
    return np.all(corner == np.array([255, 0, 255])[:, None, None], axis=(1, 2, 3))


def test_celebas_proportions() -> None:
    counts = counts_of(SHARES[Kind.celeba], 20_000)
    having = counts.positive_with + counts.negative_with
    assert counts.positive_with / having == pytest.approx(0.24, abs=1e-3)
    assert counts.positive_without / (20_000 - having) == pytest.approx(0.02, abs=1e-3)
    assert sum(counts) == 20_000


def test_waterbirds_proportions() -> None:
    counts = counts_of(SHARES[Kind.waterbirds], 10_000)
    assert counts == (4750, 250, 250, 4750)


def test_as_many_images_as_two_classes_give_and_no_more() -> None:
    shares = SHARES[Kind.celeba]
    total = total_of(shares, 5000, 5000, None, 20_000, "x")
    assert (
        counts_of(shares, total).negative_with + counts_of(shares, total).negative_without <= 5000
    )
    assert total == pytest.approx(5000 / (1 - shares.positive), abs=2)
    assert total_of(shares, 20_000, 30_000, None, 20_000, "x") == 20_000
    for wanted in (4, 9000):
        with pytest.raises(UserError, match=rf"data\.train_examples={wanted}: .* give 5 to 5,86"):
            total_of(shares, 5000, 5000, wanted, 20_000, "x")
    assert total_of(shares, 5000, 5000, 5, 20_000, "x") == 5 and min(counts_of(shares, 5)) == 1
    with pytest.raises(UserError, match="too few"):
        total_of(shares, 1, 5, None, 20_000, "x")


@pytest.mark.parametrize("kind", Kind)
def test_groups_are_balanced_and_disjoint(kind: Kind) -> None:
    stream = torch.Generator().manual_seed(0)
    marks = Marks(
        torch.rand(5000, generator=stream) < 0.2, torch.rand(5000, generator=stream) < 0.3
    )
    groups = balanced_groups(marks, kind, 180, 0, "train")
    for name in ("with", "without"):
        members = groups[name]
        assert int(members.sum()) == 360
        assert int(marks.positive[members].sum()) == 180
        expected = (
            marks.attribute if kind is Kind.celeba else marks.attribute == marks.positive
        ) == (name == "with")
        assert bool(expected[members].all())
    assert not bool((groups["with"] & groups["without"]).any())
    assert torch.equal(groups["balanced"], groups["with"] | groups["without"])


def test_a_group_takes_what_exists_and_the_run_says_so() -> None:
    """Waterbirds' own training set has 56 water birds on land and 184 land birds on water."""
    positive = torch.tensor([False] * 3498 + [False] * 184 + [True] * 56 + [True] * 1057)
    water = torch.tensor([False] * 3498 + [True] * 184 + [False] * 56 + [True] * 1057)
    groups = balanced_groups(Marks(positive, water), Kind.waterbirds, 180, 0, "train")
    sizes = {name: int(mask.sum()) for name, mask in groups.items()}
    assert sizes["with"] == 360
    assert sizes["positive_without"] == sizes["negative_without"] == 56
    found = load(PatchedCifar(balanced=9))
    assert (
        found.remarks[-1] == "test: 3 images of a label without the attribute to evaluate on, "
        "9 were asked for"
    )


@pytest.mark.parametrize("kind", Kind)
def test_the_patch_lies_where_the_groups_say(kind: Kind) -> None:
    found = load(PatchedCifar(proportions=kind, balanced=2, patch=5))
    assert len(found.test) == 8
    for split in (found.train, found.test):
        patch = torch.from_numpy(has_patch(found, "train" if split is found.train else "test", 5))
        expected = patch if kind is Kind.celeba else patch == split.targets.bool()
        for name, wanted in (("with", True), ("without", False)):
            assert bool((expected[split.groups[name]] == wanted).all())
            assert float(split.targets[split.groups[name]].double().mean()) == 0.5


def test_everything_outside_the_patch_is_an_image_of_its_class() -> None:
    found = load(PatchedCifar(positive=[0, 1], negative=[8], balanced=2))
    own = {image[:, 6:].tobytes(): label for image, label in _cifar()}
    for image, target in zip(pixels_of(found, "train"), found.train.targets, strict=True):
        label = own[image[:, 6:].tobytes()]
        assert int(target) == (label in (0, 1))
        assert label in (0, 1, 8)


def _cifar() -> list[tuple[np.ndarray, int]]:
    images = read("cifar10", "train", progress=False)
    return list(zip(images.pixels, images.labels.tolist(), strict=True))


def test_a_digit_covers_its_background() -> None:
    digits, characters = np.array([[0, 255, 51]], np.uint8), np.array([[100, 100, 200]], np.uint8)
    assert laid_over(digits, characters, 0.5).tolist() == [[50, 255, 131]]
    assert laid_over(digits, characters, 0.0).tolist() == digits.tolist()


def test_a_digit_on_its_background_is_rounded_to_the_nearest_byte() -> None:
    digits, characters = np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 2)
    exact = digits + (1 - digits / 255) * 0.7 * characters
    assert np.abs(laid_over(digits, characters, 0.7) - exact).max() < 0.501


def test_backgrounds_are_characters_of_the_attribute() -> None:
    """Where the digit has no ink at all one sees the character alone."""
    found = load(DigitsOnCharacters(balanced=2, brightness=1.0))
    characters = read("kmnist", "train", progress=False)
    kinds = {
        name: characters.pixels[characters.labels == label] for name, label in (("0", 0), ("1", 1))
    }
    digits = read("mnist", "train", progress=False)
    split = found.train
    for row in split.groups["balanced"].nonzero()[:, 0].tolist():
        label, agrees = bool(split.targets[row]), bool(split.groups["with"][row])
        has = label == agrees
        image = pixels_of(found, "train")[row].astype(float)
        pool = kinds[str(int(has))].astype(float)
        ink = digits.pixels[digits.labels == (8 if label else 3)].astype(float)
        made = ink[:, None] + (255 - ink[:, None]) / 255 * pool[None]
        assert np.abs(made - image).max(axis=(2, 3, 4)).min() <= 1


@pytest.mark.parametrize("options", [PatchedCifar(balanced=2), DigitsOnCharacters(balanced=2)])
def test_images_depend_on_the_seed_alone(options: SpuriousImages) -> None:
    one, same, other = (load(options, seed) for seed in (0, 0, 1))
    assert torch.equal(one.train.inputs, same.train.inputs)
    assert torch.equal(one.test.inputs, same.test.inputs)
    assert torch.equal(one.train.groups["with"], same.train.groups["with"])
    assert not torch.equal(one.train.inputs, other.train.inputs)
    assert set(one.checksums) == set(options.files())


def test_files_of_both_sets_are_told() -> None:
    assert files_here(Cifar10.images) == PatchedCifar().files()
    assert {name.split("/")[0] for name in DigitsOnCharacters().files()} == {"mnist", "kmnist"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["data=patched_cifar", "data.positive=[8]"], r"data\.negative=\[8\]: class 8 is positive"),
        (["data=patched_cifar", "data.positive=[]"], r"data\.positive=\[\]: expected a list of 1"),
        (["data=patched_cifar", "data.patch=40"], r"data\.patch=40: expected 1 to 32"),
        (["data=digits_on_characters", "data.digits=[3]"], r"data\.digits=\[3\]: .* 2 different"),
        (["data=digits_on_characters", "data.characters=[1,1]"], r"data\.characters=\[1, 1\]"),
    ],
)
def test_impossible_options_are_refused(words: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        composed([*words, "model=mlp"])


def test_groups_are_evaluated_on_both_splits(tmp_path: Path) -> None:
    words = (
        "data=patched_cifar",
        "data.balanced=2",
        "model=mlp",
        "optim.steps=2",
        "evaluate.subsets=[with,without]",
        "probing.examples=6",
        "progress=false",
    )
    evals = pd.read_parquet(train(tmp_path, *words) / "evals.parquet")
    assert {*zip(evals["split"], evals["subset"], strict=True)} == {
        (split, subset) for split in ("train", "test") for subset in ("all", "with", "without")
    }
    first = evals[(evals["step"] == 0) & (evals["split"] == "test")].set_index("subset")["accuracy"]
    assert first["all"] == pytest.approx((first["with"] + first["without"]) / 2)


def test_no_image_of_a_pair_is_refused() -> None:
    marks = Marks(torch.tensor([True, False]), torch.tensor([True, True]))
    with pytest.raises(UserError, match="no image of one label is without the attribute"):
        balanced_groups(marks, Kind.celeba, 180, 0, "train")
