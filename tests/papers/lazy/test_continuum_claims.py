"""Onset and linearity of ensembles over alpha, from tables whose curves are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.continuum import CLAIMS, at_loss, points
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("lazy-continuum-"): claim for claim in CLAIMS}
ALPHAS = (0.3, 1.0, 10.0, 100.0)
# The clean loss falls by a tenth at every look, from 2.
CLEAN = 2.0 - 0.1 * np.arange(20)


def record(onsets: list[float], alignments: list[float], width: int = 64) -> Record:
    """For every alpha a noisy loss with its peak at a clean loss, and an alignment."""
    own = {"transform.alpha": ALPHAS, "seed": range(2), "step": range(20)}
    noisy = [[2.0 - np.abs(CLEAN - peak)] for peak in onsets]
    losses = {"intact": CLEAN, "noisy": noisy, "all": CLEAN}
    evals = [rows(own, split="train", subset=name, loss=loss) for name, loss in losses.items()]
    measure = np.array(alignments)[:, None, None]
    tables = {
        "evals": pd.concat(evals),
        "linearity": rows(own, kernel=measure, relus=measure, split="test"),
    }
    return made.record("lazy/continuum", tables, **{"model.width": width})


RISING = [0.5, 0.6, 0.7, 0.9]


@pytest.mark.parametrize("name", LEDGER)
def test_each_claim_can_hold_and_fail(name: str) -> None:
    as_said = record(RISING, RISING)
    other = record(RISING[::-1], RISING[::-1])
    assert judge(LEDGER[name], [as_said]).verdict is Verdict.holds
    assert judge(LEDGER[name], [other]).verdict is Verdict.fails


def test_every_seed_counts_of_the_widths_that_came_so_far() -> None:
    one, turned = record(RISING, RISING), record(RISING[::-1], RISING)
    tables = {
        name: pd.concat(
            [one.tables[name].query("seed == 0"), turned.tables[name].query("seed == 1")]
        )
        for name in one.tables
    }
    both = Record(one.experiment, "both", one.config, tables)
    never = record([0.1, 0.1, 0.1, 0.1], RISING, width=128)
    found = judge(LEDGER["ends"], [both, never])
    assert found.verdict is Verdict.partly
    assert [(case.panel, case.seed) for case in found.cases] == [("width 64", 0), ("width 64", 1)]


def test_onset_is_at_the_peak_and_only_where_the_loss_has_turned() -> None:
    found = list(points(record([0.5, 0.6, 0.7, 0.1], RISING)))
    # A running median of three has its top at the look before.
    assert [one.onset for one in found[::2][:3]] == [
        pytest.approx(value, abs=0.11) for value in (0.5, 0.6, 0.7)
    ]
    assert np.isnan(found[-1].onset)


def test_a_width_none_of_whose_networks_came_so_far_decides_nothing() -> None:
    never = record([0.1] * 4, RISING)
    for name in ("onset", "ends"):
        assert judge(LEDGER[name], [never]).verdict is Verdict.no_runs


def test_values_are_taken_between_two_looks() -> None:
    losses, values = pd.Series([2.0, 1.2, 0.7]), pd.Series([1.0, 0.9, 0.7], name="kernel")
    assert at_loss(losses, values) == pytest.approx(0.9 - 0.2 * 0.2 / 0.5)
    assert np.isnan(at_loss(losses + 0.5, values))
