"""Two classes of CIFAR-10, and subsets that have every kind alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp.data.cifar2 import Cifar2, in_turns
from ntkexp.data.images.sources import read
from ntkexp.errors import UserError
from tests.data.conftest import MadeUp

CPU = torch.device("cpu")


def test_the_first_five_kinds_are_one_class(made_up: MadeUp) -> None:
    """T9 of the paper's inventory: the classes are equally large."""
    made_up.parquet("cifar10", train=60, test=20)
    data = Cifar2().build(0, CPU, progress=False)
    assert data.classes == 2 and len(data.train) == 60 and len(data.test) == 20
    assert data.train.targets.sum() == 30 and data.test.targets.sum() == 10
    labels = read("cifar10", "test").labels
    # Every test image has the class of its kind: images are told apart by their first pixel row.
    raw = torch.from_numpy(read("cifar10", "test").pixels).float()
    mean, std = (torch.tensor(part).view(1, 3, 1, 1) for part in (data.mean, data.std))
    pixels = (data.test.inputs * std + mean) * 255
    for image, target in zip(pixels, data.test.targets, strict=True):
        row = int((raw - image).abs().sum((1, 2, 3)).argmin())
        assert int(target) == (labels[row] < 5)


@pytest.mark.parametrize("wanted", [10, 20, 40])
def test_subsets_are_stratified_and_nested(made_up: MadeUp, wanted: int) -> None:
    made_up.parquet("cifar10", train=60, test=20)
    part = Cifar2(train_examples=wanted).build(3, CPU, progress=False).train
    more = Cifar2(train_examples=wanted + 10).build(3, CPU, progress=False).train
    assert part.targets.sum() == wanted // 2
    assert torch.equal(part.inputs, more.inputs[:wanted])
    other = Cifar2(train_examples=wanted).build(4, CPU, progress=False).train
    assert not torch.equal(part.inputs, other.inputs)


@pytest.mark.parametrize("key", ["train_examples", "test_examples"])
def test_more_images_than_there_are_are_refused(made_up: MadeUp, key: str) -> None:
    made_up.parquet("cifar10", train=60, test=20)
    with pytest.raises(UserError, match=f"data.{key}=61: there are"):
        Cifar2(**{key: 61}).build(0, CPU, progress=False)


def test_turns_take_one_of_every_class() -> None:
    labels = np.repeat(np.arange(4), 5)
    order = np.random.default_rng(0).permutation(20)
    turns = in_turns(labels, order)
    assert sorted(turns) == list(range(20))
    for start in range(0, 20, 4):
        assert sorted(labels[turns[start : start + 4]]) == [0, 1, 2, 3]
    # Within a class the order stays.
    for label in range(4):
        own = [row for row in order if labels[row] == label]
        assert [row for row in turns if labels[row] == label] == own
