"""Figure 4: the gap is judged where the network has learned its task."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.directions import CLAIMS
from ntkexp.results.record import Record
from tests.papers.linearised.made import of_one_task, of_paper, record
from tests.papers.made import SPLITS, rows

LEDGER = {claim.id.removeprefix("linearised-directions-"): claim for claim in CLAIMS}
JS = (1, 10, 100, 400)


@pytest.mark.parametrize(
    ("network", "linear", "rank", "gap"),
    [
        ([0.99, 0.95, 0.92, 0.5], [0.9, 0.8, 0.7, 0.5], Verdict.holds, Verdict.holds),
        ([0.92, 0.95, 0.99, 0.999], [0.9, 0.94, 0.98, 0.99], Verdict.fails, Verdict.fails),
    ],
)
def test_the_ledger_of_figure_4(
    network: list[float], linear: list[float], rank: Verdict, gap: Verdict
) -> None:
    runs = [
        record("linearised/separable", network, js=JS),
        record("linearised/separable_linear", linear, js=JS),
    ]
    assert judge(LEDGER["rank"], runs).verdict is rank
    finding = judge(LEDGER["gap"], runs)
    assert finding.verdict is gap
    learned = [(a - b) for a, b in zip(network, linear, strict=True) if a >= 0.9]
    assert finding.cases[0].value == pytest.approx(sum(learned) / len(learned))


def with_regression(j: int, network: float, regression: float) -> Record:
    """A run of one task, with the accuracy of kernel regression on test examples."""
    made = record("linearised/separable", [network], js=(j,))
    alone = of_one_task(made, f"run of {j}", **{"data.index": j})
    accuracies = rows({"split": SPLITS}, step=0, accuracy=(1.0, regression))
    return replace(alone, tables={**alone.tables, "kernel_regression": accuracies})


def test_all_tasks_and_kernel_regression_are_told_beside_the_gap() -> None:
    """Of kernel regression on the tasks that the network has learned, and on all."""
    runs = [
        with_regression(1, 0.99, 0.98),
        with_regression(10, 0.95, 0.90),
        with_regression(400, 0.5, 0.9),
        record("linearised/separable_linear", [0.9, 0.8, 0.7], js=(1, 10, 400)),
    ]
    finding = judge(LEDGER["gap"], runs)
    assert finding.cases[0].panel == "2 tasks"
    assert finding.cases[0].value == pytest.approx((0.09 + 0.15) / 2)
    assert [(one.panel, round(one.value, 2)) for one in finding.cases[1:]] == [
        ("without 1", 0.15), ("without 10", 0.09),
    ]  # fmt: skip
    beside = {case.panel: case.value for case in finding.also}
    assert beside == pytest.approx({
        "all 3 tasks": (0.09 + 0.15 - 0.2) / 3,
        "2 tasks, trained or not": (0.09 + 0.15) / 2,
        "2 tasks, kernel regression": (0.01 + 0.05) / 2,
        "3 tasks, kernel regression": (0.01 + 0.05 - 0.4) / 3,
    })  # fmt: skip


def test_a_mean_that_ranks_alike_can_have_other_alignments() -> None:
    table = pd.DataFrame({"index": [1, 2, 3], "alignment": [4.0, 2.0, 1.0],
                          "gaussian": [2.0, 1.0, 0.9]})  # fmt: skip
    one = of_paper("linearised/directions_lenet", {"directions": table})
    finding = judge(LEDGER["mean"], [one])
    assert [case.value for case in finding.cases] == [1]
    assert [case.value for case in finding.also] == [0.5, 0.9]
