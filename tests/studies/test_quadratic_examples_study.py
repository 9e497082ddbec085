"""Figure 5.4's curves: the orders of learning, at equal progress and by basis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ntkexp import studies
from ntkexp.errors import UserError
from ntkexp.studies.quadratic_examples import QuadraticExamples, at_level, rotation


@pytest.fixture(scope="module")
def found() -> dict[str, pd.DataFrame]:
    return dict(QuadraticExamples().run())


def test_example_1_is_learned_in_reversed_orders(found: dict[str, pd.DataFrame]) -> None:
    curves = found["quadratic_curves"].query("example == 1")
    for regime, expected in (("linearised", "12345"), ("non_linear", "54321")):
        own = curves[curves["regime"] == regime].pivot(index="time", columns="group", values="loss")
        halves = (own <= own.iloc[0] / 4).idxmax()
        assert "".join(halves.sort_values().index) == expected


def test_every_curve_begins_at_the_start_and_ends_low(found: dict[str, pd.DataFrame]) -> None:
    curves = found["quadratic_curves"].query("example > 1 and group == 'majority'")
    for _, own in curves.groupby(["example", "basis", "draw", "regime"]):
        losses = own.sort_values("time")["loss"].to_numpy()
        assert losses[0] == pytest.approx(0.5, abs=0.02)
        assert losses[-1] < 0.01
        assert len(losses) == 300


def test_the_minority_lies_behind_in_example_3(found: dict[str, pd.DataFrame]) -> None:
    levels = found["quadratic_levels"].query("example == 3")
    behind = levels.pivot(index="level", columns="regime", values="minority")
    assert len(behind) == 4
    assert (behind["non_linear"] > behind["linearised"]).all()


def test_example_2_depends_on_the_basis(found: dict[str, pd.DataFrame]) -> None:
    levels = found["quadratic_levels"].query("example == 2 and level == 0.2")
    behind = levels.pivot(index=["basis", "draw"], columns="regime", values="minority")
    assert len(behind) == 22
    two = behind.loc[("two_modes", 0)]
    assert two["non_linear"] < two["linearised"]
    rotated = behind.loc["rotation"]
    assert (rotated["non_linear"] > rotated["linearised"]).mean() > 0.5
    # What is linear hardly sees the basis: but for where it starts.
    assert np.ptp(behind["linearised"]) < 0.02 * behind["linearised"].mean()


def test_levels_are_found_between_two_times() -> None:
    times = np.array([0.0, 1.0, 3.0])
    losses = {"majority": np.array([0.5, 0.4, 0.2]), "minority": np.array([0.5, 0.6, 1.0])}
    assert at_level(times, losses, 0.3) == pytest.approx((2.0, 0.8))


def test_rotations_are_orthogonal_and_each_its_own() -> None:
    config = QuadraticExamples()
    one, other = rotation(config, 0), rotation(config, 1)
    np.testing.assert_allclose(one @ one.T, np.eye(19), atol=1e-12)
    assert np.abs(one - other).max() > 0.1
    assert (one == rotation(config, 0)).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"q": 10}, r"study\.q=10: no minority"),
        ({"mu": [1.0, 2.0]}, r"study\.mu=\[1\.0, 2\.0\]"),
        ({"levels": [0.7]}, r"study\.levels"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        studies.choose({"name": "quadratic_examples", **options})
