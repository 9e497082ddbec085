"""Figure 2.1: equal distances of parameters, other distances of distributions (section 2.4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ntkexp.claims.claim import Case, Section, Statistic, above, between, sharing
from ntkexp.results.record import Record

EXPERIMENTS = ("lazy/normal_distributions",)


def of_pairs(column: str) -> Statistic:
    """A number of A with B and of C with D."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            for _, pair in record.tables["normal_pairs"].iterrows():
                yield Case(f"{pair['first']}, {pair['second']}", 0, float(pair[column]))

    return cases


def ratio(records: Sequence[Record]) -> Iterable[Case]:
    """The overlap of the central intervals of A and B, divided by that of C and D."""
    for record in records:
        shared = record.tables["normal_pairs"].set_index("first")["shared"]
        yield Case("", 0, float(shared["A"] / shared["C"]))


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
        statistic=of_pairs("parameters"),
        holds=between(1 - 1e-9, 1 + 1e-9),
        threshold="(2.4.2), to rounding",
    ),
    claim(
        "densities",
        says="The central 95 % of A and B largely overlap, those of C and D do not overlap much",
        paper="an order",
        number="share of the union of both intervals that is common, A and B over C and D",
        statistic=ratio,
        holds=above(1.0),
        threshold="the order of the text",
        also=("the shares", of_pairs("shared")),
    ),
)
