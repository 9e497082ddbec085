"""T4, T5, T8, T11 of the adaptive model: the effective and the joint penalty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import optimize

from ntkexp.theory.adaptive.penalties import (
    Fixed,
    Joint,
    Penalty,
    Power,
    effective,
    least_between,
    least_from_one,
    least_split,
)
from ntkexp.theory.float64 import Array, array
from tests.theory.adaptive.exact import scalar_solution

SQUARE, ABSOLUTE = Power(2), Power(1)


class Log:
    """A penalty that no power is."""

    def __call__(self, z: ArrayLike) -> Array:
        return array(np.log(z))

    def minimiser(self, v: ArrayLike) -> Array:
        return least_from_one(self, array(v))


PENALTIES: dict[str, Penalty] = {
    "square": SQUARE,
    "absolute": ABSOLUTE,
    "square beside absolute": Joint(SQUARE, ABSOLUTE),
    "absolute beside square": Joint(ABSOLUTE, SQUARE),
    "square twice": Joint(SQUARE, SQUARE),
    "absolute twice": Joint(ABSOLUTE, ABSOLUTE),
    "p = 3/2": Power(1.5),
    "p = 1/2": Power(0.5),
    "log": Log(),
}


def brute_force(penalty: Penalty, v: float) -> float:
    """A fine grid of z, and a bounded minimisation in its best cell."""
    z = np.exp(np.linspace(0.0, np.log(4 + v**4), 20_001))
    values = penalty(z) + (v / z) ** 2
    best = int(np.argmin(values))
    low, high = z[max(best - 1, 0)], z[min(best + 1, len(z) - 1)]
    found = optimize.minimize_scalar(
        lambda x: float(penalty(np.array(x)) + (v / x) ** 2),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-13},
    )
    return min(float(found.fun), float(values[best]))


def test_a_joint_penalty_without_a_closed_form_is_the_least_over_both_sides() -> None:
    joint, v = Joint(Power(4), Power(0.5)), 3.0
    one = np.exp(np.linspace(0.0, 2.5, 1201))[:, None]
    two = np.exp(np.concatenate([[0.0], np.geomspace(1e-6, 2.5, 1200)]))
    paid = joint.first(one) + joint.second(two) + (v / (one * two)) ** 2
    assert float(effective(joint, v)) == pytest.approx(float(paid.min()), rel=1e-4)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_effective_penalty_is_the_least_by_brute_force(name: str) -> None:
    for v in (0.05, 0.4, 0.8, 1.3, 3.0, 12.0):
        expected = brute_force(PENALTIES[name], v)
        assert float(effective(PENALTIES[name], v)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_t4_proposition_3_the_effective_penalty_is_increasing_and_concave_in_the_square(
    name: str,
) -> None:
    squares = np.linspace(1e-4, 60.0, 600)
    values = effective(PENALTIES[name], np.sqrt(squares))
    assert np.all(np.diff(values) > 0)
    assert np.all(np.diff(values, 2) < 1e-9)
    assert np.all(values <= squares + 1e-12)


@pytest.mark.parametrize("name", ["square", "absolute", "square beside absolute", "square twice"])
def test_t4_near_zero_it_is_the_square(name: str) -> None:
    for v in (1e-2, 1e-3):
        assert float(effective(PENALTIES[name], v)) / v**2 == pytest.approx(1.0, abs=2 * v**2)


def test_the_square_is_like_v_squared_less_v_to_the_fourth_and_like_2v() -> None:
    v = 0.01
    assert float(effective(SQUARE, v)) == pytest.approx(v**2 - v**4, abs=5 * v**6)
    v = 1e8
    tail = 2 * v - 2 * np.sqrt(v) + 0.75
    assert float(effective(SQUARE, v)) - tail == pytest.approx(0.0, abs=1e-3)


def test_the_absolute_value_has_a_tail_of_two_thirds() -> None:
    v = np.array([1 / np.sqrt(2), 1.0, 7.0, 1e3])
    expected = 3 * 2 ** (-2 / 3) * v ** (2 / 3) - 1
    np.testing.assert_allclose(effective(ABSOLUTE, v), expected, rtol=1e-12)


@pytest.mark.parametrize(("p", "q"), [(1, 2), (2, 2), (1, 1), (3, 3)])
def test_tails_are_powers(p: float, q: float) -> None:
    """|v-1|^p has the tail v^(2p/(p+2)), p and q together v^(1/(1/p + 1/q + 1/2))."""
    v = np.array([1e12, 1e13])
    one, both = effective(Power(p), v), effective(Joint(Power(p), Power(q)), v)
    assert np.log10(one[1] / one[0]) == pytest.approx(2 * p / (p + 2), abs=2e-3)
    assert np.log10(both[1] / both[0]) == pytest.approx(1 / (1 / p + 1 / q + 1 / 2), abs=2e-2)


def test_two_powers_of_4_have_no_concave_tail() -> None:
    """Not every two-sided combination is concave: of p = q = 4 the tail is v, of 6 convex."""
    v = np.linspace(1e4, 1e6, 50)
    assert np.all(np.diff(effective(Joint(Power(6), Power(6)), v), 2) > 0)
    assert np.all(np.diff(effective(Joint(SQUARE, SQUARE), v), 2) < 0)


@pytest.mark.parametrize("name", [name for name in PENALTIES if " " in name and "=" not in name])
def test_t5_proposition_4_the_joint_penalty_starts_at_0_and_rises(name: str) -> None:
    joint = PENALTIES[name]
    assert isinstance(joint, Joint)
    v = np.linspace(1.0, 9.0, 200)
    values = joint(v)
    assert values[0] == 0
    assert np.all(np.diff(values) > 0)
    # The least over all z > 0 lies in [1, v].
    for one in (1.2, 2.0, 6.0):
        z = np.exp(np.linspace(np.log(one) - 6, 6, 40_001))
        anywhere = np.abs(joint.first(z)) + np.abs(joint.second(one / z))
        assert 1 - 1e-3 <= z[np.argmin(anywhere)] <= one + 1e-3
        assert float(joint(one)) == pytest.approx(float(anywhere.min()), abs=1e-3)


@pytest.mark.parametrize("name", [name for name in PENALTIES if " " in name and "=" not in name])
def test_closed_splits_are_the_search(name: str) -> None:
    joint, v = PENALTIES[name], np.array([1.0, 1.3, 1.37, 2.0, 8.0, 200.0])
    assert isinstance(joint, Joint)
    z = least_split(joint.first, joint.second, v)
    by_search = joint.first(z) + joint.second(v / z)
    np.testing.assert_allclose(joint(v), by_search, rtol=1e-9, atol=1e-15)


def test_square_beside_absolute_is_the_square_up_to_its_breakpoint() -> None:
    joint, edge = Joint(SQUARE, ABSOLUTE), (1 + np.sqrt(3)) / 2
    below, above = np.array([1.1, 1.3, edge - 1e-6]), np.array([edge + 1e-2, 3.0])
    np.testing.assert_allclose(joint(below), (below - 1) ** 2, rtol=1e-9)
    assert np.all(joint(above) < (above - 1) ** 2)


@pytest.mark.parametrize("name", PENALTIES)
def test_t8_the_slope_in_the_square_is_one_over_z_squared(name: str) -> None:
    penalty = PENALTIES[name]
    square, h = np.array([0.3, 1.7, 20.0]), 1e-5
    slope = (effective(penalty, np.sqrt(square + h)) - effective(penalty, np.sqrt(square - h))) / (
        2 * h
    )
    np.testing.assert_allclose(slope, penalty.minimiser(np.sqrt(square)) ** -2.0, rtol=2e-5)


def test_t11_a_fixed_side_leaves_the_other_as_it_is() -> None:
    v = np.array([0.2, 1.0, 4.0])
    for joint in (Joint(SQUARE, Fixed()), Joint(Fixed(), SQUARE)):
        np.testing.assert_array_equal(effective(joint, v), effective(SQUARE, v))
        np.testing.assert_array_equal(joint(1 + v), SQUARE(1 + v))


def test_the_scalar_solution_has_the_product_and_the_least_sum() -> None:
    d = np.array([0.3, 1.0, 4.0])
    one, sigma, two = scalar_solution(SQUARE, ABSOLUTE, d)
    np.testing.assert_allclose(one * sigma * two, d, rtol=1e-12)
    paid = SQUARE(one) + ABSOLUTE(two) + sigma**2
    np.testing.assert_allclose(paid, effective(Joint(SQUARE, ABSOLUTE), d), rtol=1e-12)
    for index, value in enumerate(d):
        found = optimize.minimize(
            lambda x, value=value: (
                (np.exp(x[0] ** 2) - 1) ** 2
                + np.expm1(x[1] ** 2)
                + (value * np.exp(-(x[0] ** 2) - x[1] ** 2)) ** 2
            ),
            [0.5, 0.5],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000},
        )
        assert paid[index] == pytest.approx(found.fun, rel=1e-7)


def test_a_minimum_at_the_border_is_found() -> None:
    assert float(least_between(lambda t: t, ())) == 0.0
    assert float(least_between(lambda t: -t, ())) == 1.0
