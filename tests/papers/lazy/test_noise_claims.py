"""The claims on wrong labels see a lazy network that memorises early, and one that does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims import noise, rates
from ntkexp.papers.lazy.curves import WRONG_LABELS, at_losses, looks, onset
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id.partition("-noise-")[2]: claim for claim in (*noise.CLAIMS, *rates.CLAIMS)}
CLEAN = np.geomspace(2.3, 0.02, 60)
ALPHAS = {"plain": 1.0, "lazy": 100.0}
MLP, RATES = "lazy/noise_mlp", "lazy/rates_mlp"


def tables(peak: float, linear: float, *, turns: bool = True) -> dict[str, pd.DataFrame]:
    """A network whose noisy loss peaks at this clean loss, whose test loss is best there, and whose
    measures of linearity end at `linear`."""
    steps = np.arange(len(CLEAN))
    before = peak <= CLEAN
    noisy = np.where(before, 2.3 + (2.3 - CLEAN), (4.6 - peak) * CLEAN / peak)
    if not turns:
        noisy = 4.6 - CLEAN
    test = np.where(before, CLEAN, 2 * peak - CLEAN)
    known = {"intact": 1 - CLEAN / 2.6, "noisy": np.where(before, 0.05, 1 - CLEAN / peak),
             "all": 1 - test / 2.6}  # fmt: skip
    evals = [
        rows({"step": steps}, split=split, subset=subset, loss=loss, accuracy=known[subset])
        for split, subset, loss in (
            ("train", "intact", CLEAN), ("train", "noisy", noisy), ("test", "all", test),
        )
    ]  # fmt: skip
    fall = 1 - (1 - linear) * steps / steps[-1]
    measures = dict.fromkeys(("relus", "kernel", "representation"), fall)
    return {
        "evals": pd.concat(evals),
        "linearity": rows({"step": steps}, split="train", **measures),
    }


def ensemble(**networks: dict[str, pd.DataFrame]) -> Record:
    """`plain` at alpha = 1 and `lazy` at alpha = 100, as members of one run."""
    own = [member(alpha, networks[name]) for name, alpha in ALPHAS.items() if name in networks]
    joined = {name: pd.concat(one[name] for one in own) for name in own[0]}
    return record(MLP, joined, recipe="paper", **{"optim.lr": 0.01})


def member(alpha: float, found: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    keys = {"transform.alpha": alpha, "seed": 0}
    return {name: table.assign(**keys) for name, table in found.items()}


def at_rate(lr: float, found: dict[str, pd.DataFrame]) -> Record:
    return record(RATES, found, recipe="paper", **{"optim.lr": lr, "transform.alpha": 1.0})


def unfinished(run: Record) -> Record:
    return replace(run, finished=False)


def verdict(name: str, *records: Record) -> Verdict:
    return judge(LEDGER[name], records).verdict


REGIMES = (
    "phase-1",
    "onset",
    "noisy-loss",
    "best-test",
    "linear",
    "memorises-later",
    "test-accuracy",
)


def test_a_lazy_network_that_memorises_early_and_stays_linear() -> None:
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.97))
    assert {verdict(name, one) for name in (*REGIMES, "not-linear")} == {Verdict.holds}
    (case,) = judge(LEDGER["onset"], [one]).cases
    assert case.value == pytest.approx(0.5, abs=0.1)


def test_a_lazy_network_that_memorises_late() -> None:
    one = ensemble(plain=tables(1.0, 1.02), lazy=tables(0.5, 0.97))
    names = {*REGIMES, "not-linear"} - {"phase-1", "linear", "noisy-loss"}
    assert {verdict(name, one) for name in names} == {Verdict.fails}
    # At the first levels none has memorised, and both have the same loss.
    assert verdict("noisy-loss", one) is Verdict.partly


def test_a_network_that_does_not_stay_linear_says_nothing_of_the_lazy_regime() -> None:
    one = ensemble(plain=tables(1.0, 0.3), lazy=tables(0.5, -5.0))
    assert verdict("linear", one) is Verdict.fails
    compared = {*REGIMES} - {"phase-1", "linear"}
    assert {verdict(name, one) for name in compared} == {Verdict.no_runs}


def test_a_lazy_network_counts_until_it_leaves_the_linear_regime() -> None:
    """Its measures are .9 where the clean loss is .89."""
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.5))
    panels = [case.panel for case in judge(LEDGER["noisy-loss"], [one]).cases]
    assert panels == [f"MLP, MNIST, at {level}" for level in (2, 1.5, 1)]
    assert verdict("onset", one) is Verdict.no_runs


def test_a_noisy_loss_that_only_falls_is_no_first_phase() -> None:
    falling = tables(3.0, 0.5)
    assert verdict("phase-1", ensemble(plain=falling, lazy=falling)) is Verdict.fails


def test_what_was_not_reached_is_undecided() -> None:
    still = tables(0.5, 0.97, turns=False)
    one = ensemble(plain=tables(0.5, 0.3), lazy=still)
    assert verdict("onset", one) is Verdict.no_runs
    assert np.isnan(onset(looks([one], WRONG_LABELS).query("alpha == 100")))
    assert verdict("onset", ensemble(plain=tables(0.5, 0.3))) is Verdict.no_runs


@pytest.mark.parametrize("name", ["linear", "not-linear"])
def test_what_is_said_of_a_whole_run_needs_one_that_learned_and_ended(name: str) -> None:
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.97))
    assert verdict(name, one) is Verdict.holds
    assert verdict(name, unfinished(one)) is Verdict.no_runs
    hardly = {key: found[found["step"] <= 4] for key, found in tables(1.0, 0.97).items()}
    assert verdict(name, ensemble(plain=tables(0.5, 0.3), lazy=hardly)) is Verdict.no_runs
    assert verdict("phase-1", unfinished(one)) is Verdict.holds


def test_a_lazy_network_that_left_the_linear_regime_counts_however_far_it_came() -> None:
    whole = tables(1.0, -1.0)
    short = {key: found[found["step"] <= 4] for key, found in whole.items()}
    one = ensemble(plain=tables(0.5, 0.3), lazy=short)
    assert short["evals"].query("subset == 'intact'")["loss"].min() > noise.LEARNED
    assert verdict("linear", unfinished(one)) is Verdict.fails
    assert verdict("not-linear", one) is Verdict.no_runs


def test_memorising_begins_where_noisy_accuracy_is_back_at_a_level() -> None:
    known = [0.1, 0.02, 0.02, 0.05, 0.05, 0.2, 0.2, 0.9, 0.9]
    clean = np.linspace(0.1, 0.9, len(known))
    frame = pd.DataFrame({"noisy_known": known, "clean_known": clean, "clean": 1 - clean})
    assert noise.memorising_from(frame) == pytest.approx([0.5 + 0.1 / 3, 0.6])
    assert np.isnan(noise.memorising_from(frame[:5])).all()
    assert np.isnan(noise.memorising_from(frame.assign(clean=2.0))).all()


def test_of_a_network_that_stands_in_two_runs_the_longer_one_counts() -> None:
    """The lazy networks of the MLP go on for longer in a run of their own."""
    longer = f"{MLP}_lazy"
    short = {name: found[found["step"] <= 8] for name, found in tables(1.0, 0.97).items()}
    one = ensemble(plain=tables(0.5, 0.3), lazy=short)
    whole = member(ALPHAS["lazy"], tables(1.0, 0.97))
    other = record(longer, whole, recipe="paper", **{"optim.lr": 0.01})
    assert verdict("best-test", one) is Verdict.no_runs
    found = judge(LEDGER["best-test"], [one, other])
    assert found.verdict is Verdict.holds
    assert len(judge(LEDGER["phase-1"], [one, other]).cases) == 2  # a case a network
    every = looks([one, other], WRONG_LABELS)
    assert set(every.loc[every["alpha"] == 100, "experiment"]) == {longer}
    assert set(every.loc[every["alpha"] == 1, "experiment"]) == {MLP}


def test_a_spike_of_one_look_is_no_peak() -> None:
    spiked = tables(1.0, 0.5)
    evals = spiked["evals"]
    here = (evals["subset"] == "noisy") & (evals["step"] == 50)
    evals.loc[here, "loss"] = 50.0
    frame = looks([ensemble(plain=spiked)], WRONG_LABELS)
    assert onset(frame) == pytest.approx(1.0, abs=0.15)


def test_rates_on_one_trajectory_and_the_least_of_them_less_linear() -> None:
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.97))
    rates = [at_rate(lr, tables(0.5, 0.6)) for lr in (0.003, 1e-4, 1e-6)]
    names = ("rates-alike", "rates-alike-first", "rates-alike-test", "rate-is-not-linear",
             "rate-more-linear")  # fmt: skip
    assert {verdict(name, one, *rates) for name in names} == {Verdict.holds}


def test_rates_apart_and_the_least_of_them_linear() -> None:
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.8))
    rates = [at_rate(lr, tables(1.0, 0.99)) for lr in (0.003, 1e-6)]
    for name in ("rates-alike", "rates-alike-test", "rate-is-not-linear"):
        assert verdict(name, one, *rates) is Verdict.fails
    less = [at_rate(0.003, tables(0.5, 0.1))]
    assert verdict("rate-more-linear", one, *less) is Verdict.fails


def test_rates_may_part_once_something_is_memorised() -> None:
    """Noisy accuracies are equal until the first of two networks memorises, here at .75."""
    one = ensemble(plain=tables(0.5, 0.3), lazy=tables(1.0, 0.97))
    later = at_rate(0.003, tables(0.75, 0.6))
    assert verdict("rates-alike", one, later) is Verdict.fails
    assert verdict("rates-alike-first", one, later) is Verdict.holds


def test_where_a_run_was_stopped_decides_only_what_has_fallen_too_far() -> None:
    for end, stopped, ended in (
        (0.9, Verdict.no_runs, Verdict.holds),
        (0.8, Verdict.fails, Verdict.fails),
    ):
        small = at_rate(1e-6, tables(0.5, end))
        assert verdict("rate-drops", small) is ended
        assert verdict("rate-drops", unfinished(small)) is stopped


def test_alpha_parts_what_rates_leave_together() -> None:
    lazy = tables(1.0, 0.97)
    one = ensemble(plain=tables(0.5, 0.3), lazy=lazy)
    assert verdict("alpha-apart", one, at_rate(0.003, tables(0.51, 0.6))) is Verdict.holds
    assert verdict("alpha-apart", one, at_rate(0.003, tables(2.0, 0.6))) is Verdict.fails
    assert verdict("alpha-apart", one) is Verdict.no_runs
    # Where alpha = 100 has not come, rates may part.
    evals = lazy["evals"]
    reached = evals["step"] < np.flatnonzero(CLEAN < 0.9)[0]
    short = ensemble(plain=tables(0.5, 0.3), lazy=lazy | {"evals": evals[reached]})
    apart = at_rate(0.003, tables(0.8, 0.6))
    assert verdict("alpha-apart", short, apart) is not Verdict.fails


def test_a_value_at_a_loss_is_on_the_line_between_looks() -> None:
    frame = pd.DataFrame({"clean": [2.0, 1.0, 0.5], "noisy": [2.0, 4.0, 3.0]})
    assert at_losses(frame, "noisy", "clean", (1.5, 0.75)) == pytest.approx([3.0, 3.5])
    assert np.isnan(at_losses(frame, "noisy", "clean", (0.4,))).all()
