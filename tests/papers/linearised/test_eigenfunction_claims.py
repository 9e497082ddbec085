"""The claims on eigenfunctions see networks that are worse than their linearisations, or better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.eigenfunctions import CLAIMS
from ntkexp.papers.linearised.tasks import tasks
from ntkexp.results.record import Record
from tests.papers.linearised.made import ALL, of_one_task, record
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("linearised-"): claim for claim in CLAIMS}
FOUR = (20, 100, 400, 1000)
FALLING = np.linspace(0.95, 0.65, len(ALL)).tolist()
BETTER = [accuracy + 0.1 for accuracy in FALLING]


def verdict(name: str, *records: Record) -> Verdict:
    return judge(LEDGER[name], records).verdict


def test_a_network_that_is_worse_than_its_linearisation() -> None:
    never = [np.inf] * len(ALL)
    both = record("linearised/mlp", FALLING), record("linearised/mlp_linear", BETTER, steps=never)
    for name in ("fig02-falls", "fig02-gap", "fig02-mean-gap", "fig12-steps", "fig12-distance",
                 "fig12-cosine", "sec43-sooner"):  # fmt: skip
        assert verdict(name, *both) is Verdict.holds, name
    (case,) = judge(LEDGER["fig02-mean-gap"], both).cases
    assert (case.panel, case.seed) == ("MLP", 0) and case.value == pytest.approx(-0.1)
    panels = {case.panel for case in judge(LEDGER["fig02-falls"], both).cases}
    assert panels == {"MLP, network", "MLP, linearisation"}


def test_a_network_that_is_better() -> None:
    both = (
        record("linearised/mlp", BETTER[::-1], steps=list(range(900, 900 - len(ALL), -1))),
        record("linearised/mlp_linear", FALLING[::-1], steps=[5.0] * len(ALL)),
    )
    for name in ("fig02-falls", "fig02-gap", "fig02-mean-gap", "fig12-steps", "sec43-sooner"):
        assert verdict(name, *both) is Verdict.fails, name


def test_one_task_from_the_tenth_on_is_enough_to_fail_and_earlier_ones_do_not_count() -> None:
    linear = record("linearised/mlp_linear", BETTER)
    for ahead, expected in ((5, Verdict.holds), (10, Verdict.fails)):
        accuracies = [a + 0.2 * (j == ahead) for j, a in zip(ALL, FALLING, strict=True)]
        assert verdict("fig02-gap", record("linearised/mlp", accuracies), linear) is expected


def test_a_network_that_ends_above_the_loss_is_judged_and_said_not_to_be_trained() -> None:
    losses = [*[0.001] * (len(ALL) - 1), 0.02]
    linear = record("linearised/mlp_linear", BETTER)
    ahead = record("linearised/mlp", [*FALLING[:-1], 0.99], losses=losses)
    assert verdict("fig02-gap", ahead, linear) is Verdict.fails
    assert verdict("appA-trained", ahead) is Verdict.fails
    assert verdict("appA-trained", record("linearised/mlp", FALLING)) is Verdict.holds


def test_who_never_comes_to_the_loss_is_last_and_a_task_where_nobody_does_says_nothing() -> None:
    linear = record("linearised/mlp_linear", BETTER, steps=[np.inf] * len(ALL))
    some = record("linearised/mlp", FALLING, steps=[50.0] * 4 + [np.inf] * (len(ALL) - 4))
    assert verdict("sec43-sooner", some, linear) is Verdict.holds
    soon = record("linearised/mlp_linear", BETTER, steps=[np.inf] * (len(ALL) - 1) + [7.0])
    found = judge(LEDGER["sec43-sooner"], [some, soon])
    assert [case.value for case in found.cases] == pytest.approx([1 / 5])
    assert found.verdict is Verdict.fails


def test_the_authors_log_is_another_reading_of_who_is_sooner() -> None:
    """Of one minibatch an epoch below the loss the network has one first; of running means not."""
    both = [
        record("linearised/mlp", FALLING, steps=[np.inf] * len(ALL)),
        record("linearised/mlp_linear", BETTER),
    ]
    assert verdict("sec43-sooner", *both) is Verdict.fails
    for one, scattered in zip(both, (0.001, 0.02), strict=True):
        axes = {"data.index": ALL, "step": (0, 389, 390, 780)}
        loss = [0.7, 0.001, scattered, 0.001]
        one.tables["steps"] = rows(axes, train_loss=loss)  # type: ignore[index]
    found = judge(LEDGER["sec43-sooner"], both)
    assert found.verdict is Verdict.not_decidable
    assert found.undecided == "running mean: fails; one minibatch an epoch: holds"


def test_steps_are_ranked_among_the_tasks_that_come_to_the_loss() -> None:
    steps = [900.0, 38.0, 25379.0, 28190.0, 34159.0, *[np.inf] * (len(ALL) - 5)]
    (case,) = judge(LEDGER["fig12-steps"], [record("linearised/mlp", FALLING, steps=steps)]).cases
    assert case.value == 0.9 * 2  # of five tasks, in deviations
    few = [1.0, 2.0, 3.0, *[np.inf] * (len(ALL) - 3)]
    assert verdict("fig12-steps", record("linearised/mlp", FALLING, steps=few)) is Verdict.no_runs


def test_of_resnet18_tasks_decide_whose_linearisation_has_learned() -> None:
    network = record("linearised/resnet18", [0.8, 0.7, 0.6, 0.5], js=FOUR)
    linear = record("linearised/resnet18_linear", [0.9, 0.8, 0.5, 0.4], js=FOUR,
                    learned=[1.0, 0.76, 0.74, 0.5])  # fmt: skip
    mean = judge(LEDGER["fig02-mean-gap"], [network, linear])
    assert [case.value for case in mean.cases] == pytest.approx([-0.1])
    assert [case.value for case in mean.also] == pytest.approx([0.0])
    each = judge(LEDGER["fig02-gap"], [network, linear])
    assert each.verdict is Verdict.holds
    assert [case.value for case in each.cases] == pytest.approx([-0.1])


def test_readings_of_resnet18_that_differ_decide_nothing() -> None:
    runs = [
        record(f"linearised/resnet18{which}{end}", accuracies, js=FOUR, learned=[1.0] * 4)
        for which, worse in (("_standard", True), ("", False))
        for end, accuracies in (("", [0.8, 0.7, 0.6, 0.5]),
                                ("_linear", [0.9, 0.8, 0.7, 0.6] if worse else [0.1] * 4))
    ]  # fmt: skip
    found = judge(LEDGER["fig02-gap"], runs)
    assert found.verdict is Verdict.not_decidable
    assert found.undecided == "branches on: holds; branches off: fails"
    # Another network's worth is the same by both, and is told once.
    mlp = [record("linearised/mlp", FALLING), record("linearised/mlp_linear", BETTER)]
    found = judge(LEDGER["fig02-gap"], [*runs, *mlp])
    assert found.undecided == "branches on: holds; branches off: partly"
    assert found.measured.startswith("MLP: -0.1; branches on, ResNet18: -0.1; branches off, Res")


def test_each_seed_is_judged_with_its_own_linearisation() -> None:
    worse, better = [0.9, 0.8, 0.7, 0.6], [0.99, 0.95, 0.9, 0.85]
    runs = [
        record("linearised/mlp_seeds", worse, js=FOUR, seed=1),
        record("linearised/mlp_seeds_linear", better, js=FOUR, seed=1),
        record("linearised/mlp_seeds", better, js=FOUR, seed=2),
        record("linearised/mlp_seeds_linear", worse, js=FOUR, seed=2),
    ]
    assert verdict("fig02-gap", *runs) is Verdict.partly
    assert verdict("fig02-falls", *runs) is Verdict.holds
    values = {case.seed: case.value for case in judge(LEDGER["fig02-mean-gap"], runs).cases}
    assert values[1] == pytest.approx(-values[2])


def test_without_its_linearisation_nothing_is_said_of_the_gap() -> None:
    assert verdict("fig02-gap", record("linearised/mlp", FALLING)) is Verdict.no_runs


def test_the_numbers_of_a_task() -> None:
    steps = [100.0, np.inf, *[300.0] * (len(ALL) - 2)]
    found = tasks([record("linearised/mlp", FALLING, steps=steps)])
    assert found.loc[1, "accuracy"] == pytest.approx(0.95)
    assert found.loc[2, "steps"] == np.inf and found.loc[1, "steps"] == 100
    assert found.loc[5, "distance"] == 39000 * 3
    assert found.index.tolist() == list(ALL)


def test_lenet_crosses_its_linearisation_on_mnist_or_does_not() -> None:
    js, linear = (100, 300, 500, 700, 1000), [0.9, 0.85, 0.8, 0.7, 0.6]
    of = record("linearised/lenet_mnist_linear", linear, js=js)
    gaps = {"crosses": [0.1, 0.05, 0.0, -0.02, -0.1], "does not": [0.1, 0.05, 0.04, 0.03, 0.02],
            "hardly": [0.1, 0.05, 0.0, -0.005, -0.1]}  # fmt: skip
    values = {}
    for name, gap in gaps.items():
        accuracies = [a + g for a, g in zip(linear, gap, strict=True)]
        finding = judge(LEDGER["fig11-crossing"], [record("linearised/lenet_mnist", accuracies,
                                                          js=js), of])  # fmt: skip
        (case,) = finding.cases
        values[name] = (case.value, finding.verdict)
    assert values["crosses"] == (pytest.approx(0.02), Verdict.holds)
    assert values["does not"] == (pytest.approx(-0.03), Verdict.fails)
    assert values["hardly"] == (pytest.approx(0.005), Verdict.fails)


def test_a_task_of_one_label_is_left_out_beside_and_who_never_comes_is_last() -> None:
    steps = [30.0, 900.0, 500.0, 700.0, 800.0, np.inf]
    network = record("linearised/lenet", FALLING[:6], js=ALL[:6], steps=steps)
    every, without, concordance = judge(LEDGER["fig13-steps"], [network]).also
    assert every.value == pytest.approx(0.4)  # of 30, 900, 500, 700, 800
    assert without.value == pytest.approx(-0.2)  # of 900, 500, 700, 800
    assert concordance.value == pytest.approx(12 / 15)


def test_sizes_stand_for_tasks_in_who_is_sooner() -> None:
    def size(end: str, images: int, step: float) -> Record:
        made = record(f"linearised/sizes_mlp{end}", [0.6], js=(0,), steps=[step])
        return of_one_task(made, f"{images}", **{"data.train_examples": images})

    found = [size("", 256, 61), size("_linear", 256, 60), size("", 1024, 190),
             size("_linear", 1024, np.inf)]  # fmt: skip
    (case,) = judge(LEDGER["sec43-sooner"], found).cases
    assert (case.panel, case.value) == ("MLP, parts of CIFAR2", 0.5)


def test_a_linearisation_that_still_changes_is_not_stable() -> None:
    """Of the looks at 11,700 and at the end the record has the last one alone."""
    made = record("linearised/mlp_linear", BETTER)
    evals = made.tables["evals"]
    late = evals[evals["step"] == 390].assign(step=11_700, accuracy=BETTER[0])
    found = replace(made, tables={"evals": pd.concat([evals, late]).sort_values("step")})
    finding = judge(LEDGER["appA-stable"], [found])
    assert finding.cases[0].value == pytest.approx(BETTER[0] - BETTER[-1])
    assert finding.verdict is Verdict.fails


def alone(j: int, accuracy: float) -> Record:
    whole = record("linearised/lenet_adam", [accuracy], js=(j,))
    return of_one_task(whole, f"run of {j}", **{"data.index": j})


def test_two_tasks_that_were_trained_apart_fall_or_rise() -> None:
    linear = record("linearised/lenet_adam_linear", [0.9, 0.91], js=(100, 400))
    runs = [alone(100, 0.8), alone(400, 0.7), linear]
    cases = {case.panel: case.value for case in judge(LEDGER["fig10-falls"], runs).cases}
    assert cases == {"LeNet, Adam, network": -1.0, "LeNet, Adam, linearisation": 1.0}
    (case,) = judge(LEDGER["fig10-gap"], runs).cases
    assert case.value == pytest.approx(-0.1)


def test_a_network_and_its_linearisation_are_of_one_scale_and_others_are_not_asked() -> None:
    """LeNet's linearisation is there at another scale alone, which leaves the MLP judged."""
    mlp = [record("linearised/mlp", FALLING), record("linearised/mlp_linear", BETTER)]
    small = record("linearised/lenet_linear", BETTER)
    small = replace(small, config={**small.config, "scale.name": "small"})
    found = judge(LEDGER["fig02-gap"], [*mlp, record("linearised/lenet", BETTER), small])
    assert [case.panel for case in found.cases] == ["MLP"]
