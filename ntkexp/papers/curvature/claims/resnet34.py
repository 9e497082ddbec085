"""Figure 4.6: a ResNet34 on CIFAR-10, of 8 channels where the text has 64, for 8 epochs.

Bounds were fixed before any of the runs. One rate of each optimiser is trained to its end, the best
of three after an epoch.
"""

from __future__ import annotations

from functools import partial

from ntkexp.claims.claim import Claim, above, below, percent, sharing, times
from ntkexp.claims.statistics import by
from ntkexp.papers.curvature.claims.seconds import beside_best
from ntkexp.papers.curvature.claims.vgg11 import each_seed, epochs_ahead, error_above

RA, KFAC, SGD = (f"curvature/resnet34_{name}" for name in ("ra", "kfac", "sgd_norm"))
SECONDS = "curvature/resnet34_seconds"
BASELINES = (KFAC, SGD)
METHODS = {"EKFAC-ra": RA, "KFAC": KFAC, "SGD, batch norm": SGD}
all_three = by(each_seed(*METHODS.values()))

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
        number="processor seconds in which EKFAC-ra has the last training loss of the better one, "
        "over its",
        experiments=(*METHODS.values(), SECONDS),
        tables=(),
        statistic=partial(beside_best, method=RA, others=BASELINES, seconds=SECONDS),
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
)
