"""Some classes of CIFAR-10: which images, under which numbers."""

from __future__ import annotations

import pytest
import torch

from ntkexp import data
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.cifar_classes import CifarClasses
from ntkexp.errors import UserError
from tests.tiny_runs import composed

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("made_images")


def test_images_are_those_of_the_classes_under_new_numbers() -> None:
    found = data.load(CifarClasses(classes=[7, 2, 4]), seed=0, device=CPU, progress=False)
    whole = data.load(Cifar10(), seed=1, device=CPU, progress=False)
    for split, other in ((found.train, whole.train), (found.test, whole.test)):
        labels = {
            one.numpy().tobytes(): int(label)
            for one, label in zip(other.inputs, other.targets, strict=True)
        }
        assert len(split) == sum(label in (7, 2, 4) for label in labels.values())
        for one, target in zip(split.inputs, split.targets.tolist(), strict=True):
            assert labels[one.numpy().tobytes()] == [7, 2, 4][target]
    assert found.classes == 3 and found.checksums == dict(CifarClasses().files())


def test_fewer_images_are_the_first_of_more() -> None:
    more, fewer = (
        data.load(CifarClasses(train_examples=count), seed=0, device=CPU, progress=False)
        for count in (50, 20)
    )
    assert torch.equal(more.train.inputs[:20], fewer.train.inputs)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("data.classes=[1]", r"data\.classes=\[1\]: expected a list of 2 or more different"),
        ("data.classes=[1,1]", "different values"),
        ("data.classes=[1,10]", "values, each 0 to 9"),
    ],
)
def test_no_two_classes_are_refused(word: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        composed(["data=cifar_classes", "model=mlp", word])


def test_more_images_than_there_are_is_refused() -> None:
    with pytest.raises(UserError, match=r"data\.train_examples=1,000: there are 240"):
        data.load(CifarClasses(train_examples=1000), seed=0, device=CPU, progress=False)
