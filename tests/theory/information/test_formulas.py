"""Truths of mutual information beside scipy, sampling and the thesis' inventory of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ntkexp.theory.information import circle, gaussian, noisy_functions, sample_size


def test_the_best_function_is_the_log_of_the_ratio_of_densities() -> None:
    rho, stream = 0.6, np.random.default_rng(0)
    x, z = stream.normal(size=(2, 5, 2))
    joint = stats.multivariate_normal(cov=[[1, rho], [rho, 1]])
    pairs = np.stack(np.broadcast_arrays(x[:, None], z[None]), axis=-1)  # (5, 5, d, 2)
    by_hand = joint.logpdf(pairs) - stats.norm.logpdf(pairs).sum(-1)
    assert gaussian.log_ratios(x, z, rho) == pytest.approx(by_hand.sum(-1))


def test_two_chi_squares_are_all_that_the_best_function_depends_on() -> None:
    rho, d, n = 0.7, 4, 4000
    stream = np.random.default_rng(1)
    x, noise = stream.normal(size=(2, n, 1, d))
    z = rho * x + np.sqrt(1 - rho**2) * noise
    joint, apart = gaussian.sampled_ratios(rho, d, n, stream)
    directly = gaussian.log_ratios(x, z, rho), gaussian.log_ratios(x, np.roll(z, 1, 0), rho)
    for short, long in zip((joint, apart), directly, strict=True):
        assert stats.ks_2samp(short, long.ravel()).pvalue > 0.01
    assert joint.mean() == pytest.approx(gaussian.information(rho, d), abs=0.1)


@pytest.mark.parametrize(
    ("function", "truths"),
    [
        ("identity", [1.667, 0.749, 0.419, 0.259, 0.172]),
        ("cube", [1.250, 0.470, 0.226, 0.128, 0.081]),
        ("sine", [1.536, 0.671, 0.365, 0.221, 0.145]),
    ],
)
def test_noisy_functions_have_other_informations(function: str, truths: list[float]) -> None:
    found = [noisy_functions.information(function, sigma) for sigma in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert found == pytest.approx(truths, abs=1e-3)


def test_a_line_with_much_noise_is_nearly_gaussian() -> None:
    """I -> log(1 + 1 / (3 sigma^2)) / 2, the variance of x being a third."""
    assert noisy_functions.information("identity", 5) == pytest.approx(
        math.log1p(1 / 75) / 2, rel=1e-3
    )


def test_theorem_5_5_asks_for_more_the_nearer_and_the_surer() -> None:
    given = {"M": 1, "K": 1, "L": 1, "parameters": 100}
    by_accuracy = [sample_size.samples(e, 0.05, **given) for e in (0.1, 0.2, 0.4)]
    by_chance = [sample_size.samples(0.1, delta, **given) for delta in (0.01, 0.1, 0.5)]
    assert by_accuracy == sorted(by_accuracy, reverse=True)
    assert by_chance == sorted(by_chance, reverse=True)
    # 1 / epsilon^2, but for a logarithm.
    tiny = [sample_size.samples(e, 0.05, **given) for e in (1e-6, 5e-7)]
    assert tiny[1] / tiny[0] == pytest.approx(4, rel=0.05)


def test_a_little_noise_on_the_circle_has_the_entropy_of_a_normal_number() -> None:
    assert circle.information(0.05) == pytest.approx(-stats.norm(scale=0.05).entropy(), abs=1e-6)
    assert circle.information(0.7) == pytest.approx(0, abs=1e-6)
