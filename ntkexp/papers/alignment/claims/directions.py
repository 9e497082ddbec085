"""Figure 7: which directions in parameter space change the outputs."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Section, above, below, percent, sharing, times
from ntkexp.claims.statistics import by_run

TOP = 10


def variations(directions: pd.DataFrame, kind: str) -> pd.Series:
    """Output variation by direction, after a true perturbation of the trained network."""
    chosen = directions[
        (directions["step"] == directions["step"].max())
        & (directions["kind"] == kind)
        & (directions["method"] == "perturbation")
    ]
    return pd.Series(chosen.sort_values("index")["variation"])


def top_over_random(directions: pd.DataFrame) -> float:
    top = variations(directions, "singular").iloc[:TOP].mean()
    return float(top / variations(directions, "random").mean())


def random_over_first(directions: pd.DataFrame) -> float:
    first = variations(directions, "singular").iloc[0]
    return float(variations(directions, "random").max() / first)


def last_over_first(directions: pd.DataFrame) -> float:
    curve = variations(directions, "singular")
    return float(curve.iloc[-1] / curve.iloc[0])


claim = sharing(
    "fig07-",
    figure="7",
    experiments=("vgg11_directions",),
    tables=("directions",),
    unit=percent,
)


CLAIMS = (
    claim(
        "top-directions",
        says="Moving along the top right singular vectors changes the outputs, random moves do not",
        paper="only top ones matter",
        number=f"mean variation along the first {TOP} over that along random directions",
        statistic=by_run(top_over_random),
        holds=above(10.0),
        threshold="ours: an order of magnitude",
        unit=times,
    ),
    claim(
        "random-directions",
        says="Random directions have almost no effect",
        paper="almost none",
        number="largest variation along a random direction over that along the first",
        statistic=by_run(random_over_first),
        holds=below(0.05),
        threshold="ours, for `almost no effect`: a twentieth of the first",
    ),
    claim(
        "hierarchy",
        says="Among the first 50 singular vectors the effect falls fast",
        paper="not said",
        number="variation along the 50th over that along the first",
        statistic=by_run(last_over_first),
        holds=below(0.25),
        threshold="ours: a quarter of the first; of the 50 the text says nothing one by one",
        section=Section.ours,
    ),
)
