"""Signals along curves with petals."""

from __future__ import annotations

import pytest
import torch

from ntkexp import data
from ntkexp.data.petal_classes import PetalClasses
from ntkexp.data.petals import Petals
from ntkexp.data.sines import Sines

CPU = torch.device("cpu")


def test_the_targets_are_those_of_the_line() -> None:
    frequencies = [20, 40]
    curve = data.load(Petals(frequencies=frequencies, petals=4), 2, CPU, progress=False)
    line = data.load(Sines(frequencies=frequencies, train_examples=1000), 2, CPU, progress=False)
    assert torch.equal(curve.train.targets, line.train.targets)
    assert curve.train.inputs.shape == (1000, 2)
    assert curve.train.inputs[0].tolist() == [1, 0]


@pytest.mark.parametrize("k", [50, 200, 400])
@pytest.mark.parametrize("phase", [0.0, 1.0, 4.0])
def test_a_third_of_the_points_is_of_class_one_at_any_phase(k: int, phase: float) -> None:
    signal = PetalClasses(frequency=k, phase=phase)
    share = data.load(signal, 0, CPU, progress=False).train.targets.double().mean()
    assert float(share) == pytest.approx(1 / 3, abs=0.004)


def test_two_seeds_of_one_phase_have_one_target() -> None:
    one, other = (
        data.load(PetalClasses(phase=1.0), seed, CPU, progress=False).train.targets
        for seed in (0, 1)
    )
    assert torch.equal(one, other)
    drawn = data.load(PetalClasses(), 1, CPU, progress=False).train.targets
    assert not torch.equal(one, drawn)
