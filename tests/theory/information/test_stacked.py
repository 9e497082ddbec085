"""Modes of Stacked MNIST, and how far samples are from the data."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.information.stacked import MODES, captured, counts, divergence

CHANCES = np.array([0.0987, 0.1124, 0.0993, 0.1022, 0.0974, 0.0904, 0.0986, 0.1044, 0.0975, 0.0991])


def test_modes_are_triples_in_their_order() -> None:
    assert counts([[0, 0, 7], [0, 7, 0]])[[7, 70]].tolist() == [1, 1]
    assert captured([[0, 0, 7], [0, 7, 0], [7, 0, 0], [7, 0, 0]]) == 3


def test_a_perfect_sampler_has_all_modes_and_the_divergence_of_its_noise() -> None:
    """999 / 2n on average, of whatever chances the digits have."""
    stream, n = np.random.default_rng(0), 26_000
    samples = [stream.choice(10, (n, 3), p=CHANCES) for _ in range(20)]
    assert {captured(digits) for digits in samples} == {MODES}
    found = np.mean([divergence(digits, CHANCES) for digits in samples])
    assert found == pytest.approx(999 / (2 * n), rel=0.05)


def test_one_mode_alone_is_as_far_as_it_is_rare() -> None:
    assert divergence([[1, 2, 3]] * 5, CHANCES) == pytest.approx(
        -np.log(CHANCES[1] * CHANCES[2] * CHANCES[3])
    )
    half = divergence([[1, 1, 1], [2, 2, 2]], np.full(10, 0.1))
    assert half == pytest.approx(np.log(1000 / 2))
