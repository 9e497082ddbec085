"""Figures 4.1 and 4.2: what KFAC divides by, and how far it drifts.

Theorems 1 to 3 of appendix A are the identities: on the examples that the factors were computed of,
EKFAC is nearest among all scales in their basis.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Section, below, between, sharing, times
from ntkexp.claims.statistics import by_run

DRIFT = "curvature/drift"
APPROXIMATIONS = ("kfac", "kfac_scaled", "ekfac")


def whole_errors(fisher_drift: pd.DataFrame) -> pd.DataFrame:
    """(step, since): |F - approximation| / |F| of all layers together, in the order of the run."""
    squares = fisher_drift["norm"] ** 2
    at = [fisher_drift["step"], fisher_drift["since"]]
    total = squares.groupby(at, sort=False).sum()
    errors = {
        name: np.sqrt((squares * fisher_drift[name] ** 2).groupby(at, sort=False).sum() / total)
        for name in APPROXIMATIONS
    }
    return pd.DataFrame(errors)


def growth(fisher_drift: pd.DataFrame) -> pd.Series:
    """By approximation, the growth of the error from a computation of the basis to just before the
    next, mean over the periods."""
    errors = whole_errors(fisher_drift).reset_index()
    period = errors["since"].max()
    fresh = errors[errors["since"] == 0].set_index("step").drop(columns="since")
    stale = errors[errors["since"] == period].set_index("step").drop(columns="since")
    then = fresh.reindex(stale.index - period).set_axis(stale.index)
    means: pd.Series = (stale - then).mean()
    return means


def growth_ratio(fisher_drift: pd.DataFrame, other: str) -> float:
    """That of EKFAC over another's."""
    by_name = growth(fisher_drift)
    return float(by_name["ekfac"] / by_name[other])


def correlation_ratio(fisher_correlations: pd.DataFrame) -> float:
    """The mean |correlation| in the basis over that by the parameters."""
    return float(fisher_correlations["basis"].mean() / fisher_correlations["parameters"].mean())


def worst_fresh(fisher_drift: pd.DataFrame, other: str) -> float:
    """The largest excess of EKFAC's error over another's, of a layer whose basis is new."""
    fresh = fisher_drift[fisher_drift["since"] == 0]
    return float((fresh["ekfac"] - fresh[other]).max())


def off_axis(rescaling: pd.DataFrame, strategy: str) -> float:
    """The largest factor by which a strategy's divisor is off the second moment on its axes."""
    chosen = rescaling[rescaling["strategy"] == strategy]
    return float(np.exp(np.abs(np.log(chosen["divisor"] / chosen["moment"])).max()))


drift = sharing("curvature-fig42-", figure="4.2", experiments=(DRIFT,))
identity = sharing("curvature-", section=Section.identity, paper="proved")

CLAIMS = (
    identity(
        "fig41-ekfac",
        figure="4.1",
        says="EKFAC divides by the second moments of the gradient on KFAC's axes",
        number="the largest factor by which a divisor is off the moment",
        experiments=("curvature/rescaling",),
        tables=("rescaling",),
        statistic=by_run(off_axis, strategy="ekfac"),
        holds=between(1.0, 1 + 1e-9),
        threshold="Theorem 3, to rounding",
        also=("KFAC's", by_run(off_axis, strategy="kfac")),
        unit=times,
    ),
    identity(
        "theorem1",
        figure="4.2",
        says="On the examples of its factors no scale in their basis is nearer to F than EKFAC's",
        number="the largest |F - EKFAC| / |F| less that of KFAC times the number that makes its "
        "error least, of a layer with a new basis",
        experiments=(DRIFT,),
        tables=("fisher_drift",),
        statistic=by_run(worst_fresh, other="kfac_scaled"),
        holds=below(1e-6),
        threshold="Theorem 1 for one other scale, the best along KFAC's, to rounding in float32; "
        "tests hold it for others",
    ),
    identity(
        "theorem2",
        figure="4.2",
        says="On the examples of its factors EKFAC is no further from F than KFAC",
        number="the largest |F - EKFAC| / |F| less |F - KFAC| / |F| of a layer with a new basis",
        experiments=(DRIFT,),
        tables=("fisher_drift",),
        statistic=by_run(worst_fresh, other="kfac"),
        holds=below(1e-6),
        threshold="Theorem 2, to rounding in float32",
    ),
    drift(
        "correlations",
        says="Gradient components are largely decorrelated in the eigenbasis",
        paper="largely decorrelated",
        number="mean |correlation| of 250 coordinates in the basis over that of 250 parameters of "
        "the second layer",
        tables=("fisher_correlations",),
        statistic=by_run(correlation_ratio),
        holds=below(0.5),
        threshold="ours: at most half",
        seen="this was written: a trial of another seed had 0.29",
        pilot=True,
    ),
    drift(
        "growth",
        says="EKFAC drifts far less quickly than amortised KFAC from the exact empirical Fisher",
        paper="far less quickly",
        number="growth of |F - EKFAC| / |F| over 100 updates without a new basis, over that of "
        "KFAC, means over ten periods",
        tables=("fisher_drift",),
        statistic=by_run(growth_ratio, other="kfac"),
        holds=below(0.5),
        threshold="ours: at most half",
        seen="this was written: a trial of another seed had 0.48",
        pilot=True,
    ),
    drift(
        "growth-scaled",
        says="So it does from KFAC times the number that makes its error least",
        paper="not said",
        number="growth of EKFAC's error over that of KFAC so scaled, means over ten periods",
        tables=("fisher_drift",),
        statistic=by_run(growth_ratio, other="kfac_scaled"),
        holds=below(0.5),
        threshold="ours: at most half",
        seen="this was written: a trial of another seed had 0.97",
        pilot=True,
        section=Section.ours,
    ),
)
