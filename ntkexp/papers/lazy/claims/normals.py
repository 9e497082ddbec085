"""Figure 2.1: equal distances of parameters, other distances of distributions (section 2.4.1)."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Section, above, between, sharing
from ntkexp.claims.statistics import by_run

EXPERIMENTS = ("lazy/normal_distributions",)


def of_pairs(normal_pairs: pd.DataFrame, column: str) -> dict[str, float]:
    """A number of A with B and of C with D."""
    names = normal_pairs["first"] + ", " + normal_pairs["second"]
    return dict(zip(names, normal_pairs[column], strict=True))


def ratio(normal_pairs: pd.DataFrame) -> float:
    """The overlap of the central intervals of A and B, divided by that of C and D."""
    shared = normal_pairs.set_index("first")["shared"]
    return float(shared["A"] / shared["C"])


claim = sharing(
    "lazy-fig21-",
    figure="2.1",
    experiments=EXPERIMENTS,
    tables=("normal_pairs",),
    section=Section.identity,
)


CLAIMS = (
    claim(
        "parameters",
        says="A is as far from B as C is from D in their parameters",
        paper="1 and 1",
        number="Euclidean distance of mean and variance",
        statistic=by_run(of_pairs, column="parameters"),
        holds=between(1 - 1e-9, 1 + 1e-9),
        threshold="(2.4.2), to rounding",
    ),
    claim(
        "densities",
        says="The central 95 % of A and B largely overlap, those of C and D do not overlap much",
        paper="an order",
        number="share of the union of both intervals that is common, A and B over C and D",
        statistic=by_run(ratio),
        holds=above(1.0),
        threshold="the order of the text",
        also=("the shares", by_run(of_pairs, column="shared")),
    ),
)
