"""The paper's theorems, compared with computed examples; no figure shows them.

None of this can fail unless the paper's proof, its formula as printed, or the code is wrong.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Claim, Section, below, between, sharing
from ntkexp.claims.statistics import by_network, by_run

# Beyond these the trial step moves units across their kinks, where the network is not smooth.
SMALL_STEP = 1e-3
BEFORE_KINKS = 100


def error_order(local_bias_slope: pd.DataFrame) -> float:
    """Median slope, log error by log learning rate, over small steps in the first iterations."""
    small = local_bias_slope[local_bias_slope["eta_to"] <= SMALL_STEP]
    return float(small.loc[small["iteration"] <= BEFORE_KINKS, "slope"].median())


def tightest_linear(rademacher_linear: pd.DataFrame) -> float:
    return float((rademacher_linear["exact"] / rademacher_linear["bound"]).max())


def tightest_flow(rademacher_flow: pd.DataFrame) -> float:
    return float((rademacher_flow["exact"] / rademacher_flow["bound"]).max())


def tightest_multiclass(rademacher_multiclass: pd.DataFrame, bound: str) -> float:
    return float((rademacher_multiclass["sampled"] / rademacher_multiclass[bound]).max())


def mode_error(linear_modes: pd.DataFrame) -> float:
    return float((linear_modes["measured"] - linear_modes["predicted"]).abs().max())


def function_error(linear_function: pd.DataFrame) -> float:
    return float(linear_function["difference"].max())


def proposition_error(propositions: pd.DataFrame, statement: str) -> float:
    return float(propositions.loc[propositions["statement"] == statement, "error"].max())


def time_constant_error(time_constants: pd.DataFrame) -> float:
    """Largest relative error of -1 / log(1 - lambda_j / lambda_1)."""
    slow = time_constants[time_constants["predicted"] > 0]
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
        statistic=by_run(tightest_multiclass, bound=bound),
        holds=below(1.0),
    )


RELATIVE = "largest relative error on the regression of Figure 5"
UNDERCUT = (
    "by what share the lowest of 600 other rescalings is below it on the regression of Figure 5, 0 "
    "if none is"
)


def _proposition(name: str, says: str, number: str = RELATIVE) -> Claim:
    return claim(
        name.replace("_", "-"),
        says=says,
        paper="exact",
        number=number,
        experiments=("supernat",),
        tables=("propositions",),
        statistic=by_network(proposition_error, statement=name),
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
        statistic=by_network(error_order),
        holds=between(1.9, 2.1),
        threshold="the lemma's order, two, to within a twentieth",
    ),
    claim(
        "bound10",
        says="Bound (10) is above the Rademacher complexity of a ball",
        number="largest complexity over bound",
        tables=("rademacher_linear",),
        statistic=by_run(tightest_linear),
        holds=below(1.0),
    ),
    claim(
        "bound12",
        says="Bound (12) is above the complexity of a learning flow",
        number="largest complexity over bound",
        tables=("rademacher_flow",),
        statistic=by_run(tightest_flow),
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
        statistic=by_run(function_error),
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
        statistic=by_run(mode_error),
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
        statistic=by_run(time_constant_error),
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
