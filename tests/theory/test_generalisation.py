"""Bounds of chapter 2 where it is known how often they fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ntkexp.theory import generalisation

N, DELTA = 40, 0.2


def test_hoeffding_fails_at_most_as_often_as_it_says() -> None:
    """Losses 0 or 1 with a known mean: how often L > L^ + ... is a binomial probability."""
    found = np.arange(N + 1) / N
    for L in (0.05, 0.3, 0.5, 0.9):
        fails = generalisation.hoeffding(found, N, DELTA) < L
        assert stats.binom.pmf(np.arange(N + 1), N, L)[fails].sum() <= DELTA


def test_a_class_of_one_has_the_bound_of_hoeffding() -> None:
    loss = np.array([0.0, 0.4])
    one = generalisation.hoeffding(loss, N, DELTA)
    assert generalisation.finite_class(loss, 1, N, DELTA) == pytest.approx(one)
    assert (generalisation.finite_class(loss, 8, N, DELTA) > one).all()


def test_an_even_prior_is_the_class_as_a_whole() -> None:
    even = generalisation.occam(0.1, np.full(8, 1 / 8), N, DELTA)
    assert even == pytest.approx(np.full(8, generalisation.finite_class(0.1, 8, N, DELTA)))


def losses(classes: int, repetitions: int) -> tuple[np.ndarray, np.ndarray]:
    """Of independent predictors: their expected losses, and those on so many samples."""
    stream = np.random.default_rng(0)
    expected = np.linspace(0.2, 0.6, classes)
    return expected, stream.binomial(N, expected, size=(repetitions, classes)) / N


def test_uniform_bounds_fail_for_any_predictor_at_most_as_often_as_they_say() -> None:
    expected, found = losses(30, 4000)
    prior = np.arange(1, 31) / np.arange(1, 31).sum()
    for bound in (
        generalisation.finite_class(found, 30, N, DELTA),
        generalisation.occam(found, prior, N, DELTA),
    ):
        assert (bound < expected).any(axis=1).mean() <= DELTA
    # That of one predictor does not do for the worst of thirty.
    assert (generalisation.hoeffding(found, N, DELTA) < expected).any(axis=1).mean() > DELTA


def test_pac_bayes_holds_for_distributions_that_were_chosen_by_the_examples() -> None:
    """For each sample the worst of many Q, which weigh predictors by how far they were lucky."""
    expected, found = losses(30, 4000)
    prior = np.full(30, 1 / 30)
    fails = np.zeros(len(found), bool)
    for sharpness in (0.0, 5.0, 20.0, 100.0, 1000.0):
        Q = prior * np.exp(sharpness * (expected - found))
        Q /= Q.sum(1, keepdims=True)
        divergence = generalisation.kl_of_choices(Q, prior)
        bound = generalisation.pac_bayes((Q * found).sum(1), divergence, N, DELTA)
        fails |= bound < (Q * expected).sum(1)
    assert fails.mean() <= DELTA


def test_the_printed_form_asks_for_less_than_what_is_proved() -> None:
    proved, printed = (
        generalisation.pac_bayes(0.1, 2.0, N, DELTA, printed=printed) for printed in (False, True)
    )
    more = N * 2 * ((proved - 0.1) ** 2 - (printed - 0.1) ** 2)
    assert more == pytest.approx(np.log(2 * np.sqrt(N)))
    # Of the prior itself the printed form is Hoeffding's.
    alone = generalisation.pac_bayes(0.1, 0.0, N, DELTA, printed=True)
    assert alone == pytest.approx(generalisation.hoeffding(0.1, N, DELTA))
