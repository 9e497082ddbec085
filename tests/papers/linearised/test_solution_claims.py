"""Figure 8: linearisations at both ends of training are judged by their numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.solution import CLAIMS, GAIN
from ntkexp.papers.linearised.tasks import RESET
from ntkexp.results.record import Record
from tests.papers.linearised.made import AS_THE_TEXT, INDEX, figure8, of_one_task, record
from tests.papers.linearised.test_cifar2_claims import record as on_cifar2

LEDGER = {claim.id.removeprefix("linearised-fig08-"): claim for claim in CLAIMS}


def test_the_text_holds() -> None:
    for name in ("steps", "like-network", "below-early"):
        assert judge(LEDGER[name], figure8(AS_THE_TEXT)).verdict is Verdict.holds, name
    values = {case.panel: case.value for case in judge(LEDGER["steps"],
                                                       figure8(AS_THE_TEXT)).cases}  # fmt: skip
    assert [*values.values()] == pytest.approx([1 / 6, 1 / 12, 1 / 2])


def test_other_numbers_do_not_hold_and_each_statistic_is_judged_alone() -> None:
    runs = figure8({"network": 0.7, "early": 0.75, "stored": 0.76, "reset": 0.69},
                   {"early": 1500.0})  # fmt: skip
    assert judge(LEDGER["like-network"], runs).verdict is Verdict.not_decidable
    assert judge(LEDGER["below-early"], runs).verdict is Verdict.partly
    assert judge(LEDGER["steps"], runs).verdict is Verdict.partly
    above = figure8({"network": 0.7, "early": 0.75, "stored": 0.76, "reset": 0.8})
    assert judge(LEDGER["below-early"], above).verdict is Verdict.fails


def test_where_the_early_one_never_comes_to_the_loss_all_its_updates_are_the_least() -> None:
    for never in (math.inf, 30_000):  # more than half of them decide nothing
        runs = figure8(AS_THE_TEXT, {"early": math.inf, "reset": never})
        cases = judge(LEDGER["steps"], runs).cases
        assert [case.value for case in cases] == pytest.approx([1000 / 39_000, 500 / 39_000])
    late = figure8(AS_THE_TEXT, {"reset": math.inf})
    assert judge(LEDGER["steps"], late).cases[-1].value == math.inf


def test_the_mlp_is_judged_at_its_first_and_last_weights() -> None:
    def at(step: int, accuracy: float, reached: float) -> Record:
        made = record("linearised/late", [accuracy], js=(100,), steps=[reached])
        return of_one_task(made, f"at {step}", **{INDEX: 100, "weights.file": f"weights.{step}.pt"})

    network = record("linearised/moving", [0.77], js=(100,), steps=[math.inf])
    found = [network, at(39000, 0.78, 900.0), at(390, 0.1, 1.0), at(0, 0.97, 3000.0)]
    values = {name: [case.value for case in judge(LEDGER[f"{name}-mlp"], found).cases]
              for name in ("steps", "like-network", "below-early")}  # fmt: skip
    assert values["steps"] == [math.inf, 0.3]
    assert values["like-network"] == pytest.approx([0.01])
    assert values["below-early"] == pytest.approx([-0.19])


def slow(late: Record, losses: dict[float, int]) -> Record:
    """A linearisation at a tenth of the rate, that comes to these losses after so many updates."""
    events = pd.DataFrame(
        {"step": losses.values(), "event": "train_loss", "threshold": losses.keys()}
    )
    tables = {**late.tables, "events": events}
    return replace(late, experiment=f"{late.experiment}_slow", tables=tables)


def test_late_linearisations_at_a_tenth_of_the_rate_take_the_place_of_those_at_the_rate() -> None:
    runs = figure8(AS_THE_TEXT, {"early": math.inf, "network": math.inf})
    for run in runs:  # all come from .7 at the start to .001 after 390
        if run.experiment.endswith("_linear"):
            run.tables["evals"].loc[run.tables["evals"]["step"] > 0, "loss"] = 0.3
    late = [run for run in runs if run.experiment.endswith("_late")]
    slower = [slow(run, {0.05: 2000 if i else 300, 0.01: 9000}) for i, run in enumerate(late)]
    found = judge(LEDGER["steps"], [*runs, *slower])
    between = 391 ** (math.log(0.7 / 0.05) / math.log(0.7 / 0.001)) - 1
    assert {case.panel: case.value * 39_000 for case in found.cases} == pytest.approx(
        {
            "network": between,
            "at θ_T, statistics stored, a tenth of the rate": 300,
            "at θ_T, statistics reset, a tenth of the rate": 2000,
        }
    )
    small = [replace(run, config={**run.config, "scale.name": "small"}) for run in slower]
    assert judge(LEDGER["steps"], [*runs, *small]).cases == judge(LEDGER["steps"], runs).cases


def test_the_mlps_late_linearisation_is_beside_the_early_one_of_its_rate() -> None:
    def at(step: int) -> Record:
        made = record("linearised/late", [0.9], js=(100,), steps=[math.inf])
        return of_one_task(made, f"at {step}", **{INDEX: 100, "weights.file": f"weights.{step}.pt"})

    made = record("linearised/moving", [0.77], js=(100,), steps=[math.inf])
    network = of_one_task(made, "network", **{INDEX: 100})
    runs = [network, at(0), at(39000), slow(at(0), {0.05: 4000}), slow(at(39000), {0.05: 800})]
    found = judge(LEDGER["steps-mlp"], runs)
    assert {case.panel: case.value for case in found.cases} == pytest.approx(
        {"network": 1.0, "at θ_T, a tenth of the rate": 0.2}
    )
    assert found.verdict is Verdict.partly


def gains(mlp: float, stored: float, reset: float) -> list[Record]:
    """Of the late linearisations on CIFAR2; the MLP's first one does not count."""
    return [
        *(on_cifar2(name, 0.6) for name in ("cifar2_resnet18", "cifar2_resnet18_linear",
                                            "cifar2_mlp_linear")),
        *(of_one_task(on_cifar2("cifar2_resnet18_late", 0.6 + gain), f"{again}", **{RESET: again})
          for again, gain in ((False, stored), (True, reset))),
        *(of_one_task(on_cifar2("late_cifar2", accuracy), f"at {step}",
                      **{"weights.file": f"weights.{step}.pt"})
          for step, accuracy in ((0, 0.9), (39000, 0.6 + mlp))),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "best", "verdict"),
    [
        ((0.0, 0.02, -0.1), "ResNet18, at θ_T, statistics stored", Verdict.holds),
        ((0.03, 0.02, 0.0), "MLP, at θ after 100 epochs", Verdict.holds),
        ((0.0, -0.02, 0.005), "ResNet18, at θ_T, statistics reset", Verdict.fails),
    ],
)
def test_on_cifar2_the_best_of_the_networks_decides(
    of: tuple[float, float, float], best: str, verdict: Verdict
) -> None:
    finding = judge(LEDGER["cifar2"], gains(*of))
    (case,) = finding.cases
    assert (case.panel, finding.verdict) == (best, verdict)
    assert case.value == pytest.approx(max(of))
    # Of ResNet18 alone: that it gains is enough, that it does not is not.
    alone = judge(LEDGER["cifar2"], gains(*of)[:-2]).verdict
    assert alone is (Verdict.holds if max(of[1:]) >= GAIN else Verdict.no_runs)
