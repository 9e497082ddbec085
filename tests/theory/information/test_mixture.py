from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ntkexp.theory.information import mixture


def test_it_is_the_mean_of_log_ratios_of_densities() -> None:
    stream = np.random.default_rng(0)
    mean, sigma = stream.normal(size=(6, 2)), stream.uniform(0.3, 1, size=(6, 2))
    whose = np.array([0, 3, 3, 5])
    z = mean[whose] + sigma[whose] * stream.normal(size=(4, 2))
    densities = stats.norm.pdf(z[:, None], mean, sigma).prod(2)
    by_hand = np.log(densities[np.arange(4), whose] / densities.mean(1)).mean()
    assert mixture.information(mean, sigma, z, whose) == pytest.approx(by_hand)


def test_inputs_that_are_told_apart_give_the_log_of_their_number_and_others_nothing() -> None:
    apart, alike = 100.0 * np.arange(40)[:, None], np.zeros((40, 1))
    sigma, whose = np.ones((40, 1)), np.arange(40)
    assert mixture.information(apart, sigma, apart + 0.5, whose) == pytest.approx(np.log(40))
    assert mixture.information(alike, sigma, alike + 0.5, whose) == pytest.approx(0)
