"""The quadratic model of section 5.4, held against its differential equation, and its examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ntkexp.theory.float64 import Array
from ntkexp.theory.lazy.quadratic_model import (
    Modes,
    label_noise,
    linearised,
    minority,
    noise_basis,
    non_linear,
    reversed_order,
    spurious,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 6)), RNG.normal(size=4)
MODES = Modes.of(X, Y)
THETA0 = 0.05
TIMES = np.array([0.0, 0.1, 0.7, 2.0, 9.0])


def flowed(modes: Modes, *, linear: bool) -> Array:
    """Outputs (times, n) by integrating w' = -grad_w loss, in the space of weights."""
    V = X.T @ modes.U / np.sqrt(modes.mu)
    w0 = np.full(len(modes.mu), np.sqrt(2 * THETA0))

    def outputs(w: Array) -> Array:
        # The linearisation at w0 of w^2 / 2 is w w0 - w0^2 / 2.
        theta = w * w0 - w0**2 / 2 if linear else w**2 / 2
        return X @ V @ theta

    def slope(_: float, w: Array) -> Array:
        features = X @ V * (w0 if linear else w)
        return -features.T @ (outputs(w) - Y)

    # Rows of V beyond the rank of X would move no output.
    solved = solve_ivp(slope, (0, TIMES[-1]), w0, t_eval=TIMES, rtol=1e-11, atol=1e-12)
    return np.array([outputs(w) for w in solved.y.T])


@pytest.mark.parametrize("linear", [False, True])
def test_both_solutions_are_those_of_the_differential_equation(linear: bool) -> None:
    """T21: (5.4.5), and (5.4.6) with the 2 that its print lacks."""
    theta = (linearised if linear else non_linear)(MODES, THETA0, TIMES)
    np.testing.assert_allclose(MODES.outputs(theta), flowed(MODES, linear=linear), atol=1e-8)


def test_a_mode_without_label_falls_as_one_over_t() -> None:
    modes = Modes(np.eye(2), np.array([3.0, 1.0]), np.array([0.0, 1.0]))
    theta = non_linear(modes, 0.1, [0.0, 5.0])
    np.testing.assert_allclose(theta[:, 0], [0.1, 0.1 / (1 + 2 * 3 * 0.1 * 5)])


def time_to(modes: Modes, theta0: float, eps: float, *, linear: bool) -> Array:
    """(r,): when |theta_l - theta*_l| = eps, for eps and theta0 well below theta*_l.

    t = log(theta*^2 / (eps theta0)) / (2 y~) and t = log(theta* / eps) / (2 mu theta0): (5.4.7),
    corrected; exact up to terms of the order of eps / theta* and theta0 / theta*.
    """
    target = modes.target
    if linear:
        return np.asarray(np.log(target / eps) / (2 * modes.mu * theta0))
    return np.asarray(np.log(target**2 / (eps * theta0)) / (2 * modes.correlation))


@pytest.mark.parametrize("linear", [False, True])
def test_times_of_convergence(linear: bool) -> None:
    """(5.4.7), corrected: at that time theta is eps away, to first order in eps and theta0."""
    modes = Modes(np.eye(3), np.array([4.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0]))
    theta0, eps = 1e-7, 1e-5
    times = time_to(modes, theta0, eps, linear=linear)
    solution = linearised if linear else non_linear
    reached = np.diag(solution(modes, theta0, times))
    np.testing.assert_allclose(np.abs(reached - modes.target), eps, rtol=1e-3)


def test_modes_are_learned_one_after_the_other_from_small_weights() -> None:
    """(5.4.8): at the time of mode 1 those with larger y~ are there, those with smaller not."""
    modes = Modes(np.eye(3), np.ones(3), np.array([1.0, 1.5, 0.6]))
    t = time_to(modes, 1e-14, 1e-3, linear=False)[0]
    theta = non_linear(modes, 1e-14, [t])[0]
    assert theta[1] == pytest.approx(1.5, rel=1e-3)
    assert theta[2] < 1e-2
    # The linearised model has no such order: all of equal mu go together.
    shares = linearised(modes, 1e-14, [1e13])[0] / modes.target
    np.testing.assert_allclose(shares, shares[0], rtol=1e-6)


def test_example_1_is_learned_in_the_reversed_order() -> None:
    inputs, labels = reversed_order([4.0, 3.0, 2.0, 1.0])
    modes = Modes.of(inputs, labels)
    np.testing.assert_allclose(modes.mu, [4, 3, 2, 1])
    np.testing.assert_allclose(modes.correlation, [1, 2, 3, 4])
    times = np.geomspace(1e-2, 1e5, 20000)
    half = {}
    for linear, solution in ((False, non_linear), (True, linearised)):
        reached = solution(modes, 5e-4, times) >= modes.target / 2
        half[linear] = reached.argmax(0)
    # As the specification has them, for sigma = 1e-3: theta0 = sigma / 2.
    np.testing.assert_allclose(times[half[False]], [3.11, 1.81, 1.34, 1.13], rtol=1e-2)
    np.testing.assert_allclose(times[half[True]], [173.5, 231.9, 347.4, 695.8], rtol=1e-2)


def test_the_spectrum_and_first_mode_of_example_2() -> None:
    inputs, labels = label_noise(20, 5, 0.7)
    modes = Modes.of(inputs, labels)
    np.testing.assert_allclose(modes.mu, [20 + 0.49] + 19 * [0.49])
    noisy = inputs[:, 0]
    first = modes.U[:, 0] * modes.y[0]
    np.testing.assert_allclose(first, (1 - 2 * 5 / 20) * noisy, atol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
def test_its_basis_is_one_of_left_singular_vectors(turned: bool) -> None:
    rotation = np.linalg.qr(RNG.normal(size=(9, 9)))[0] if turned else None
    basis = noise_basis(10, 2, rotation)
    inputs, labels = label_noise(10, 2, 0.5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(10), atol=1e-12)
    gram = basis.T @ inputs @ inputs.T @ basis
    np.testing.assert_allclose(gram, np.diag([10.25] + 9 * [0.25]), atol=1e-12)
    assert (np.abs(basis.T @ labels) > 1e-12).sum() == (10 if turned else 2)


def minority_loss(modes: Modes, labels: Array, mask: Array, level: float, linear: bool) -> float:
    """The minority's mean loss when the majority's first is at `level`."""
    theta0 = 5e-4
    slowest = (
        modes.mu.min() * theta0 if linear else modes.correlation[modes.correlation > 1e-9].min()
    )
    times = np.geomspace(1e-8 / slowest, 30 / slowest, 20000)
    theta = (linearised if linear else non_linear)(modes, theta0, times)
    losses = (modes.outputs(theta) - labels) ** 2 / 2
    place = np.argmax(losses[:, ~mask].mean(1) <= level)
    return float(losses[place, mask].mean())


@pytest.mark.parametrize(
    ("n", "q", "eta", "core"),
    [(10, 2, 0.5, 0.3), (20, 2, 0.3, 0.3), (20, 2, 1, 0.3), (50, 5, 0.5, 0.2)],
)
@pytest.mark.parametrize("level", [0.4, 0.3, 0.2, 0.1])
def test_the_minority_lies_behind_more_in_the_non_linear_model(
    n: int, q: int, eta: float, core: float, level: float
) -> None:
    """T22, at equal majority loss."""
    mask = minority(n, q)
    noise, noise_labels = label_noise(n, q, eta)
    for modes, labels in (
        (Modes.of(noise, noise_labels, noise_basis(n, q)), noise_labels),
        (Modes.of(*spurious(n, q, eta, core)), spurious(n, q, eta, core)[1]),
    ):
        lazy = minority_loss(modes, labels, mask, level, linear=True)
        assert minority_loss(modes, labels, mask, level, linear=False) > lazy


def test_the_numbers_of_one_setting() -> None:
    mask, found = minority(20, 2), []
    inputs, labels = label_noise(20, 2, 1.0)
    for modes in (
        Modes.of(inputs, labels, noise_basis(20, 2)),
        Modes.of(*spurious(20, 2, 1.0, 0.3)),
    ):
        found += [minority_loss(modes, labels, mask, 0.1, linear) for linear in (False, True)]
    np.testing.assert_allclose(found, [1.21, 1.05, 1.09, 0.90], atol=0.011)


def test_example_2_depends_on_the_basis_of_its_equal_modes() -> None:
    """With the constants of the authors' code the order reverses where the labels lie in two modes,
    as y~_res = 2 eta sqrt(q (n - q) / n) is the larger one there."""
    inputs, labels = label_noise(20, 5, 5.0)
    two = Modes.of(inputs, labels, noise_basis(20, 5))
    first, second = np.sort(two.correlation)[::-1][:2]
    assert first == pytest.approx(2 * 5 * np.sqrt(5 * 15 / 20))
    assert second == pytest.approx(np.sqrt(1 + 25 / 20) * 10)
    mask = minority(20, 5)
    lazy = minority_loss(two, labels, mask, 0.2, linear=True)
    assert minority_loss(two, labels, mask, 0.2, linear=False) < lazy
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(19, 19)))[0]
    many = Modes.of(inputs, labels, noise_basis(20, 5, rotation))
    assert minority_loss(many, labels, mask, 0.2, linear=True) == pytest.approx(lazy, rel=1e-2)
    assert minority_loss(many, labels, mask, 0.2, linear=False) > lazy
