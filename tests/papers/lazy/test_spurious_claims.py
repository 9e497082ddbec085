"""The claims of Figure 5.3 see a lazy network that is more robust, and one that is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims.spurious import CLAIMS, FITTED_LIMIT
from ntkexp.papers.lazy.curves import at_level, at_levels
from ntkexp.papers.lazy.spurious_curves import curves
from ntkexp.results.record import Record
from tests.papers import made
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("lazy-fig53-"): claim for claim in CLAIMS}
STEPS = 41


def evals(robust: float, *, fits: bool = True, end: float = 0.0) -> pd.DataFrame:
    """A network whose accuracy without the attribute is `robust` times that with it, less .1; at
    the end all test accuracies meet, but for `end`."""
    progress = np.linspace(0.5, 1.0 if fits else 0.97, STEPS)
    meets = np.clip((progress - 0.95) / 0.05, 0, 1)
    without = (1 - meets) * (robust * progress - 0.1) + meets * (0.9 + end)
    with_and_without = [progress, without, (progress + without) / 2]
    accuracy = [[*with_and_without, progress], [*with_and_without, with_and_without[-1]]]
    axes = {"split": ("train", "test"), "subset": ("with", "without", "balanced", "all")}
    return rows({**axes, "step": range(STEPS)}, loss=0.0, accuracy=accuracy)


def members(networks: Mapping[float, pd.DataFrame], seed: int) -> dict[str, pd.DataFrame]:
    """The tables of one run of networks, by alpha."""
    own = [evals.assign(**{"transform.alpha": alpha}) for alpha, evals in networks.items()]
    return {"evals": pd.concat(own, ignore_index=True).assign(seed=seed)}


def record(robust: dict[float, float], *, name: str = "lazy/spurious_mlp", fits: bool = True,
           end: float = 0.0) -> Record:  # fmt: skip
    networks = {
        alpha: evals(value, fits=fits, end=end if alpha < 100 else 0.0)
        for alpha, value in robust.items()
    }
    return made.record(name, members(networks, seed=3), recipe="paper")


def verdict(name: str, one: Record) -> Verdict:
    return judge(LEDGER[name], [one]).verdict


def test_a_lazy_network_that_is_more_robust() -> None:
    one = record({0.5: 0.6, 1: 0.7, 100: 0.8}, end=0.01)
    found = {name: verdict(name, one) for name in LEDGER if name != "phase-2"}
    assert set(found.values()) == {Verdict.holds}
    (case,) = judge(LEDGER["robust-train"], [one]).cases
    assert (case.panel, case.seed) == ("digits on characters", 3)
    assert case.value == pytest.approx(0.1 * np.mean([0.6, 0.7, 0.8, 0.9]), abs=1e-9)


def test_a_lazy_network_that_is_less_robust() -> None:
    one = record({0.5: 0.8, 1: 0.7, 100: 0.6}, end=-0.01)
    for name in ("robust-train", "robust-test", "phase-1", "phase-1-order", "phase-2-advantage"):
        assert verdict(name, one) is Verdict.fails


def seeds(*ends: float, apart: float = 0.0) -> list[Record]:
    """A run a seed, whose test accuracies end so; with alpha = 100 further up by `apart`."""
    networks = [
        {alpha: evals(0.7, end=end + (apart if alpha == 100 else 0.0)) for alpha in (0.5, 1, 100)}
        for end in ends
    ]
    return [
        made.record("lazy/spurious_mlp", members(own, seed), seed=seed, recipe="paper")
        for seed, own in enumerate(networks)
    ]


def test_ends_converge_that_are_no_further_apart_than_seeds_are() -> None:
    claim = LEDGER["phase-2"]
    assert judge(claim, seeds(0.0, 0.02, apart=0.02)).verdict is Verdict.holds
    assert judge(claim, seeds(0.0, 0.02, apart=0.1)).verdict is Verdict.fails
    # One seed does not tell how far seeds are apart.
    assert judge(claim, seeds(0.0, apart=0.1)).verdict is Verdict.no_runs


def linearised(name: str, *, fits: bool = True, end: float = 0.0) -> Record:
    """What alpha = 100 comes to, in a run of its own."""
    tables = {"evals": evals(0.8, fits=fits, end=end)}
    return made.record(name, tables, seed=3, recipe="paper", **{"transform.name": "linearise"})


def test_the_second_phase_of_the_lazy_regime_may_be_that_of_its_limit() -> None:
    short = record({0.5: 0.6, 1: 0.7, 100: 0.8})
    evals_ = short.tables["evals"]
    cut = (evals_["transform.alpha"] == 100) & (evals_["accuracy"] > 0.97)
    stuck = replace(short, tables={"evals": evals_[~cut]})
    claim = LEDGER["phase-2-advantage"]
    assert FITTED_LIMIT in claim.experiments
    assert judge(claim, [stuck]).verdict is Verdict.no_runs
    found = judge(claim, [stuck, linearised(FITTED_LIMIT)])
    assert found.verdict is Verdict.holds
    apart = judge(claim, [stuck, linearised(FITTED_LIMIT, end=0.3)])
    assert apart.verdict is Verdict.fails
    begun = judge(claim, [stuck, linearised(FITTED_LIMIT, fits=False)])
    assert begun.verdict is Verdict.no_runs
    # Where alpha = 100 has come there itself it counts, whatever its limit does.
    whole = [short, linearised(FITTED_LIMIT, end=0.3)]
    assert judge(claim, whole).verdict is Verdict.holds


def test_what_was_not_reached_is_undecided() -> None:
    one = record({0.5: 0.6, 1: 0.7, 100: 0.8}, fits=False)
    assert verdict("phase-2", one) is Verdict.no_runs
    assert verdict("phase-2-advantage", one) is Verdict.no_runs
    assert verdict("robust-train", one) is Verdict.holds
    alone = record({100: 0.8})
    assert all(verdict(name, alone) is Verdict.no_runs for name in LEDGER)


def test_runs_of_a_sweep_count_like_members() -> None:
    name = "lazy/waterbirds_kind"
    apart = [
        made.record(name, {"evals": evals(robust)}, seed=3, **{"transform.alpha": alpha})
        for alpha, robust in {0.5: 0.6, 1.0: 0.7, 100.0: 0.8}.items()
    ]
    together = record({0.5: 0.6, 1: 0.7, 100: 0.8}, name=name)
    one, other = (frame.sort_values(["alpha", "step"], ignore_index=True)
                  for frame in (curves(apart), curves([together])))  # fmt: skip
    pd.testing.assert_frame_equal(one, other)


def test_a_level_is_met_on_the_line_between_two_looks() -> None:
    progress, value = np.array([0.5, 0.9, 0.6, 1.0]), np.array([0.0, 0.4, 0.1, 1.0])
    assert at_level(progress, value, 0.7) == pytest.approx(0.2)  # the first time
    assert np.isnan(at_level(progress, value, 0.5))
    assert np.isnan(at_level(progress[:2], value[:2], 0.95))
    looks = pd.DataFrame({"a": progress, "b": value})
    assert at_levels(looks, "b", "a", [0.6, 0.95]) == pytest.approx([0.1, 0.8875])


def test_linearised_networks_stand_with_those_they_are_the_limit_of() -> None:
    found = curves([linearised("lazy/spurious_linear"), record({100: 0.8})])
    assert set(found["experiment"]) == {"lazy/spurious_mlp"}
    assert set(found["alpha"]) == {100.0, float("inf")}


def test_of_a_network_that_stands_in_two_runs_the_longer_one_counts() -> None:
    short, long = linearised("lazy/spurious_linear"), linearised("lazy/spurious_linear_long")
    evals_ = short.tables["evals"]
    cut = replace(short, tables={"evals": evals_[evals_["step"] < 20]})
    for both in ([cut, long], [long, cut]):
        pd.testing.assert_frame_equal(curves(both), curves([long]))


def test_a_run_that_is_still_in_its_first_phase_is_no_evidence() -> None:
    one = record({0.5: 0.6, 1: 0.7, 100: 0.8})
    evals_ = one.tables["evals"]
    ended = replace(one, tables={"evals": evals_[evals_["step"] < 30]})
    assert verdict("robust-train", ended) is Verdict.holds
    assert verdict("robust-train", replace(ended, finished=False)) is Verdict.no_runs


@pytest.mark.parametrize(("name", "last"), [("lazy/spurious_mlp", 0.9), ("lazy/celeba_kind", 0.95)])
def test_the_first_phase_ends_where_the_attribute_has_given_what_it_gives(
    name: str, last: float
) -> None:
    """Beyond the last level of a kind the other network is ahead by far."""
    one = record({0.5: 0.6, 1: 0.7, 100: 0.8}, name=name)
    rows = one.tables["evals"]
    progress = rows[(rows["split"] == "train") & (rows["subset"] == "all")]
    late = set(progress.loc[progress["accuracy"] > last + 0.02, "step"])
    test = (rows["split"] == "test") & (rows["subset"] == "all") & rows["step"].isin(late)
    rows.loc[test & (rows["transform.alpha"] == 100), "accuracy"] = 0.0
    levels = [0.75, 0.8, 0.85, 0.9] if last == 0.9 else [0.875, 0.9, 0.925, 0.95]
    (case,) = judge(LEDGER["phase-1"], [one]).cases
    assert case.value == pytest.approx(0.05 * np.mean(levels), abs=1e-9)
