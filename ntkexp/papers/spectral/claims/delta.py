"""Figures A.6 to A.9: a delta function, fitted by networks of other depths, widths and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from ntkexp.claims.claim import Case, Section, Statistic, above, below, each_value, sharing, times
from ntkexp.papers.spectral.numbers import by_frequency, first_steps, high_fitted, residual_hits
from ntkexp.results.record import Record

DEPTH, WIDTH, CLIP = "spectral/delta_depth", "spectral/delta_width", "spectral/delta_clip"
Pair = Callable[[Record, Record], Iterable[Case]]
AXES = {DEPTH: "depth", WIDTH: "width", CLIP: "clip"}
# Where less than that of the high frequencies is fitted, their order says nothing.
LEAST = 0.1
# From here on most networks have fitted what they fit.
LATE = 25_000
H = "H, the share of the spectrum above k = 50 that is fitted: mean of 1 - min(1, |f̃ - λ̃| / |λ̃|)"


def fitted(record: Record) -> float:
    return float(high_fitted(record.tables["fourier"]).iloc[-1].mean())


def fitted_by_median(record: Record) -> float:
    """H of the median network."""
    return float(high_fitted(record.tables["fourier"]).iloc[-1].median())


def fitted_late(record: Record) -> float:
    """H as a mean over the looks of the second half, too, since networks fall out again."""
    return float(high_fitted(record.tables["fourier"]).loc[LATE:].mean().mean())


def half_fitted(record: Record) -> pd.Series:
    """By network: the first step at which H is a half; the last step where it never is."""
    return first_steps(high_fitted(record.tables["fourier"]) >= 0.5)


def of(experiment: str, records: Sequence[Record]) -> list[Record]:
    """The runs of an experiment, from the smallest value to the largest."""
    return sorted(
        (run for run in records if run.experiment == experiment), key=lambda run: run.axis
    )


def gain(value: Callable[[Record], float]) -> Pair:
    return lambda few, many: [Case("", few.seed, value(many) - value(few))]


def sooner(few: Record, many: Record) -> Iterable[Case]:
    """By network: the steps to H = 1/2 with the few, over those with the many."""
    return by_network(half_fitted(few) / half_fitted(many))


def by_network(values: pd.Series, panel: str = "") -> Iterable[Case]:
    return [Case(panel, int(str(seed)), float(value)) for seed, value in values.items()]


def ends(experiment: str, compare: Pair) -> Statistic:
    """The smallest value beside the largest."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        runs = of(experiment, records)
        return compare(runs[0], runs[-1]) if len(runs) > 1 else []

    return cases


def by_width(compare: Pair) -> Statistic:
    """16 units, which the sweep over depths has, beside 128."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        depths, widths = of(DEPTH, records), of(WIDTH, records)
        return compare(depths[0], widths[-1]) if depths and widths else []

    return cases


def width_over_depth(records: Sequence[Record]) -> Iterator[Case]:
    """What width gains over what depth gains."""
    deeper = ends(DEPTH, gain(fitted))(records)
    for wide, deep in zip(by_width(gain(fitted))(records), deeper, strict=False):
        yield Case("", wide.seed, wide.value / deep.value)


def width_beside_depth(records: Sequence[Record]) -> Iterable[Case]:
    depths, widths = of(DEPTH, records), of(WIDTH, records)
    return sooner(widths[-1], depths[-1]) if depths and widths else []


def order(records: Sequence[Record]) -> Iterator[Case]:
    for record in sorted(records, key=lambda run: (run.experiment, run.axis)):
        fourier = record.tables["fourier"]
        if fitted(record) >= LEAST:
            panel = f"{AXES[record.experiment]} = {record.axis:g}"
            yield from by_network(residual_hits(fourier).apply(by_frequency, axis=1), panel)


def slope_allowed(records: Sequence[Record]) -> Iterator[Case]:
    """The largest slope that equation (7) allows with the smallest bound on the parameters, over
    that of the sampled delta, which rises from 0 to 1 between two of its points."""
    for run in of(CLIP, records)[:1]:
        depth, width, points = (
            run.config[key] for key in ("model.depth", "model.width", "data.train_examples")
        )
        yield Case("", run.seed, float(run.axis ** (depth + 1) * width**depth / points))


delta = sharing("spectral-exp7-", tables=("fourier",))
SOONER: dict[str, Any] = {
    "holds": above(1.0),
    "threshold": "more than 1 is sooner",
    "seen": "this was written: at the last step one network without the high frequencies decides "
    "all means",
    "unit": times,
    "section": Section.ours,
}

CLAIMS = (
    delta(
        "depth",
        figure="A.6",
        says="More depth significantly improves the fit of high frequencies",
        paper="significantly",
        number=f"{H}; depth 6 less depth 3",
        experiments=(DEPTH,),
        statistic=ends(DEPTH, gain(fitted)),
        holds=above(0.1),
        threshold="ours",
        also=("of medians over networks", ends(DEPTH, gain(fitted_by_median))),
    ),
    delta(
        "depth-sooner",
        figure="A.6",
        says="With more depth networks fit high frequencies sooner",
        paper="not said",
        number="steps to H = 0.5 at depth 3, over those at depth 6 (the last step where it never "
        "is), by network",
        experiments=(DEPTH,),
        statistic=ends(DEPTH, sooner),
        **SOONER,
    ),
    delta(
        "width",
        figure="A.7",
        says="More width also helps",
        paper="helps",
        number="H of width 128 less that of 16",
        experiments=(WIDTH, DEPTH),
        statistic=by_width(gain(fitted)),
        holds=above(0.0),
        threshold="the text's word",
        jointly=True,
        also=("of medians over networks", by_width(gain(fitted_by_median))),
    ),
    delta(
        "width-sooner",
        figure="A.7",
        says="With more width networks fit high frequencies sooner",
        paper="not said",
        number="the same for width 16 and width 128",
        experiments=(WIDTH, DEPTH),
        statistic=by_width(sooner),
        jointly=True,
        **SOONER,
    ),
    delta(
        "width-weaker",
        figure="A.7",
        says="Width helps considerably less than depth",
        paper="considerably weaker",
        number="gain in H from width 16 to 128 over that from depth 3 to 6",
        experiments=(WIDTH, DEPTH),
        statistic=width_over_depth,
        holds=below(0.5),
        threshold="ours: at most half",
        unit=times,
        jointly=True,
    ),
    delta(
        "width-weaker-sooner",
        figure="A.7",
        says="With more width networks fit them considerably later than with more depth",
        paper="not said",
        number="steps to H = 0.5 with width 128, over those with depth 6, by network",
        experiments=(WIDTH, DEPTH),
        statistic=width_beside_depth,
        jointly=True,
        **{**SOONER, "holds": above(2.0), "threshold": "ours: at least twice as late"},
    ),
    delta(
        "clip",
        figure="A.8",
        says="A larger bound on the parameters also helps to fit high frequencies",
        paper="helps",
        number="H with parameters of at most 2, less that with at most 0.1",
        experiments=(CLIP,),
        statistic=ends(CLIP, gain(fitted)),
        holds=above(0.1),
        threshold="ours",
        also=(f"H by the bound, means of looks from {LATE:,} on", each_value(fitted_late, "clip")),
    ),
    delta(
        "bound-prevents",
        figure="A.8",
        says="Bounding the parameters prevents the network from learning high frequencies",
        paper="prevents",
        number="H with parameters of at most 0.1",
        experiments=(CLIP,),
        statistic=lambda records: [
            Case("", run.seed, fitted(run)) for run in of(CLIP, records)[:1]
        ],
        holds=below(0.05),
        threshold="ours",
    ),
    delta(
        "bound-tight",
        figure="A.8",
        says="That this bound prevents it shows that the bound by L_f can be tight",
        paper="tight",
        number="the largest L_f that equation (7) allows with parameters of at most 0.1, over the "
        "slope of the sampled delta",
        experiments=(CLIP,),
        tables=(),
        statistic=slope_allowed,
        holds=below(1.0),
        threshold="ours: with more the bound on L_f leaves room for the delta, and something else "
        "prevents it",
        seen="this was written",
        unit=times,
    ),
    delta(
        "low-first",
        figure="A.6",
        says="Lower frequencies are learned first, whatever depth, width and bound",
        paper="first",
        number="Spearman's correlation of k with the first step at which |f̃_k - λ̃_k| is half of "
        f"|λ̃_k| (the last where it never is), by network; of runs with H ≥ {LEAST}, which leaves "
        "out the bound of 0.1",
        experiments=(DEPTH, WIDTH, CLIP),
        statistic=order,
        holds=above(0.8),
        threshold="ours, as for Figure 3.1; of residuals, since low magnitudes exceed the target's "
        "at the start",
        seen="cases became networks; of the ranks of mean steps all are ≥ 0.95",
    ),
)
