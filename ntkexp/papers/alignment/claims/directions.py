"""Figure 7: which directions in parameter space change the outputs."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Section, above, below, each_run, percent, sharing, times
from ntkexp.results.record import Record

TOP = 10


def variations(record: Record, kind: str) -> pd.Series:
    """Output variation by direction, after a true perturbation of the trained network."""
    table = record.tables["directions"]
    chosen = table[
        (table["step"] == table["step"].max())
        & (table["kind"] == kind)
        & (table["method"] == "perturbation")
    ]
    return pd.Series(chosen.sort_values("index")["variation"])


def top_over_random(record: Record) -> float:
    top = variations(record, "singular").iloc[:TOP].mean()
    return float(top / variations(record, "random").mean())


def random_over_first(record: Record) -> float:
    first = variations(record, "singular").iloc[0]
    return float(variations(record, "random").max() / first)


def last_over_first(record: Record) -> float:
    curve = variations(record, "singular")
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
        statistic=each_run(top_over_random),
        holds=above(10.0),
        threshold="ours: an order of magnitude",
        unit=times,
    ),
    claim(
        "random-directions",
        says="Random directions have almost no effect",
        paper="almost none",
        number="largest variation along a random direction over that along the first",
        statistic=each_run(random_over_first),
        holds=below(0.05),
        threshold="ours, for `almost no effect`: a twentieth of the first",
    ),
    claim(
        "hierarchy",
        says="Among the first 50 singular vectors the effect falls fast",
        paper="not said",
        number="variation along the 50th over that along the first",
        statistic=each_run(last_over_first),
        holds=below(0.25),
        threshold="ours: a quarter of the first; of the 50 the text says nothing one by one",
        section=Section.ours,
    ),
)
