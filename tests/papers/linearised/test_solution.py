"""Figure 8: linearisations at both ends of training, in tables and in claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.solution import CLAIMS, GAIN
from ntkexp.papers.linearised.tasks import RESET, SOLUTIONS, ends, looks
from ntkexp.results.record import Record
from tests.papers.linearised.test_cifar2_claims import record as on_cifar2
from tests.papers.linearised.test_eigenfunction_claims import record

LEDGER = {claim.id.removeprefix("linearised-fig08-"): claim for claim in CLAIMS}
NETWORK = SOLUTIONS[0]


def run(made: Record, run: str, **config: object) -> Record:
    """A run of one task, whose tables do not say which."""
    tables = {
        name: table.drop(columns="data.index", errors="ignore")
        for name, table in made.tables.items()
    }
    config = {key.replace("__", "."): value for key, value in config.items()}
    return Record(made.experiment, run, {**made.config, **config}, tables)


def figure8(
    accuracies: Mapping[str, float], steps: Mapping[str, float] | None = None
) -> list[Record]:
    """Runs with the task of the 400th eigenfunction among others."""
    steps = {"network": 1000, "early": 6000, "stored": 500, "reset": 3000, **(steps or {})}

    def of(name: str, model: str) -> Record:
        return record(name, [accuracies[model]], js=(400,), steps=[steps[model]])

    late = f"{NETWORK}_late"
    made = [
        run(record(NETWORK, [0.1], js=(10,), steps=[7.0]), "other", data__index=10),
        run(of(NETWORK, "network"), "network", data__index=400),
        record(f"{NETWORK}_linear", [0.2, accuracies["early"]], js=(10, 400),
               steps=[9.0, steps["early"]]),
        *(run(of(late, model), model, data__index=400, **{RESET: model == "reset"})
          for model in ("stored", "reset")),
    ]  # fmt: skip
    # As run.json has it of a reference, with and without options of its own.
    weights: dict[str, dict[str, object]] = {
        "stored": {"weights": "run:3fa9/weights.pt"},
        "reset": {"weights.from": "run:3fa9/weights.pt", RESET: True},
    }
    return [replace(one, decides=weights.get(one.run, {})) for one in made]


AS_THE_TEXT = {"network": 0.7, "early": 0.8, "stored": 0.71, "reset": 0.68}


def test_each_model_has_the_numbers_of_the_late_ones_task() -> None:
    runs = figure8(AS_THE_TEXT)
    frame = ends(runs, NETWORK)
    assert frame["accuracy"].to_dict() == pytest.approx(AS_THE_TEXT)
    assert frame["steps"].to_dict() == {
        "network": 1000, "early": 6000, "stored": 500, "reset": 3000,
    }  # fmt: skip
    drawn = looks(runs, NETWORK)
    assert set(drawn["data.index"]) == {400} and set(drawn["model"]) == set(AS_THE_TEXT)
    last = drawn[(drawn["step"] == 39000) & (drawn["split"] == "test")]
    assert last.set_index("model")["accuracy"].to_dict() == pytest.approx(AS_THE_TEXT)
    assert looks(runs[:3], NETWORK).empty


def test_the_text_holds() -> None:
    for name in ("steps", "like-network", "below-early"):
        assert judge(LEDGER[name], figure8(AS_THE_TEXT)).verdict is Verdict.holds, name
    values = {case.panel: case.value for case in judge(LEDGER["steps"],
                                                       figure8(AS_THE_TEXT)).cases}  # fmt: skip
    assert [*values.values()] == pytest.approx([1 / 6, 1 / 12, 1 / 2])


def test_other_numbers_do_not_hold_and_each_statistic_is_judged_alone() -> None:
    runs = figure8({"network": 0.7, "early": 0.75, "stored": 0.76, "reset": 0.69},
                   {"early": 1500.0})  # fmt: skip
    assert judge(LEDGER["like-network"], runs).verdict is Verdict.partly
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
        return run(made, f"at {step}", data__index=100, weights__file=f"weights.{step}.pt")

    network = record("linearised/moving", [0.77], js=(100,), steps=[math.inf])
    found = [network, at(39000, 0.78, 900.0), at(390, 0.1, 1.0), at(0, 0.97, 3000.0)]
    values = {name: [case.value for case in judge(LEDGER[f"{name}-mlp"], found).cases]
              for name in ("steps", "like-network", "below-early")}  # fmt: skip
    assert values["steps"] == [math.inf, 0.3]
    assert values["like-network"] == pytest.approx([0.01])
    assert values["below-early"] == pytest.approx([-0.19])


def gains(mlp: float, stored: float, reset: float) -> list[Record]:
    """Of the late linearisations on CIFAR2; the MLP's first one does not count."""
    return [
        *(on_cifar2(name, 0.6) for name in ("cifar2_resnet18", "cifar2_resnet18_linear",
                                            "cifar2_mlp_linear")),
        *(run(on_cifar2("cifar2_resnet18_late", 0.6 + gain), f"{again}", **{RESET: again})
          for again, gain in ((False, stored), (True, reset))),
        *(run(on_cifar2("late_cifar2", accuracy), f"at {step}", weights__file=f"weights.{step}.pt")
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
