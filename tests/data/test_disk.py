"""The disk covers half of the square, and its lattice reads as an image."""

from __future__ import annotations

import math

import pytest
import torch

from ntkexp.data import load
from ntkexp.data.disk import Disk

CPU = torch.device("cpu")


def test_points_fill_the_square_and_half_of_them_lie_in_the_disk() -> None:
    train = load(Disk(train_examples=20_000), 0, CPU).train
    assert train.inputs.dtype == torch.float32
    assert train.inputs.abs().max() <= 1
    assert train.inputs.mean(dim=0).abs().max() < 0.03
    assert train.inputs.var(dim=0).tolist() == pytest.approx([1 / 3, 1 / 3], abs=0.01)
    assert train.targets.double().mean().item() == pytest.approx(0.5, abs=0.02)
    inside = train.inputs.norm(dim=1) <= math.sqrt(2 / math.pi)
    assert torch.equal(train.targets.bool(), inside)


def test_the_lattice_is_an_image_of_the_square_with_y_going_down_its_rows() -> None:
    test = load(Disk(grid=5), 0, CPU).test
    x, y = test.inputs.T.reshape(2, 5, 5)
    assert x[0].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert y[:, 0].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert test.targets.reshape(5, 5).tolist() == [
        [0, 0, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 1, 1, 1, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0],
    ]


def test_points_depend_on_the_seed_and_the_lattice_does_not() -> None:
    a, again, b = (load(Disk(), seed, CPU) for seed in (0, 0, 1))
    assert torch.equal(a.train.inputs, again.train.inputs)
    assert not torch.equal(a.train.inputs, b.train.inputs)
    assert torch.equal(a.test.inputs, b.test.inputs)
