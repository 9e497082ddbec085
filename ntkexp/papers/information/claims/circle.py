"""Ours: the spectral bias of information."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ntkexp.claims.claim import Case, Section, Statistic, above, below, sharing, times
from ntkexp.claims.statistics import read
from ntkexp.papers.information import numbers
from ntkexp.results.record import Record

TRIAL = (
    "this was written: a trial found 1, 2, 4 and 8 turns after 50, 150 and 900 steps and never, "
    "and another of 100 steps had squares of .17 and .0012 for 1 and 16"
)


def each_seed(number: Callable[..., dict[int, float]]) -> Statistic:
    """A number that a run has for each of its seeds."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            given: dict[str, Any] = read(number, record, {})
            yield from (Case("", seed, value) for seed, value in number(**given).items())

    return cases


circle = sharing(
    "information-circle-",
    figure=None,
    paper="not said",
    experiments=("information/circle",),
    tables=("information_looks", "information_start"),
    seen=TRIAL,
    pilot=True,
    section=Section.ours,
)

CLAIMS = (
    circle(
        "order",
        says="The higher the frequency of a dependence, the later a network finds it, though the "
        "information is the same",
        number="Spearman's correlation of k with the first look whose held-out bound is .79 nats",
        statistic=each_seed(numbers.order_of_hits),
        holds=above(0.9),
        threshold="ours: .9",
    ),
    circle(
        "given",
        says="Given the wave of that frequency, all dependences are found equally soon",
        number="the latest of these steps over the first",
        statistic=each_seed(numbers.spread_of_given),
        holds=below(2.0),
        threshold="ours: a factor of 2",
        unit=times,
    ),
    circle(
        "gradient",
        says="The gradient at the start, the distance of pairs from x and z apart by the tangent "
        "kernel, tells in which order they are found",
        number="Spearman's correlation of its square with these steps",
        statistic=each_seed(numbers.order_of_gradients),
        holds=below(-0.9),
        threshold="ours: .9",
    ),
    circle(
        "linearised",
        says="The linearised network finds under half of the information at 4 turns",
        number="its estimate over the truth",
        experiments=("information/circle_linearised",),
        tables=("information",),
        statistic=each_seed(numbers.share_found),
        holds=below(0.5),
        threshold="ours: half",
        seen="this was written: after 100 steps one had .07",
    ),
)
