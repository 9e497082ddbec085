"""The claims on the kernel's axis see a spike at the task, and a kernel that grows everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.axis import CLAIMS
from ntkexp.papers.linearised.kernels import trained
from ntkexp.results.record import Record
from tests.papers.linearised.made import of_paper
from tests.papers.made import SPLITS, rows

LEDGER = {claim.id.removeprefix("linearised-axis-"): claim for claim in CLAIMS}
COUNT, TASK = 200, 50


def record(task_grows: float, others_grow: float, *, trace: float = 1.0, own: float = 0.9,
           other: float = 0.7, members: bool = True) -> Record:  # fmt: skip
    """A network on the 50th eigenfunction, whose alignments grow by these factors."""
    start = 1 / np.arange(1, COUNT + 1)
    growth = np.full(COUNT, others_grow)
    growth[TASK - 1] = task_grows
    tables = {
        "function_alignment": rows(
            {"split": SPLITS, "index": range(1, COUNT + 1)},
            step=9,
            start=start,
            end=growth * start,
            trace_ratio=trace,
        ),
        "one_axis": rows(
            {"split": SPLITS, "axis": ("none", "labels", "other")},
            step=9,
            scale=1.0,
            factor=1.0,
            r_squared=(0.5, own, other),
        ),
    }
    if members:
        tables = {name: table.assign(**{"data.index": TASK}) for name, table in tables.items()}
        return of_paper("linearised/mlp_kernel", tables)
    return of_paper("linearised/lenet_kernel", tables, **{"data.index": TASK})


def verdicts(one: Record) -> dict[str, Verdict]:
    return {name: judge(claim, [one]).verdict for name, claim in LEDGER.items()}


@pytest.mark.parametrize("members", [True, False])
def test_a_spike_at_the_task(members: bool) -> None:
    found = verdicts(record(20.0, 1.1, members=members))
    assert set(found.values()) == {Verdict.holds}, found
    cases = judge(LEDGER["largest"], [record(20.0, 1.1, members=members)]).cases
    title = ("MLP" if members else "LeNet") + ", j = 50"
    assert [case.panel for case in cases] == [f"{title}, {s} images" for s in ("training", "test")]
    assert [case.value for case in cases] == pytest.approx([20 / 1.1] * 2)


def test_a_kernel_that_grows_everywhere() -> None:
    found = verdicts(record(25.0, 30.0, trace=28.0, own=0.6))
    fails = {"largest", "spike", "single", "one-axis"}
    assert {name for name, verdict in found.items() if verdict is Verdict.fails} == fails
    # Relative to its trace the rest stays.
    assert found["rest"] is Verdict.not_decidable
    undecided = judge(LEDGER["rest"], [record(25.0, 30.0, trace=28.0, own=0.6)]).undecided
    assert undecided == "alpha: fails; over the trace: holds"


def test_a_normalisation_that_hides_the_growth_is_told_beside() -> None:
    """The others grow by 1.1, the trace by 2.75 and the sum of alphas by 1.1 and a little more."""
    outside, by_sum = judge(LEDGER["rest"], [record(1.2, 1.1, trace=2.75)]).also
    assert outside.value == 1
    assert by_sum.value == pytest.approx(1, abs=0.01)


def test_one_axis_is_judged_by_what_a_factor_leaves() -> None:
    finding = judge(LEDGER["single"], [record(20.0, 1.1, own=0.7)])
    assert [case.value for case in finding.cases] == pytest.approx([0.2 / 0.5])
    # By growth, beside it, only the task differs from the median.
    assert [case.value for case in finding.also] == pytest.approx([1.0])


def test_ratios_leave_the_task_out_of_the_others() -> None:
    one = next(iter(trained([record(20.0, 1.1, trace=2.0)])))
    assert len(one.others) == COUNT - 1 and one.others.max() == pytest.approx(1.1)
    assert one.over_trace[TASK] == pytest.approx(10)
