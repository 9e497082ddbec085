"""What the paper proves, held against computed examples; no figure shows it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Claim, below, between, each_run, each_seed
from ntkexp.claims.record import Record

# Beyond these the trial step moves units across their kinks, where the network is not smooth.
SMALL_STEP = 1e-3
BEFORE_KINKS = 100


def error_order(slopes: pd.DataFrame) -> float:
    """Median slope, log error by log learning rate, over small steps in the first iterations."""
    chosen = slopes[(slopes["eta_to"] <= SMALL_STEP) & (slopes["iteration"] <= BEFORE_KINKS)]
    return float(chosen["slope"].median())


def tightest(record: Record, table: str, value: str, bound: str) -> float:
    frame = record.tables[table]
    return float((frame[value] / frame[bound]).max())


def mode_error(record: Record) -> float:
    curves = record.tables["linear_modes"]
    return float((curves["measured"] - curves["predicted"]).abs().max())


def time_constant_error(record: Record) -> float:
    """Largest relative error of -1 / log(1 - lambda_j / lambda_1)."""
    frame = record.tables["time_constants"]
    slow = frame[frame["predicted"] > 0]
    return float(np.abs(slow["measured"] / slow["predicted"] - 1).max())


CLAIMS = (
    Claim(
        id="lemma1-order",
        figure=None,
        says="Lemma 1 gives the change of each mode by one step, exact to first order",
        paper="O(η²)",
        number="order in η of what it leaves out, small steps, first 100 iterations",
        experiments=("local_bias",),
        tables=("local_bias_slope",),
        statistic=each_seed("local_bias_slope", error_order),
        holds=between(1.9, 2.1),
    ),
    Claim(
        id="bound10",
        figure=None,
        says="Bound (10) is above the Rademacher complexity of a ball",
        paper="≤ 1",
        number="largest complexity over bound",
        experiments=("rademacher",),
        tables=("rademacher_linear",),
        statistic=each_run(lambda r: tightest(r, "rademacher_linear", "exact", "bound")),
        holds=below(1.0),
    ),
    Claim(
        id="bound12",
        figure=None,
        says="Bound (12) is above the complexity of a learning flow",
        paper="≤ 1",
        number="largest complexity over bound",
        experiments=("rademacher",),
        tables=("rademacher_flow",),
        statistic=each_run(lambda r: tightest(r, "rademacher_flow", "exact", "bound")),
        holds=below(1.0),
    ),
    Claim(
        id="theorem13",
        figure=None,
        says="Theorem 13 is above the complexity of a multiclass margin loss",
        paper="≤ 1",
        number="largest complexity of sampled weights over bound",
        experiments=("rademacher",),
        tables=("rademacher_multiclass",),
        statistic=each_run(lambda r: tightest(r, "rademacher_multiclass", "sampled", "theorem_13")),
        holds=below(1.0),
    ),
    Claim(
        id="modes51",
        figure=None,
        says="Linear regression learns its modes as (51) says",
        paper="exact",
        number="largest difference of a mode's coefficient",
        experiments=("linear_modes",),
        tables=("linear_modes",),
        statistic=each_run(mode_error),
        holds=below(1e-12),
    ),
    Claim(
        id="time-constants",
        figure=None,
        says="The time constants are -1 / log(1 - λ_j / λ_1), the inverse of what is printed",
        paper="the inverse",
        number="largest relative error of the corrected formula",
        experiments=("linear_modes",),
        tables=("time_constants",),
        statistic=each_run(time_constant_error),
        holds=below(1e-6),
    ),
)
