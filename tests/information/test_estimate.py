from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from ntkexp import information
from ntkexp.errors import UserError
from ntkexp.information.estimate import FOLDS, scaled, value

STREAM = np.random.default_rng(0)
X = STREAM.normal(size=600)
Z = 0.9 * X + math.sqrt(1 - 0.81) * STREAM.normal(size=600)


def test_it_nears_the_truth_and_finds_nothing_in_shuffled_pairs() -> None:
    found = information.estimate(X, Z, steps=60)
    assert found.value == pytest.approx(0.83, abs=0.2)
    assert abs(found.shuffled) < 0.1
    assert found.ksg == pytest.approx(0.83, abs=0.1)
    assert found.pairs == 600
    assert found.warning == ""
    assert str(found).startswith(f"{found.value:.3f} ± {found.error:.3f} nats")


def test_units_and_the_order_of_pairs_in_a_file_do_not_count() -> None:
    """Neighbours of a sorted file are alike: shifted by one place they would not be apart."""
    order = np.argsort(X)
    pairs = scaled("x", 1000 * X[order] + 7), scaled("z", Z[order, None])
    assert pairs[0].std(correction=0).item() == pytest.approx(1)
    assert value(pairs, 0, 100, seed=0) == pytest.approx(0.83, abs=0.25)


def test_a_network_never_sees_the_fold_that_it_is_judged_on() -> None:
    """Numbers that are all different can be learnt by heart, which helps nowhere else."""
    x, z = scaled("x", STREAM.normal(size=100)), scaled("z", STREAM.normal(size=100))
    assert np.mean([value((x, z), fold, 200, seed=0) for fold in range(FOLDS)]) < 0.1


def test_more_than_half_of_log_n_is_warned_of() -> None:
    assert information.Estimate(2.0, 0.1, 0.0, 0.1, 2.0, pairs=300).limit == math.log(60) / 2
    told = information.Estimate(2.1, 0.1, 0.0, 0.1, 2.0, pairs=300).warning
    assert told.startswith("2.10 nats are above half of log n, 2.05")
    assert information.Estimate(2.0, 0.1, 0.0, 0.1, 2.0, pairs=300).warning == ""
    near = np.stack([X] * 3, 1)
    with pytest.warns(UserWarning, match="above half of log n"):
        information.estimate(near[:50], near[:50], steps=100)


@pytest.mark.parametrize(
    ("x", "z", "why"),
    [
        (X, Z[:-1], "x has 600 rows and z 599; expected pairs"),
        (X[:9], Z[:9], "x and z have 9 rows; expected 50 pairs or more"),
        (np.zeros((2, 2, 2)), Z, r"x has the shape \(2, 2, 2\); expected \(n,\) or \(n, d\)"),
        (X, np.full(600, np.nan), "z has values that are no numbers; expected finite ones"),
        (["a"] * 600, Z, "x: .*; expected numbers"),
    ],
)
def test_what_is_no_pairs_is_refused(x: Any, z: Any, why: str) -> None:
    with warnings.catch_warnings(), pytest.raises(UserError, match=why):
        information.estimate(x, z)
