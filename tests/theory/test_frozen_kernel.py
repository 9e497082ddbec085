"""What a frozen kernel predicts, against explicit iteration and the matrix exponential."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from ntkexp.theory.float64 import Array
from ntkexp.theory.frozen_kernel import FrozenKernel

RNG = np.random.default_rng(0)
# Twelve rows of rank 7, so that some modes stand still; four other points.
PHI = RNG.normal(size=(16, 7))
K, TO_TRAIN = PHI[:12] @ PHI[:12].T, PHI[12:] @ PHI[:12].T
F0, Y, OTHER_F0 = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=4)
FROZEN = FrozenKernel.of(K, F0, Y)


def largest_rate(momentum: float) -> float:
    """Gradient descent diverges from this eta on: 2 (1 + m) / mu_max."""
    return 2 * (1 + momentum) / FROZEN.kernel_norm


def at_time(t: float, *other: Array) -> Array:
    return FROZEN.outputs(FROZEN.flow(t), *other)


def at_step(step: int, eta: float, momentum: float = 0.0) -> Array:
    return FROZEN.outputs(FROZEN.descent(step, eta=eta, momentum=momentum))


def descended(steps: int, eta: float, momentum: float) -> tuple[Array, Array, Array]:
    """Outputs here and there, and weights, by iteration in the space of weights."""
    w, v = np.zeros(7), np.zeros(7)
    for _ in range(steps):
        v = momentum * v + PHI[:12].T @ (F0.ravel() + PHI[:12] @ w - Y.ravel())
        w = w - eta * v
    return F0 + (PHI[:12] @ w).reshape(4, 3), OTHER_F0 + PHI[12:] @ w, w


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("steps", [0, 1, 2, 17, 300])
def test_descent_is_the_iteration(steps: int, momentum: float) -> None:
    eta = 0.3 * largest_rate(momentum)
    here, there, w = descended(steps, eta, momentum)
    a = FROZEN.descent(steps, eta=eta, momentum=momentum)
    np.testing.assert_allclose(FROZEN.outputs(a), here, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(FROZEN.outputs(a, TO_TRAIN, OTHER_F0), there, rtol=1e-10, atol=1e-10)
    from_nothing = FROZEN.outputs(a, TO_TRAIN)
    np.testing.assert_allclose(from_nothing, there - OTHER_F0, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(PHI[:12].T @ a, w, rtol=1e-9, atol=1e-10)
    assert FROZEN.distance(a) == pytest.approx(np.linalg.norm(w), abs=1e-9)


def test_what_the_kernel_does_not_reach_stands_still() -> None:
    """An eigenvalue that is exactly 0."""
    half = FrozenKernel.of(np.diag([1.0, 0.0]), f0=[3.0, 3.0], y=[1.0, 1.0])
    for a in (half.flow(50.0), half.descent(400, eta=0.1, momentum=0.5)):
        np.testing.assert_allclose(half.outputs(a), [1.0, 3.0], atol=1e-8)


def test_critical_damping_is_no_exception() -> None:
    """(1 + m - eta mu)^2 = 4 m: the two roots of the recurrence are one."""
    m, mu = 0.25, FROZEN.values[-1]
    eta = (1 + m - 2 * np.sqrt(m)) / mu
    here, _, _ = descended(40, eta, m)
    np.testing.assert_allclose(at_step(40, eta=eta, momentum=m), here, rtol=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.01, 1.0, 50.0])
def test_flow_is_the_matrix_exponential(t: float) -> None:
    """f - y = e^{-K t} (f_0 - y), and on other points the integral of -K* (f - y)."""
    decayed = expm(-K * t) @ (F0 - Y).ravel()
    np.testing.assert_allclose(at_time(t), Y + decayed.reshape(4, 3), atol=1e-9)
    # d/dt (f - y, f*) is linear in f - y: one exponential has both.
    both = np.block([[-K, np.zeros((12, 4))], [-TO_TRAIN, np.zeros((4, 4))]])
    there = (expm(both * t) @ np.concatenate([(F0 - Y).ravel(), OTHER_F0]))[12:]
    np.testing.assert_allclose(at_time(t, TO_TRAIN, OTHER_F0), there, atol=1e-8)
    np.testing.assert_allclose(at_time(t, TO_TRAIN), there - OTHER_F0, atol=1e-8)


def test_flow_is_descent_of_small_steps() -> None:
    small = at_step(200_000, eta=1e-6)
    np.testing.assert_allclose(at_time(0.2), small, atol=1e-4)


def test_it_diverges_from_the_largest_rate_on() -> None:
    for m in (0.0, 0.9):
        rate = largest_rate(m)
        below, above = (
            np.abs(at_step(500, eta=factor * rate, momentum=m)).max() for factor in (0.95, 1.05)
        )
        assert below < 100
        assert above > 1e6


def test_the_end_interpolates_what_can_be() -> None:
    """The residual's part in the range of K goes, the rest stays."""
    end = at_time(1e6)
    projector = PHI[:12] @ np.linalg.pinv(PHI[:12])
    expected = F0.ravel() + projector @ (Y - F0).ravel()
    np.testing.assert_allclose(end.ravel(), expected, atol=1e-6)
