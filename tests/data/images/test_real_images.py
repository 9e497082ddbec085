"""The real images, where NTKEXP_DATA has them."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest
import torch

from ntkexp.data import load
from ntkexp.data.images.options import Difficult
from ntkexp.data.images.sources import read
from ntkexp.data.mnist import Mnist

CPU = torch.device("cpu")


def test_mnist_is_mnist_bit_for_bit(real_images: Path) -> None:
    images = read("mnist", "train", progress=False)
    idx = struct.pack(">4B3I", 0, 0, 8, 3, *images.pixels[:, 0].shape) + images.pixels.tobytes()
    assert hashlib.md5(idx).hexdigest() == "6bbc9ace898e44ae57da46a324031adb"


def test_mnist_and_kmnist_part_as_in_the_easy_and_difficult_experiment(real_images: Path) -> None:
    config = Mnist(
        train_examples=10_000,
        difficult=Difficult.kmnist,
        difficult_examples=1_000,
    )
    data = load(config, 0, CPU, progress=False)
    assert len(data.train) == 11_000
    assert int(data.train.difficult.sum()) == 1_000
    assert data.mean + data.std == pytest.approx((0.1307, 0.3081), abs=5e-5)
    assert torch.bincount(data.train.targets).min() > 800
    assert len(data.test) == 10_000


def test_cifar10_has_the_moments_that_it_is_normalised_by(real_images: Path) -> None:
    images = read("cifar10", "test", progress=False)
    assert images.pixels.shape == (10_000, 3, 32, 32)
    assert torch.bincount(torch.from_numpy(images.labels)).tolist() == [1_000] * 10
    data = images.pixels / 255.0
    assert data.mean(axis=(0, 2, 3)).tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.01)
