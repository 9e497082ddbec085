"""The claims on C-scores, on alignment by group and on left-out examples, on made numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.lazy.claims import group_alignment, left_out, scores
from ntkexp.papers.lazy.curves import TENTHS
from ntkexp.results.record import Record

LEDGER = {claim.id.partition("-scores-")[2]: claim for claim in scores.CLAIMS}
MEANS = np.array([2.3, 1.8, 1.2, 0.8, 0.4, 0.2, 0.05])
PLACES = np.arange(10) - 4.5
STEPS = len(MEANS)


def evals(spread: dict[float, float]) -> pd.DataFrame:
    """From step 1 on a tenth's loss is by `spread` and its place apart from the mean's."""
    rows = []
    for alpha, width in spread.items():
        for step, mean in enumerate(MEANS):
            apart = mean - (step > 0) * width * PLACES
            for name, loss in zip(("all", *TENTHS), (mean, *apart), strict=True):
                rows.append((alpha, 3, step, "train", name, loss, 1 - loss / 2.5))
    names = ["transform.alpha", "seed", "step", "split", "subset", "loss", "accuracy"]
    return pd.DataFrame(rows, columns=names)


def linearity(last: dict[float, float]) -> pd.DataFrame:
    parts = []
    for alpha, end in last.items():
        fall = np.linspace(1, end, STEPS)
        measures = dict.fromkeys(("relus", "kernel", "representation"), fall)
        keys = {"transform.alpha": alpha, "seed": 3, "step": range(STEPS), "split": "train"}
        parts.append(pd.DataFrame(keys | measures))
    return pd.concat(parts)


def network(spread: dict[float, float]) -> Record:
    config = {"name": scores.MLP, "recipe": "paper", "optim.lr": 0.01}
    found = {"evals": evals(spread), "linearity": linearity({1.0: 0.4, 100.0: 0.99})}
    return Record(scores.MLP, "run", config, found)


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


@pytest.mark.parametrize("name", ["spread", "high", "lowest-faster"])
def test_one_regime_alone_is_no_evidence(name: str) -> None:
    assert judge(LEDGER[name], [network({1.0: 0.05})]).verdict is Verdict.no_runs


def test_preference_is_the_gap_of_the_rises_at_equal_loss() -> None:
    """The easy group rises twice as fast; both begin elsewhere, which counts for nothing."""
    risen = 2.3 - MEANS
    parts = {"decile1": 0.3 + 0.1 * risen, "decile10": 0.1 + 0.2 * risen, "all": risen}
    names = {"split": "train", "layer": "total", "centring": "class", "seed": 0}
    alignment = pd.concat(
        pd.DataFrame(
            names | {"step": range(STEPS), "subset": subset, "cka": cka, "transform.alpha": 1.0}
        )
        for subset, cka in parts.items()
    )
    tables = {"evals": evals({1.0: 0.0}).assign(seed=0), "alignment": alignment}
    config = {"name": scores.MLP, "recipe": "paper", "optim.lr": 0.01}
    (claim,) = group_alignment.CLAIMS
    (case,) = claim.statistic([Record(scores.MLP, "run", config, tables)])
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
