"""Whose tasks: the claims set each kind of kernel beside the own one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.whose import CLAIMS
from ntkexp.results.record import Record
from tests.papers.linearised.made import record
from tests.papers.made import SPLITS, rows

LEDGER = {claim.id.removeprefix("linearised-whose-"): claim for claim in CLAIMS}
JS = (20, 100, 400)
ACCURACIES = [0.9, 0.8, 0.7]


def with_alignments(run: Record, factor: float) -> Record:
    """The run with alpha_0 = factor / j on training images, and other numbers on test images."""
    indices = (*JS, 7)
    start = [factor / np.array(indices)], np.full((1, 4), 5.0)
    alignments = rows(
        {"split": SPLITS, "data.index": JS, "index": indices},
        step=9,
        start=np.stack(start),
        end=1.0,
        trace_ratio=1.0,
    )
    axes = rows({"split": SPLITS, "data.index": JS}, step=9, axis="labels", r_squared=0.9)
    return replace(run, tables={**run.tables, "function_alignment": alignments, "one_axis": axes})


def runs(kind: str, gap: float) -> list[Record]:
    network = [accuracy + gap for accuracy in ACCURACIES]
    return [
        with_alignments(record(f"linearised/whose_{kind}", network, js=JS), 0.5),
        record(f"linearised/whose_{kind}_linear", ACCURACIES, js=JS),
        with_alignments(record("linearised/mlp_kernel", ACCURACIES, js=JS), 2.0),
    ]


@pytest.mark.parametrize(
    ("kind", "gap", "verdict"),
    [
        ("extended", -0.2, Verdict.holds),
        ("extended", 0.0, Verdict.fails),
        ("seed", 0.03, Verdict.holds),
        ("seed", -0.2, Verdict.fails),
        ("lenet", 0.0, Verdict.holds),
        ("lenet", -0.03, Verdict.fails),
    ],
)
def test_the_mean_gap_decides(kind: str, gap: float, verdict: Verdict) -> None:
    finding = judge(LEDGER[kind], runs(kind, gap))
    assert finding.verdict is verdict
    (case,) = finding.cases
    assert case.value == pytest.approx(gap)
    beside = {case.panel: case.value for case in finding.also}
    assert beside == pytest.approx({"j = 20": 0.25, "j = 100": 0.25, "j = 400": 0.25})


def test_tasks_of_several_kernels_are_ranked_together() -> None:
    """The linearisation is better on its own tasks, whatever their alignment, the network not."""
    own = [record("linearised/mlp", ACCURACIES, js=JS),
           record("linearised/mlp_linear", [0.97, 0.98, 0.99], js=JS)]  # fmt: skip
    found = [*own, *runs("seed", -0.05), *runs("lenet", -0.05)[:2]]
    ledger = {claim.id.removeprefix("linearised-sec1-alignment-"): claim for claim in CLAIMS}
    network, linear = (judge(ledger[whose], found) for whose in ("network", "linear"))
    assert [case.panel for case in network.cases] == ["9 tasks"]
    assert network.cases[0].value > 0.8 > linear.cases[0].value


@pytest.mark.parametrize(("gap", "verdict"), [(-0.01, Verdict.holds), (-0.03, Verdict.fails)])
def test_lenet_on_another_lenet_is_judged_by_its_one_task(gap: float, verdict: Verdict) -> None:
    name = "linearised/whose_lenet_seed"
    both = [
        record(name, [0.8 + gap], js=(100,)),
        record(f"{name}_linear", [0.8], js=(100,)),
    ]
    finding = judge(LEDGER["lenet-seed"], both)
    assert finding.verdict is verdict
    assert finding.cases[0].value == pytest.approx(gap)
