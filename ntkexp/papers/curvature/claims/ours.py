"""Our own questions: what division by a Fisher matrix does to the kernel, and to what is learned
first. Bounds were fixed before the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Section, above, percent, sharing
from ntkexp.claims.statistics import by_run
from ntkexp.papers.curvature.claims.autoencoder import by_seed
from ntkexp.results.record import Record

KERNELS, NOISE = "curvature/preconditioned_vgg11", "curvature/noise_ekfac"
OTHERS = ("kfac", "diagonal")
# The mean loss of images with their true labels at which those with wrong ones are compared.
CLEAN_LOSSES = (0.5, 0.3, 0.2)


def nearer(preconditioned_kernels: pd.DataFrame) -> dict[str, float]:
    """By other kind, the share of cells (moment, damping, images) in which EKFAC's alignment with
    the labels is nearer to that of the exact matrix."""
    cells = preconditioned_kernels.pivot_table(
        index=["step", "damping", "split"], columns="kind", values="alignment"
    )
    away = cells.sub(cells["exact"], axis=0).abs()
    return {f"than {kind}": float((away["ekfac"] < away[kind]).mean()) for kind in OTHERS}


def noisy_loss(evals: pd.DataFrame, clean: float) -> float:
    """The training loss of wrong labels when that of the others first falls to a level; between
    looks on a straight line. No number where it never does."""
    train = evals[evals["split"] == "train"]
    curves = train.pivot_table(index="step", columns="subset", values="loss")
    below = np.flatnonzero(curves["intact"].to_numpy() <= clean)
    if not len(below) or below[0] == 0:
        return float("nan")
    before, after = curves.iloc[below[0] - 1], curves.iloc[below[0]]
    share = (before["intact"] - clean) / (before["intact"] - after["intact"])
    return float(before["noisy"] + share * (after["noisy"] - before["noisy"]))


def rises(records: Sequence[Record]) -> list[Case]:
    """By clean loss, how much higher the noisy loss is with the most damping than with the least,
    where those between are in order; else the largest step down."""
    cases = []
    for seed in by_seed(records):
        runs = sorted(
            (run for run in records if run.seed == seed),
            key=lambda run: float(run.config["optim.damping"]),
        )
        for clean in CLEAN_LOSSES:
            losses = np.array([noisy_loss(run.tables["evals"], clean) for run in runs])
            if len(losses) > 1 and np.isfinite(losses).all():
                cases.append(Case(f"clean loss {clean}", seed, float(np.diff(losses).min())))
    return cases


ours = sharing("curvature-ours-", figure=None, paper="not asked", section=Section.ours)

CLAIMS = (
    ours(
        "kernels",
        says="A kernel divided by EKFAC is aligned with the labels as that divided by the exact "
        "matrix is, more nearly than by KFAC or the diagonal",
        number="share of cells (moment, damping, images of the matrix or held out) in which "
        "EKFAC's centred alignment with the labels is nearer the exact one's",
        experiments=(KERNELS,),
        tables=("preconditioned_kernels",),
        statistic=by_run(nearer),
        holds=above(2 / 3),
        threshold="ours: two thirds",
        unit=percent,
    ),
    ours(
        "noise",
        says="The more damping EKFAC has, the later it learns wrong labels",
        number="the loss of wrong labels at equal loss of the others, least difference from one "
        "damping to the next larger",
        experiments=(NOISE,),
        tables=("evals",),
        statistic=rises,
        holds=above(0.0),
        threshold="the sign of the question's word",
        jointly=True,
    ),
)
