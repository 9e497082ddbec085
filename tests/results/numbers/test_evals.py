"""A run's numbers off its table `evals`, by hand on made-up tables."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest

from ntkexp.results.numbers import evals
from ntkexp.results.numbers.once import once


def looks(*accuracies: float, split: str = "train") -> pd.DataFrame:
    rows = {"step": np.arange(len(accuracies)) * 10, "accuracy": accuracies, "loss": 1.0}
    return pd.DataFrame(rows).assign(split=split, subset="all")


def test_fitted_is_all_right_but_for_one_in_a_thousand() -> None:
    one, never = looks(0.5, 0.998, 0.999, 0.9, 1.0), looks(0.5, 0.998)
    assert evals.has_fitted(one) and evals.fitted_step(one) == 20
    assert not evals.has_fitted(never)
    with pytest.raises(ValueError, match="is not fitted"):
        evals.fitted_step(never)


def test_the_best_step_is_the_first_of_the_highest_test_accuracy() -> None:
    tables = pd.concat([looks(1.0, 1.0, 1.0), looks(0.5, 0.8, 0.8, split="test")])
    assert evals.best_step(tables) == 10
    assert [*evals.curve(tables, "test")] == [0.5, 0.8, 0.8]
    assert evals.last(tables) == 0.8


def test_looks_are_told_in_the_order_of_their_steps() -> None:
    turned = looks(0.1, 0.2, 0.3)[::-1]
    assert [*evals.curve(turned, "train").index] == [0, 10, 20]
    assert evals.last(turned, "train") == 0.3


def test_what_is_computed_of_a_table_once_goes_with_the_table() -> None:
    """And another table of the same place in memory is another one."""
    seen = []

    @once
    def steps(table: pd.DataFrame, by: int = 1) -> int:
        seen.append(by)
        return len(table) * by

    table = looks(0.1, 0.2)
    assert [steps(table), steps(table), steps(table, by=3)] == [2, 2, 6]
    assert seen == [1, 3]
    for accuracies in ((0.1,), (0.1, 0.2, 0.3)):
        table = looks(*accuracies)
        gc.collect()
        assert steps(table) == len(accuracies)
