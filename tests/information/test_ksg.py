from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_regression

from ntkexp.information.ksg import ksg
from ntkexp.theory.information.gaussian import information


def pairs(n: int, rho: float, dimension: int = 1) -> tuple[np.ndarray, np.ndarray]:
    x, noise = np.random.default_rng(0).normal(size=(2, n, dimension))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_it_is_what_scikit_learn_computes(rho: float) -> None:
    x, z = (part / part.std(0) for part in pairs(800, rho))
    (theirs,) = mutual_info_regression(x, z[:, 0], n_neighbors=3, random_state=0)
    assert max(ksg(x, z), 0) == pytest.approx(theirs, abs=1e-6)


def test_of_vectors_it_is_what_all_distances_give() -> None:
    """Equation 8, from the tables of all distances."""
    x, z = pairs(60, 0.7, dimension=3)
    of_x, of_z = (np.abs(part[:, None] - part[None]).max(2) for part in (x, z))
    both = np.maximum(of_x, of_z)
    radii = np.sort(both, axis=1)[:, 3]  # the first is the point itself
    n_x, n_z = ((table < radii[:, None]).sum(1) - 1 for table in (of_x, of_z))
    by_hand = digamma(3) + digamma(60) - (digamma(n_x + 1) + digamma(n_z + 1)).mean()
    assert ksg(x, z) == pytest.approx(by_hand)


def test_it_is_near_the_truth_of_two_numbers_and_far_below_it_in_twenty_dimensions() -> None:
    assert ksg(*pairs(3000, 0.9)) == pytest.approx(information(0.9), abs=0.06)
    assert ksg(*pairs(1000, 0.7, dimension=20)) < information(0.7, 20) / 2
