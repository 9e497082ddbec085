"""How many weights theta of a box [-K, K]^P have high frequencies, |f~(k')| > eps at some k' > k
(Proposition A.6). The rate at which this share falls cannot be tested, since its kappa depends on
theta; that the share comes to nothing can, and so can Markov's inequality."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.piecewise import pieces

WIDTH, K, NETWORKS, EPS = 4, 1.0, 400, 2e-3
FREQUENCIES = 2 * pi * np.arange(1, 31)


@pytest.fixture(scope="module")
def spectra() -> Array:
    """(networks, frequencies): |f~(k)| of random networks, jumps at the ends left out, as the lemma
    is on functions that have none."""
    draws = np.random.default_rng(0)

    def uniform(*shape: int) -> Array:
        return draws.uniform(-K, K, shape)

    nets = [
        [(uniform(WIDTH, 1), uniform(WIDTH)), (uniform(1, WIDTH), uniform(1))]
        for _ in range(NETWORKS)
    ]
    return np.abs([pieces(net).kinks(FREQUENCIES) for net in nets])


def test_the_share_falls_with_the_frequency_and_comes_to_nothing(spectra: Array) -> None:
    """Every unit turns the slope by K^2 at most, at its breakpoint and at both ends, so that
    |f~(k)| <= 3 WIDTH K^2 / k^2: from kappa on no weights of the box are left."""
    bound = 3 * WIDTH * K**2
    assert bound / 6 < (spectra * FREQUENCIES**2).max() <= bound
    share = np.array([(spectra[:, i:] > EPS).any(1).mean() for i in range(len(FREQUENCIES))])
    assert (np.diff(share[:5]) < 0).all() and share[0] > 0.5
    kappa = (bound / EPS) ** 0.5
    beyond = kappa <= FREQUENCIES
    assert beyond.any() and not share[beyond].any()


def test_markovs_inequality_at_each_frequency(spectra: Array) -> None:
    """The share of one half of the networks, the mean of the other."""
    one, other = spectra[::2], spectra[1::2]
    for eps in (EPS, 5 * EPS):
        assert ((one > eps).mean(0) <= other.mean(0) / eps).all()
