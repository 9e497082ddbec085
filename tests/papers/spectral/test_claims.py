"""Every claim of the work holds with tables that show it and fails with those that do not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.spectral.claims.sines import growth
from ntkexp.papers.spectral.numbers import (
    falls,
    first_reached,
    gone,
    high_fitted,
    hits,
    middle_delta,
    slope,
)
from ntkexp.results.record import Record
from tests.papers.made import record, rows
from tests.papers.spectral import delta, noisy_digits, petals
from tests.papers.spectral.made import SEEDS, curve, fourier, norms, pieces

LEDGER = {claim.id: claim for claim in ledger(["spectral"])}


def perturbed(holds: bool) -> pd.DataFrame:
    """At delta = 1 half is left, of low frequencies most or least."""
    sign = 1 if holds else -1
    axes = {"seed": SEEDS, "delta": (0.1, 1.0), "k": (10, 20, 30)}
    return rows(
        axes,
        magnitude=lambda seed, delta, k: 0.5 - sign * (k - 20) / 50 if delta == 1 else 1 + k,
        residual=lambda seed, delta, k: 1.0 + k,
    )


def losses_by_points(holds: bool) -> pd.DataFrame:
    """Reconstructions have the lowest losses of all, or the highest; they fall as 1 / step."""
    kinds = ("reconstructions", "scaled_reconstructions", "scaled_noise", "components", "noise")
    axes = {"data.points": kinds if holds else kinds[::-1], "seed": SEEDS,
            "step": (100, 200, 500, 1000)}  # fmt: skip
    loss = 0.4 * np.arange(1, 6)[:, None, None] / axes["step"]
    return rows(axes, split="train", subset="all", loss=loss)


def image_paths(holds: bool) -> pd.DataFrame:
    """Of a hundred pairs of each kind one has a line that leaves the class; so does its path, or
    not. Of all pairs 99 % stay either way. Each image has two pairs, of which the second is
    certain."""
    table = rows(
        {"ends": ("images", "image and adversarial"), "pair": range(100)},
        line_stays=lambda ends, pair: pair > 0,
        path_stays=lambda ends, pair: holds or pair > 0,
        length=1.03 if holds else 1.3,
        path_certainty=lambda ends, pair: 0.96 if holds or pair % 2 else 0.5,
    )
    return table.assign(**{"class": 0}, first=table["pair"] // 2, second=100 + table["pair"] // 2)


def records(experiment: str, holds: bool) -> list[Record]:
    if "delta" in experiment:
        return delta.records(experiment, holds)
    return [run_of(experiment, holds)]


def run_of(experiment: str, holds: bool) -> Record:
    alone = experiment.endswith("one_sine")
    if (found := noisy_digits.tables(experiment, holds)) is not None:
        return record(experiment, found, **{"data.width": 1.0})
    if (found := petals.tables(experiment, holds)) is not None:
        return record(experiment, found, **petals.CURVE)
    # The n-th eigenvector is largest at its own frequency, or at one that falls.
    spectra = rows(
        {"n": range(1, 6), "k": range(1, 6)},
        magnitude=lambda n, k: 1.0 if k == (n if holds else 6 - n) else 0.1,
    )
    tables = {
        "kernel_spectra": spectra,
        "evals": losses_by_points(holds),
        "fourier": fourier(lambda k: 40 * k if holds else 1000 - 40 * k, end=holds or 0.5),
        "spectral_norms": norms(2.0 if alone else 10.0 if holds else 2.5),
        "linear_pieces": pieces(0.1, 1.0) if holds else pieces(0.9, 1000.0),
        "curve": curve(holds is not experiment.endswith("symmetric")),
        "perturbed_spectrum": perturbed(holds),
        "image_paths": image_paths(holds),
    }
    return record(experiment, tables)


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [run for one in claim.experiments for run in records(one, holds)])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured
    assert found.missing == ()


def test_a_frequency_that_is_never_reached_counts_with_the_last_step() -> None:
    first = hits(fourier(lambda k: 300 if k < 20 else 5000))
    assert first.loc[0].to_dict() == {5: 300, 10: 300, 15: 300, 20: 1000}


def test_each_network_has_its_first_hit() -> None:
    table = fourier(lambda k: 300)
    table.loc[(table["seed"] == 1) & (table["step"] < 700), "magnitude"] = 0.2
    assert hits(table).to_numpy().tolist() == [[300] * 4, [700] * 4]


def test_what_is_gone_is_a_share_of_the_residual_at_the_start() -> None:
    assert gone(fourier(lambda k: 10 * k), 100).to_dict() == {5: 1, 10: 1, 15: 0, 20: 0}


def test_growth_is_that_of_the_log_of_the_product() -> None:
    assert growth(norms(8.0), 0) == pytest.approx(2 * math.log(8))
    assert growth(norms(8.0), 500) == pytest.approx(2 * math.log(8) * 0.975)


def test_high_frequencies_are_fitted_by_network_and_step() -> None:
    table = delta.fourier(0.3, 1, low_first=True)
    table.loc[table["seed"] == 1, "residual"] = 2.0
    assert high_fitted(table).loc[100].to_dict() == pytest.approx({0: 0.3, 1: 0.0})
    assert high_fitted(table)[0][70] == pytest.approx(0.6 * 4 / 8)


def test_the_untrained_network_is_no_best() -> None:
    runs = [run_of(name, False) for name in (*noisy_digits.WAVES, "spectral/wave_half")]
    for run in runs:
        table = run.tables["evals"]
        table.loc[table["step"] == 0, "loss"] = 0.0
    assert judge(LEDGER["spectral-fig34-example"], runs).verdict is Verdict.fails


def test_petals_are_set_beside_the_last_looks_and_one_iteration() -> None:
    run = run_of("spectral/petals", True)
    loss = judge(LEDGER["spectral-fig38-loss"], [run])
    # Two looks, at losses of 1 and 0.5 - L / 50.
    assert [case.value for case in loss.cases] == pytest.approx([0.71 / 0.75, 0.65 / 0.71])
    assert [case.value for case in loss.also] == pytest.approx([0.42 / 0.5, 0.3 / 0.42])
    bias = judge(LEDGER["spectral-fig38-bias"], [run]).also
    assert [case.value for case in bias] == pytest.approx([0, 0])  # at step 0


def test_maps_are_compared_with_chance_and_far_from_the_curve() -> None:
    found = judge(LEDGER["spectral-fig37-elsewhere"], [run_of("spectral/decision_maps", True)])
    assert [case.value for case in found.cases] == [0.25]
    chance, far = found.also
    assert chance.value == 0.25
    assert far.value > 0.25


def test_norms_of_one_setting_are_judged_before_the_other_has_runs() -> None:
    claim = LEDGER["spectral-fig31-norms-control"]
    equal, control = (run_of(name, False) for name in ("spectral/equal", "spectral/one_sine"))
    found = judge(claim, [equal, control])
    assert found.verdict is Verdict.fails
    assert [case.panel for case in found.cases] == ["equal"]
    assert found.missing == ("spectral/increasing",)


def test_norms_are_set_beside_a_control_of_their_scale() -> None:
    claim = LEDGER["spectral-fig31-norms-control"]
    equal, control = (run_of(name, False) for name in ("spectral/equal", "spectral/one_sine"))
    small = replace(control, config={**control.config, "scale.name": "small"})
    assert judge(claim, [equal, small]).verdict is Verdict.no_runs


def test_robustness_is_read_where_half_is_left() -> None:
    assert set(middle_delta(perturbed(True))["delta"]) == {1.0}


def test_low_frequencies_that_are_never_reached_are_read_at_the_last_step() -> None:
    table = fourier(lambda k: 5000 if k == 100 else 0, k=[20, 100, 120])
    assert first_reached(table, [20]) == 0
    assert first_reached(table, [20, 100]) == 1000


def test_a_slope_is_that_of_a_power() -> None:
    k = [1, 2, 4, 8]
    assert slope(k, [5 * x**-1.5 for x in k]) == pytest.approx(-1.5)


def test_width_is_compared_with_depth_by_logs_of_steps() -> None:
    """Half is fitted at step 90 at depth 3, at 30 at depth 6 and at 70 with more width."""
    runs = delta.records("spectral/delta_depth", True) + delta.records("spectral/delta_width", True)
    found = judge(LEDGER["spectral-exp7-width-weaker"], runs)
    assert found.cases[0].value == pytest.approx(math.log(90 / 70) / math.log(90 / 30))


def test_a_mean_that_one_network_decides_holds_in_part() -> None:
    runs = delta.records("spectral/delta_depth", True)
    for run in runs:  # the second network is no sooner with more depth
        late = run.tables["fourier"]
        late.loc[late["seed"] == 1, "residual"] = 1.0
    found = judge(LEDGER["spectral-exp7-depth"], runs)
    assert found.verdict is Verdict.partly
    assert [round(case.value, 2) for case in found.cases] == [1.73, 1.0, 3.0]


def test_networks_that_fit_nothing_have_no_order() -> None:
    runs = delta.records("spectral/delta_clip", True)
    free = runs[-1].tables["fourier"]
    free.loc[(free["seed"] == 1) & (free["step"] == 100), "residual"] = 1.0
    cases = judge(LEDGER["spectral-exp7-low-first"], runs).cases
    assert [(case.panel, case.seed) for case in cases] == [("clip = 2", 0)]


def test_one_network_shows_that_a_bound_can_be_tight() -> None:
    runs = delta.records("spectral/delta_bounds", True)
    for run in runs:
        slopes = run.tables["linear_pieces"]
        slopes["lipschitz"] = slopes["lipschitz"] ** (1 - 0.75 * slopes["seed"])
    assert judge(LEDGER["spectral-exp7-bound-tight"], runs).verdict is Verdict.holds


def test_falls_are_read_at_the_step_that_they_were_replayed_for() -> None:
    """Measured residuals are 1 - step / 100; the kernel has them fall twice as fast."""
    fourier = rows(
        {"seed": SEEDS, "step": range(41), "k": (1, 2)},
        residual=lambda seed, step, k: 1 - step / 100,
    )
    replayed = rows(
        {"seed": SEEDS, "step": (0, 10, 20), "after": (0, 1, 10), "k": (1, 2)},
        residual=lambda seed, step, after, k: 1 - step / 100 - 2 * after / 100,
    )
    found = falls(fourier, replayed)
    assert sorted(found["stage"].unique()) == [0, 1, 2]
    assert (found["predicted"] / found["measured"]).to_numpy() == pytest.approx(2.0)
    assert found["measured"].to_numpy() == pytest.approx(found["after"].to_numpy() / 100)
