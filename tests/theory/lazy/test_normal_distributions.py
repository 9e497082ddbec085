"""The distances of normal distributions, against integrals."""

from __future__ import annotations

import math

import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ntkexp.theory.lazy.normal_distributions import NAMED, Normal, kl, parameter_distance, shared


@pytest.mark.parametrize("pair", ["AB", "BA", "CD"])
def test_kl_is_its_integral(pair: str) -> None:
    p, q = (NAMED[name] for name in pair)

    def integrand(x: float) -> float:
        at_p = norm.logpdf(x, p.mean, p.spread)
        return float(math.exp(at_p) * (at_p - norm.logpdf(x, q.mean, q.spread)))

    reach = 10 * max(p.spread, q.spread)
    assert kl(p, q) == pytest.approx(quad(integrand, p.mean - reach, p.mean + reach)[0])


def test_the_four_are_those_of_the_text() -> None:
    assert parameter_distance(NAMED["A"], NAMED["B"]) == pytest.approx(1)
    assert parameter_distance(NAMED["C"], NAMED["D"]) == pytest.approx(1)
    low, high = NAMED["A"].central()
    assert (low, high) == (pytest.approx(-1.96, abs=1e-3), pytest.approx(1.96, abs=1e-3))
    assert shared(NAMED["A"], NAMED["B"]) == pytest.approx(1 / math.sqrt(2))


def test_intervals_that_do_not_meet_share_nothing() -> None:
    assert shared(Normal(0, 1), Normal(10, 1)) == 0
    assert shared(Normal(0, 1), Normal(0, 1)) == 1
