"""Figures 4.6, A.3 and A.5: a ResNet34 on CIFAR-10, of 8 channels where the text has 64.

Bounds were fixed before any of the runs. One rate of each optimiser is trained to its end, the best
of three after an epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ntkexp.claims.claim import Case, Claim, above, below, percent, sharing, times
from ntkexp.claims.statistics import by
from ntkexp.papers.curvature.claims.seconds import SOONER, beside_each
from ntkexp.papers.curvature.claims.vgg11 import (
    each_seed,
    epochs_ahead,
    error_above,
    gain_of_batches,
    gains,
    last_ratio,
    of_batch,
)
from ntkexp.results.record import Record

RA, KFAC, SGD = (f"curvature/resnet34_{name}" for name in ("ra", "kfac", "sgd_norm"))
SECONDS = "curvature/resnet34_seconds"
OTHERS = {"KFAC": KFAC, "SGD, batch norm": SGD}
BASELINES = (*OTHERS.values(),)
METHODS = {"EKFAC-ra": RA, **OTHERS}
BATCHES = "curvature/resnet34_batches"
SCHEDULES = ("curvature/resnet34_schedule_kfac", "curvature/resnet34_schedule_ra")
all_three = by(each_seed(*METHODS.values()))


def gain_by_batch(records: Sequence[Record]) -> list[Case]:
    """By batch size, the log of KFAC's last training loss over EKFAC-ra's."""
    found = gains(of_batch(records, BATCHES), "running")
    return [Case(f"batches of {size:,}", 0, gain) for size, gain in found.items()]


joint = sharing(
    "curvature-fig46-",
    figure="4.6",
    jointly=True,
    tables=("evals",),
    experiments=(*METHODS.values(),),
    unit=percent,
)

CLAIMS: tuple[Claim, ...] = (
    joint(
        "epochs",
        says="EKFAC-ra outperforms KFAC and SGD with batch normalisation per epoch",
        paper="outperforms",
        number="share of epochs 5 to 8 in which EKFAC-ra has the lowest training loss",
        statistic=all_three(epochs_ahead, method=RA, others=BASELINES),
        holds=above(0.75),
        threshold="ours: three quarters of them",
    ),
    joint(
        "seconds",
        says="EKFAC-ra outperforms both in compute time",
        paper="outperforms",
        number=SOONER.format("EKFAC-ra", "both"),
        experiments=(*METHODS.values(), SECONDS),
        tables=(),
        statistic=partial(beside_each, method=RA, others=OTHERS, seconds=SECONDS),
        holds=below(1.0),
        unit=times,
    ),
    joint(
        "error",
        says="EKFAC-ra maintains a good generalisation",
        paper="good",
        number="least held-out error less the least of both",
        statistic=all_three(error_above, method=RA, others=BASELINES),
        holds=below(0.01),
        threshold="ours: within one point",
    ),
    Claim(
        id="curvature-figa3-gain",
        figure="A.3",
        says="EKFAC-ra's gain over KFAC is consistent across sizes of batches",
        paper="remains consistent",
        number="log of KFAC's training loss over EKFAC-ra's after 4 epochs, by size",
        experiments=(BATCHES,),
        tables=("evals",),
        statistic=gain_by_batch,
        holds=above(0.05),
        threshold="ours: with each size the .05 by which a gain counts as smaller in A.1",
        also=(
            "with batches of 1,000 less with 200",
            partial(gain_of_batches, method="running", experiment=BATCHES),
        ),
        jointly=True,
    ),
    Claim(
        id="curvature-figa5-schedule",
        figure="A.5",
        says="With a rate that is halved every 20 epochs EKFAC-ra is still better than KFAC",
        paper="some optimization benefit",
        number="EKFAC-ra's training loss after 40 epochs over KFAC's",
        experiments=SCHEDULES,
        tables=("evals",),
        statistic=by(each_seed(*SCHEDULES))(last_ratio, first=SCHEDULES[1], second=SCHEDULES[0]),
        holds=below(1.0),
        unit=times,
        jointly=True,
    ),
)
