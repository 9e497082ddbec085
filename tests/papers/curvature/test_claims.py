"""Every claim about the optimisers holds with tables that show it and fails with those that do
not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.curvature.claims import autoencoder, drift
from ntkexp.papers.curvature.claims.autoencoder import METHODS, NAMES, near_best
from ntkexp.papers.curvature.claims.drift import growth, whole_errors
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id: claim for claim in (*drift.CLAIMS, *autoencoder.CLAIMS)}
SEEDS = (0, 1)
FINAL = {"ekfac": 0.10, "ra": 0.09, "kfac": 0.12, "sgd": 0.13, "adam": 0.14}


def evals(end: float, held_out: float = 0.2) -> pd.DataFrame:
    """The training loss falls to `end` after 20 epochs, by 1.5 times that after 10."""
    axes = {"split": ("train", "test"), "step": (0, 1200, 2400)}
    return rows(axes, subset="all", loss=[[0.7, 1.5 * end, end], [0.7, 0.3, held_out]])


def drifting(holds: bool) -> pd.DataFrame:
    """Two periods of two layers; EKFAC's errors grow by a tenth of KFAC's, or by as much."""
    slow = 0.1 if holds else 1.0
    looks = [(0, 0), (100, 100), (100, 0), (200, 200 - 100), (200, 0)]
    return pd.DataFrame(
        [
            {
                "step": step,
                "layer": layer,
                "since": since,
                "norm": 1.0 + layer,
                "kfac": 0.4 + 0.3 * since / 100,
                "kfac_scaled": 0.35 + 0.25 * since / 100,
                "ekfac": (0.3 if holds else 0.5) + slow * 0.25 * since / 100,
            }
            for step, since in looks
            for layer in (0, 1)
        ]
    )


def correlations(holds: bool) -> pd.DataFrame:
    pairs = {"first": (0, 1), "second": (2, 3)}
    return rows(pairs, parameters=0.4, basis=0.1 if holds else 0.3)


def divisors(holds: bool) -> pd.DataFrame:
    off = {"kfac": 2.0, "ekfac": 1.0 if holds else 1.1}
    axes = {"strategy": ("kfac", "ekfac"), "axis": (0, 1)}
    return rows(axes, divisor=lambda strategy, axis: off[strategy], moment=1.0)


def searched(holds: bool) -> pd.DataFrame:
    """Of ten points two, or half of them, are near the best; the end of the last epoch counts."""
    axes = {"point": range(10), "epoch": (1, 20)}
    near = 2 if holds else 5
    return rows(
        axes,
        train_loss=lambda point, epoch: (
            0.01 if epoch == 1 else 0.1 if point < near else np.inf if point == 9 else 0.2
        ),
    )


def spectra(holds: bool) -> pd.DataFrame:
    far = {"kfac": 3.0, "kfac_traced": 2.5} if holds else {"kfac": 1.8, "kfac_traced": 1.5}
    return rows({"step": (0, 120, 240)}, ekfac=1.0, running=1.1, **far)


def records(experiment: str, holds: bool) -> list[Record]:
    name = experiment.removeprefix("curvature/")
    if name == "drift":
        tables = {"fisher_drift": drifting(holds), "fisher_correlations": correlations(holds)}
        return [record(experiment, tables, seed=seed) for seed in SEEDS]
    if name == "rescaling":
        return [record(experiment, {"rescaling": divisors(holds)})]
    if name == "spectrum":
        return [record(experiment, {"fisher_spectrum": spectra(holds)})]
    if name.startswith("search"):
        return [
            record(experiment, {"search": searched(holds)}, **{"study.optim.second": second})
            for second in NAMES
        ]
    method = name.partition("_")[2]
    if method == "200":
        ends = {"kron": 0.12, "batch": 0.10 if holds else 0.13, "running": 0.09 if holds else 0.13}
        return [
            record(experiment, {"evals": evals(end)}, **{"optim.second": second})
            for second, end in ends.items()
        ]
    if name.startswith("amortised"):
        ends = {1: 0.11 if holds else 0.13, 250: 0.2}
        if method == "ekfac":
            ends = {250: 0.12 if holds else 0.25}
        return [
            record(experiment, {"evals": evals(end)}, seed=seed, **{"optim.period": period})
            for period, end in ends.items()
            for seed in SEEDS
        ]
    end = FINAL[method] if holds or method not in ("ekfac", "ra") else 0.125
    tables = {"evals": evals(end, 0.2 if holds or method == "kfac" else 0.22)}
    return [record(experiment, tables, seed=seed, **{"optim.period": 50}) for seed in SEEDS]


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [run for one in claim.experiments for run in records(one, holds)])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured
    assert found.missing == ()


def test_errors_of_layers_are_added_by_their_squared_norms() -> None:
    table = drifting(holds=True)
    table.loc[table["layer"] == 1, "kfac"] = 0.0
    assert whole_errors(table)["kfac"].iloc[0] == pytest.approx(np.sqrt(0.4**2 / 5))


def test_growth_is_from_a_new_basis_to_just_before_the_next() -> None:
    by_name = growth(drifting(holds=True))
    assert by_name.to_dict() == pytest.approx({"kfac": 0.3, "kfac_scaled": 0.25, "ekfac": 0.025})


def test_points_that_diverged_are_not_near_the_best() -> None:
    found = near_best(searched(holds=True), {"study.optim.second": "kron"})
    assert found == {"KFAC": pytest.approx(0.2)}


def test_every_method_is_set_beside_the_others() -> None:
    runs = [run for name in METHODS.values() for run in records(name, True)]
    found = judge(LEDGER["curvature-fig43-faster"], runs)
    assert {case.panel for case in found.cases} == {
        f"{method}, {epochs} epochs" for method in ("EKFAC", "EKFAC-ra") for epochs in (10, 20)
    }
