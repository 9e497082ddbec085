"""Closed forms of second moments beside draws, and the exact identities of the four strategies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.studies.rescaling import Rescaling, covariance_of, matrices


def test_moments_are_those_of_draws() -> None:
    study, draws = Rescaling(), np.random.default_rng(0)
    covariance = covariance_of(study.deviations, study.correlation)
    a = draws.multivariate_normal(np.zeros(2), covariance, 400_000)
    delta = a @ study.weights + study.noise * draws.normal(size=len(a))
    gradients = delta[:, None] * a
    fisher, kfac = matrices(covariance, np.array(study.weights), study.noise)
    assert gradients.T @ gradients / len(a) == pytest.approx(fisher, rel=0.03)
    assert np.mean(delta**2) * (a.T @ a) / len(a) == pytest.approx(kfac, rel=0.03)


def test_only_kfac_divides_by_another_number_than_the_moment_on_its_axes() -> None:
    table = pd.DataFrame(Rescaling().run()["rescaling"]).set_index(["strategy", "axis"])
    ratio = table["divisor"] / table["moment"]
    for strategy in ("exact", "diagonal", "ekfac"):
        assert ratio[strategy].to_numpy() == pytest.approx([1, 1])
    assert np.abs(ratio["kfac"] - 1).min() > 0.1
    traces = table.groupby("strategy")["divisor"].sum()
    assert traces["ekfac"] == pytest.approx(traces["exact"])  # the trace is right in any basis
    assert traces["diagonal"] == pytest.approx(traces["exact"])
