"""Our own claims hold with tables that show them and fail with those that do not."""

from __future__ import annotations

import pandas as pd
import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.curvature.claims.ours import CLAIMS, KERNELS, NOISE, noisy_loss
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id: claim for claim in CLAIMS}


def aligned(holds: bool) -> pd.DataFrame:
    axes = {"kind": ("exact", "ekfac", "kfac", "diagonal"), "step": (0, 9), "damping": (0.1, 1.0)}
    values = {
        "exact": 0.3,
        "ekfac": 0.25 if holds else 0.1,
        "kfac": 0.2,
        "diagonal": 0.5 if holds else 0.25,
    }
    return rows({**axes, "split": ("train", "test")}, alignment=lambda kind, **_: values[kind])


def losses(noisy: float) -> pd.DataFrame:
    """The clean loss falls from 1 to 0 in ten steps; the noisy one rises to a value and is there
    from half of it on."""
    steps = [*range(11)]
    curves = [[1 - step / 10 for step in steps], [min(1 + step, noisy) for step in steps]]
    return rows({"subset": ("intact", "noisy"), "step": steps}, split="train", loss=curves)


def records(holds: bool) -> list[Record]:
    highest = (3.0, 4.0, 5.0) if holds else (3.0, 5.0, 4.0)
    noise = [
        record(NOISE, {"evals": losses(noisy)}, seed=seed, **{"optim.damping": damping})
        for seed in (0, 1)
        for damping, noisy in zip((1e-4, 1e-2, 1.0), highest, strict=True)
    ]
    return [record(KERNELS, {"preconditioned_kernels": aligned(holds)}), *noise]


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [run for run in records(holds) if run.experiment in claim.experiments])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured


def test_the_noisy_loss_is_read_between_looks() -> None:
    assert noisy_loss(losses(3.0), 0.85) == pytest.approx(2.5)
    assert pd.isna(noisy_loss(losses(3.0), -1.0))
