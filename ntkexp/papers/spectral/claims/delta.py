"""Figures A.6 to A.9: a delta function, fitted by networks of other depths, widths and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ntkexp.claims.claim import Case, Statistic, above, below, each_value, sharing, times
from ntkexp.papers.spectral.numbers import by_frequency, high_fitted, residual_hits
from ntkexp.results.record import Record

DEPTH, WIDTH, CLIP = "spectral/delta_depth", "spectral/delta_width", "spectral/delta_clip"
AXES = {DEPTH: "depth", WIDTH: "width", CLIP: "clip"}
# Where less than that of the high frequencies is fitted, their order says nothing.
LEAST = 0.1
H = "H, the share of the spectrum above k = 50 that is fitted: mean of 1 - min(1, |f̃ - λ̃| / 0.005)"


def fitted(record: Record) -> float:
    return high_fitted(record.tables["fourier"])


def of(experiment: str, records: Sequence[Record]) -> list[Record]:
    """The runs of an experiment, from the smallest value to the largest."""
    return sorted(
        (run for run in records if run.experiment == experiment), key=lambda run: run.axis
    )


def gain(few: Record, many: Record) -> float:
    return fitted(many) - fitted(few)


def ends(experiment: str) -> Statistic:
    """H at the largest value less that at the smallest."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        runs = of(experiment, records)
        if len(runs) > 1:
            yield Case("", runs[0].seed, gain(runs[0], runs[-1]))

    return cases


def by_width(records: Sequence[Record]) -> Iterator[Case]:
    """The gain from 16 units, which the sweep over depths has, to 128."""
    depths, widths = of(DEPTH, records), of(WIDTH, records)
    if depths and widths:
        yield Case("", widths[0].seed, gain(depths[0], widths[-1]))


def width_over_depth(records: Sequence[Record]) -> Iterator[Case]:
    depths, widths = of(DEPTH, records), of(WIDTH, records)
    if len(depths) > 1 and widths:
        deeper = gain(depths[0], depths[-1])
        yield Case("", widths[0].seed, gain(depths[0], widths[-1]) / deeper)


def order(records: Sequence[Record]) -> Iterator[Case]:
    for record in sorted(records, key=lambda run: (run.experiment, run.axis)):
        fourier = record.tables["fourier"]
        if high_fitted(fourier) >= LEAST:
            panel = f"{AXES[record.experiment]} = {record.axis:g}"
            yield Case(panel, record.seed, by_frequency(residual_hits(fourier)))


delta = sharing("spectral-exp7-", tables=("fourier",))

CLAIMS = (
    delta(
        "depth",
        figure="A.6",
        says="More depth significantly improves the fit of high frequencies",
        paper="significantly",
        number=f"{H}; depth 6 less depth 3",
        experiments=(DEPTH,),
        statistic=ends(DEPTH),
        holds=above(0.1),
        threshold="ours",
    ),
    delta(
        "width",
        figure="A.7",
        says="More width also helps",
        paper="helps",
        number="H of width 128 less that of 16",
        experiments=(WIDTH, DEPTH),
        statistic=by_width,
        holds=above(0.0),
        threshold="the text's word",
        jointly=True,
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
        "clip",
        figure="A.8",
        says="A larger bound on the parameters also helps to fit high frequencies",
        paper="helps",
        number="H with parameters of at most 2, less that with at most 0.1",
        experiments=(CLIP,),
        statistic=ends(CLIP),
        holds=above(0.1),
        threshold="ours",
        also=("H by the bound", each_value(fitted, "clip")),
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
        "low-first",
        figure="A.6",
        says="Lower frequencies are learned first, whatever depth, width and bound",
        paper="first",
        number="Spearman's correlation of k with the first step at which |f̃_k - λ̃_k| is half of "
        f"|λ̃_k| (the last where it never is), mean over networks; where H ≥ {LEAST}",
        experiments=(DEPTH, WIDTH, CLIP),
        statistic=order,
        holds=above(0.8),
        threshold="ours, as for Figure 3.1; of residuals, since low magnitudes exceed the target's "
        "at the start",
    ),
)
