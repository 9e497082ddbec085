from __future__ import annotations

import numpy as np
import pytest

from ntkexp.errors import UserError
from ntkexp.theory.measures import margins


def test_the_margin_of_two_classes_is_the_label_times_the_output() -> None:
    np.testing.assert_allclose(margins.margins([2.0, 3.0], [1, -1]), [2.0, -3.0])
    np.testing.assert_allclose(margins.margins([[2.0], [3.0]], [1, -1]), [2.0, -3.0])


def test_the_margin_of_many_classes_is_the_lead_over_the_best_other() -> None:
    outputs = [[1.0, 4.0, 2.0], [1.0, 4.0, 2.0]]
    np.testing.assert_allclose(margins.margins(outputs, [1, 0]), [2.0, -3.0])


def test_gamma_is_the_fifth_percentile() -> None:
    assert margins.margin_percentile(np.arange(101.0)) == pytest.approx(5.0)


def test_the_distribution_of_a_small_sample() -> None:
    summary = margins.distribution([0.0, 1.0, 2.0, 3.0, 4.0])
    assert summary["mean"] == 2.0
    assert summary["std"] == pytest.approx(np.sqrt(2.0))
    assert [summary[f"q{q}"] for q in (0, 25, 50, 75, 100)] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_quantile_is_named_by_its_percentage() -> None:
    summary = margins.distribution(np.arange(101.0))
    told = {name: value for name, value in summary.items() if name.startswith("q")}
    assert told == pytest.approx({f"q{q}": q for q in (0, 5, 10, 25, 50, 75, 90, 95, 100)})


def test_the_inverse_squared_margin() -> None:
    assert margins.inverse_squared(0.5) == 4.0


@pytest.mark.parametrize("margin", [0.0, -0.3, float("nan")])
def test_a_margin_that_is_not_positive_is_refused_in_words(margin: float) -> None:
    with pytest.raises(UserError, match="is not positive"):
        margins.inverse_squared(margin)
