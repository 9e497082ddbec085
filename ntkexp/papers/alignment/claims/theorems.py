"""The paper's theorems, compared with computed examples; no figure shows them.

None of this can fail unless the paper's proof, its formula as printed, or the code is wrong.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Claim, Section, below, between, each_run, each_seed, sharing
from ntkexp.results.record import Record

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


def function_error(record: Record) -> float:
    return float(record.tables["linear_function"]["difference"].max())


def time_constant_error(record: Record) -> float:
    """Largest relative error of -1 / log(1 - lambda_j / lambda_1)."""
    frame = record.tables["time_constants"]
    slow = frame[frame["predicted"] > 0]
    return float(np.abs(slow["measured"] / slow["predicted"] - 1).max())


claim = sharing(
    "",
    figure=None,
    experiments=("rademacher",),
    section=Section.identity,
    threshold="the theorem",
    paper="≤ 1",
)


def _multiclass(name: str, written: str, bound: str) -> Claim:
    return claim(
        name,
        says=f"{written} is above the complexity of a multiclass margin loss",
        number="largest complexity of sampled weights over bound",
        tables=("rademacher_multiclass",),
        statistic=each_run(lambda r: tightest(r, "rademacher_multiclass", "sampled", bound)),
        holds=below(1.0),
    )


RELATIVE = "largest relative error on the regression of Figure 5"
UNDERCUT = (
    "by what share the lowest of 600 other rescalings is below it on the regression of Figure 5, 0 "
    "if none is"
)


def _proposition(name: str, says: str, number: str = RELATIVE) -> Claim:
    def error(errors: pd.DataFrame) -> float:
        return float(errors.loc[errors["statement"] == name, "error"].max())

    return claim(
        name.replace("_", "-"),
        says=says,
        paper="exact",
        number=number,
        experiments=("supernat",),
        tables=("propositions",),
        statistic=each_seed("propositions", error),
        holds=below(1e-9),
        threshold="rounding of float64, of matrices that are inverted",
    )


CLAIMS = (
    claim(
        "lemma1-order",
        says="Lemma 1 gives the change of each mode by one step, exact to first order",
        paper="O(η²)",
        number="order in η of what it leaves out, small steps, first 100 iterations",
        experiments=("local_bias",),
        tables=("local_bias_slope",),
        statistic=each_seed("local_bias_slope", error_order),
        holds=between(1.9, 2.1),
        threshold="the lemma's order, two, to within a twentieth",
    ),
    claim(
        "bound10",
        says="Bound (10) is above the Rademacher complexity of a ball",
        number="largest complexity over bound",
        tables=("rademacher_linear",),
        statistic=each_run(lambda r: tightest(r, "rademacher_linear", "exact", "bound")),
        holds=below(1.0),
    ),
    claim(
        "bound12",
        says="Bound (12) is above the complexity of a learning flow",
        number="largest complexity over bound",
        tables=("rademacher_flow",),
        statistic=each_run(lambda r: tightest(r, "rademacher_flow", "exact", "bound")),
        holds=below(1.0),
    ),
    _multiclass("lemma12", "Lemma 12", "lemma_12"),
    _multiclass("theorem13", "Theorem 13", "theorem_13"),
    claim(
        "function49",
        says="Linear regression changes its function as (49) says, on training and other points",
        paper="exact",
        number="largest difference of an output",
        experiments=("linear_modes",),
        tables=("linear_function",),
        statistic=each_run(function_error),
        holds=below(1e-12),
        threshold="rounding of float64",
        seen="this was written",
    ),
    claim(
        "modes51",
        says="Linear regression learns its modes as (51) says",
        paper="exact",
        number="largest difference of a mode's coefficient",
        experiments=("linear_modes",),
        tables=("linear_modes",),
        statistic=each_run(mode_error),
        holds=below(1e-12),
        threshold="rounding of float64",
    ),
    claim(
        "time-constants",
        says="The time constants are -1 / log(1 - λ_j / λ_1), the inverse of what is printed",
        paper="the inverse",
        number="largest relative error of the corrected formula",
        experiments=("linear_modes",),
        tables=("time_constants",),
        statistic=each_run(time_constant_error),
        holds=below(1e-6),
        threshold="rounding, where a mode is followed over six decades",
    ),
    _proposition(
        "proposition_3",
        "Proposition 3: κ/|u_jᵀ∇L| minimises what SuperNat's second step does",
        UNDERCUT,
    ),
    _proposition("proposition_4", "Proposition 4: metric and tangent kernel share their spectrum"),
    _proposition(
        "proposition_14", "Proposition 14: κλ_j/|u_jᵀy| minimises the bound (60)", UNDERCUT
    ),
    _proposition(
        "natural_gradient", "In the original features SuperNat is natural gradient descent"
    ),
    _proposition(
        "solution_covariance",
        "Noise in the labels scatters min-norm solutions as σ²/λ_j along v_j (81)",
    ),
)
