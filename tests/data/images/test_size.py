"""`data.size` puts black around images, so that networks for larger ones take them."""

from __future__ import annotations

import pytest
import torch

from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from tests.conftest import Ntkexp

pytestmark = pytest.mark.usefixtures("made_images")
CPU = torch.device("cpu")


@pytest.mark.parametrize(("size", "before", "after"), [(32, 2, 2), (31, 1, 2), (28, 0, 0)])
def test_the_images_are_in_the_middle_of_black_ones(size: int, before: int, after: int) -> None:
    plain = Mnist(train_examples=12, test_examples=5).build(0, CPU, progress=False)
    data = Mnist(train_examples=12, test_examples=5, size=size)
    framed = data.build(0, CPU, progress=False)
    assert framed.input_shape == data.shape().inputs == (1, size, size)
    black = (0 - plain.mean[0]) / plain.std[0]
    for large, small in ((framed.train, plain.train), (framed.test, plain.test)):
        expected = torch.full((len(small), 1, size, size), black)
        expected[:, :, before : size - after, before : size - after] = small.inputs
        assert torch.allclose(large.inputs, expected)
        assert torch.equal(large.targets, small.targets)


def test_vgg_trains_on_mnist(inside: Ntkexp) -> None:
    words = ("data=mnist", "data.size=32", "model=vgg11", "scale=tiny", "optim.steps=2")
    assert inside("train", *words, "progress=false").returncode == 0


def test_smaller_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"data\.size=27: puts zeros around .* kmnist, whose side"):
        Kmnist(size=27).check()
