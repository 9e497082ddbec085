"""The sum of sines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp import data
from ntkexp.data.sines import Amplitudes, Sines
from ntkexp.theory.spectral.dft import coefficients

CPU = torch.device("cpu")


@pytest.mark.parametrize("amplitudes", Amplitudes)
def test_the_targets_have_the_frequencies_that_are_named(amplitudes: Amplitudes) -> None:
    dataset = data.load(Sines(amplitudes=amplitudes), 3, CPU, progress=False)
    found = np.abs(coefficients(dataset.train.targets.double().numpy()))
    expected = np.zeros(101)
    rising = amplitudes is Amplitudes.increasing
    expected[5:51:5] = np.linspace(0.1, 1, 10) if rising else 1
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_grid_leaves_the_end_out_and_tests_lie_between() -> None:
    dataset = data.load(Sines(train_examples=4), 0, CPU, progress=False)
    assert dataset.train.inputs.flatten().tolist() == [0, 0.25, 0.5, 0.75]
    assert dataset.test.inputs.flatten().tolist() == [0.125, 0.375, 0.625, 0.875]


def test_phases_are_the_seeds() -> None:
    one, again, other = (
        data.load(Sines(), seed, CPU, progress=False).train.targets for seed in (0, 0, 1)
    )
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)
