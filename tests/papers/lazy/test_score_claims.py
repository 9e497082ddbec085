"""The claims on C-scores, on alignment by group and on left-out examples, on made numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims import group_alignment, left_out, scores, vgg11
from ntkexp.papers.lazy.curves import TENTHS
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id.partition("-scores-")[2]: claim for claim in scores.CLAIMS}
MEANS = np.array([2.3, 1.8, 1.2, 0.8, 0.4, 0.2, 0.05])
PLACES = np.arange(10) - 4.5
STEPS = len(MEANS)


def evals(spread: dict[float, float]) -> pd.DataFrame:
    """From step 1 on a tenth's loss is by `spread` and its place apart from the mean's."""
    axes = {"transform.alpha": spread, "step": range(STEPS), "subset": ("all", *TENTHS)}
    apart = np.array([0, *PLACES]) * (np.arange(STEPS) > 0)[:, None]
    loss = MEANS[:, None] - np.array([*spread.values()])[:, None, None] * apart
    return rows(axes, seed=3, split="train", loss=loss, accuracy=1 - loss / 2.5)


def network(spread: dict[float, float], *, lazy: float = 0.99, name: str = scores.MLP) -> Record:
    ends = np.linspace(1, (0.4, lazy), STEPS).T
    measures = dict.fromkeys(("relus", "kernel", "representation"), ends)
    axes = {"transform.alpha": (1.0, 100.0), "step": range(STEPS)}
    found = {"evals": evals(spread), "linearity": rows(axes, seed=3, split="train", **measures)}
    return record(name, found, recipe="paper", **{"optim.lr": 0.01})


# At a loss of 2 the curves are three fifths of the way to what they are from 1.8 on.
AT_LEVELS = np.array([0.6, 1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("easy-first", -1.0),
        ("spread", 9 * 0.05 * AT_LEVELS),
        ("high", -4.5 * 0.05 * AT_LEVELS),
        ("low", 4.5 * 0.05 * AT_LEVELS),
        ("lowest-faster", 4.5 * 0.05 / 2.5),
        ("accuracies-spread", 9 * 0.05 / 2.5),
        ("linear", 0.99),
        ("not-linear", -1.0),
    ],
)
def test_the_numbers_of_a_claim(name: str, number: float | np.ndarray) -> None:
    claim, records = LEDGER[name], [network({1.0: 0.1, 100.0: 0.05})]
    found = [case.value for case in claim.statistic(records)]
    np.testing.assert_allclose(found, number, atol=1e-12)
    assert judge(claim, records).verdict is Verdict.holds


@pytest.mark.parametrize("name", ["spread", "high", "low", "lowest-faster", "accuracies-spread"])
def test_regimes_the_other_way_round_fail(name: str) -> None:
    records = [network({1.0: 0.05, 100.0: 0.1})]
    assert judge(LEDGER[name], records).verdict is Verdict.fails


def test_vgg11s_pair_decides_as_far_as_it_is_lazy() -> None:
    claim = next(claim for claim in vgg11.CLAIMS if claim.id == "lazy-figc4-spread")
    for lazy, found in ((0.99, Verdict.holds), (0.3, Verdict.no_runs)):
        pair = network({1.0: 0.1, 100.0: 0.05}, lazy=lazy, name=scores.VGG)
        assert judge(claim, [pair]).verdict is found


@pytest.mark.parametrize("name", ["spread", "high", "lowest-faster"])
def test_one_regime_alone_is_no_evidence(name: str) -> None:
    assert judge(LEDGER[name], [network({1.0: 0.05})]).verdict is Verdict.no_runs


def test_preference_is_the_gap_of_the_rises_at_equal_loss() -> None:
    """The easy group rises twice as fast; both begin elsewhere, which counts for nothing."""
    risen = 2.3 - MEANS
    parts = {"decile1": 0.3 + 0.1 * risen, "decile10": 0.1 + 0.2 * risen, "all": risen}
    alignment = rows(
        {"transform.alpha": [1.0], "subset": parts, "step": range(STEPS)},
        split="train",
        layer="total",
        centring="class",
        seed=0,
        cka=[*parts.values()],
    )
    tables = {"evals": evals({1.0: 0.0}).assign(seed=0), "alignment": alignment}
    (claim,) = group_alignment.CLAIMS
    run = record(scores.MLP, tables, recipe="paper", **{"optim.lr": 0.01})
    (case,) = claim.statistic([run])
    expected = np.mean([0.1 * (2.3 - level) for level in group_alignment.LEVELS])
    assert case.value == pytest.approx(expected)


def test_agreement_is_the_rank_correlation_of_each_kernel() -> None:
    examples = np.arange(20)
    margins = pd.concat(
        [
            pd.DataFrame({"step": 0, "example": examples, "margin": -examples.astype(float)}),
            pd.DataFrame({"step": 9, "example": examples[::-1], "margin": examples[::-1] ** 3.0}),
        ]
    )
    table = pd.DataFrame({"step": 0, "example": examples, "score": np.sqrt(examples)})
    found = left_out.agreements(margins, table)
    assert found == pytest.approx({"kernel at the start": -1, "kernel after training": 1})
