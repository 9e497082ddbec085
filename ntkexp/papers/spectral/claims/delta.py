"""Figures A.6 to A.9: a delta function, fitted by networks of other depths, widths and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ntkexp.claims.claim import Section, above, below, sharing, times
from ntkexp.claims.statistics import Group, Groups, by, by_axis, of_seeds
from ntkexp.papers.spectral.numbers import by_frequency, first_steps, high_fitted, residual_hits
from ntkexp.results.record import Record

DEPTH, WIDTH, CLIP = "spectral/delta_depth", "spectral/delta_width", "spectral/delta_clip"
AXES = {DEPTH: "depth", WIDTH: "width", CLIP: "clip"}
# Where less than that of the high frequencies is fitted, their order says nothing.
LEAST = 0.1
# From here on most networks have fitted what they fit.
LATE = 25_000
H = "H, the share of the spectrum above k = 50 that is fitted: mean of 1 - min(1, |f̃ - λ̃| / |λ̃|)"
# The run with the smallest or the largest value of a sweep.
SHALLOW, DEEP, WIDE, BOUND, FREE = (DEPTH, 0), (DEPTH, -1), (WIDTH, -1), (CLIP, 0), (CLIP, -1)


def fitted(fourier: pd.DataFrame) -> float:
    return float(high_fitted(fourier).iloc[-1].mean())


def fitted_by_median(fourier: pd.DataFrame) -> float:
    """H of the median network."""
    return float(high_fitted(fourier).iloc[-1].median())


def fitted_late(fourier: pd.DataFrame) -> float:
    """H as a mean over the looks of the second half, too, since networks fall out again."""
    return float(high_fitted(fourier).loc[LATE:].mean().mean())


def half_fitted(fourier: pd.DataFrame) -> float:
    """The first step at which H of one network is a half; the last step where it never is."""
    return float(first_steps(high_fitted(fourier) >= 0.5).iloc[0])


def gain(few: pd.DataFrame, many: pd.DataFrame, of: Callable[[pd.DataFrame], float]) -> float:
    return of(many) - of(few)


def sooner(few: pd.DataFrame, many: pd.DataFrame) -> float:
    """The steps of one network to H = 1/2 with the few, over those with the many."""
    return half_fitted(few) / half_fitted(many)


def gain_of_width(narrow: pd.DataFrame, wide: pd.DataFrame, deep: pd.DataFrame) -> float:
    """What width gains over what depth gains."""
    return gain(narrow, wide, fitted) / gain(narrow, deep, fitted)


def slope_allowed(config: Mapping[str, Any], clip: float) -> float:
    """The largest slope that equation (7) allows with a bound on the parameters, over that of the
    sampled delta, which rises from 0 to 1 between two of its points."""
    depth, width = config["model.depth"], config["model.width"]
    return float(clip ** (depth + 1) * width**depth / config["data.train_examples"])


def runs_at(places: Sequence[tuple[str, int]], records: Sequence[Record]) -> list[Record]:
    """The runs at these places of their sweeps; none unless all are there, and differ."""
    sweeps = {
        name: sorted((run for run in records if run.experiment == name), key=lambda run: run.axis)
        for name, _ in places
    }
    found = [sweeps[name][place] for name, place in places if sweeps[name]]
    return found if len({*found}) == len(places) else []


def at(*places: tuple[str, int]) -> Groups:
    """(panel, seed, the spectra of all networks of each run)."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        if runs := runs_at(places, records):
            yield "", runs[0].seed, *(run.tables["fourier"] for run in runs)

    return groups


def networks_at(*places: tuple[str, int]) -> Groups:
    """The same of each network that all runs have."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        runs = runs_at(places, records)
        spectra = {str(place): run.tables["fourier"] for place, run in enumerate(runs)}
        for seed, rows in of_seeds(spectra) if runs else ():
            yield "", seed, *rows.values()

    return groups


def bounded(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, the config, its clip) of the run with the smallest bound."""
    for run in runs_at([BOUND], records):
        yield "", run.seed, run.config, run.axis


def fitting(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, its spectrum) of each network of the runs that fit high frequencies."""
    for run in sorted(records, key=lambda run: (run.experiment, run.axis)):
        if fitted(run.tables["fourier"]) >= LEAST:
            for seed, rows in of_seeds({"fourier": run.tables["fourier"]}):
                yield f"{AXES[run.experiment]} = {run.axis:g}", seed, rows["fourier"]


def order(fourier: pd.DataFrame) -> float:
    return by_frequency(residual_hits(fourier).iloc[0])


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
        statistic=by(at(SHALLOW, DEEP))(gain, of=fitted),
        holds=above(0.1),
        threshold="ours",
        also=("of medians over networks", by(at(SHALLOW, DEEP))(gain, of=fitted_by_median)),
    ),
    delta(
        "depth-sooner",
        figure="A.6",
        says="With more depth networks fit high frequencies sooner",
        paper="not said",
        number="steps to H = 0.5 at depth 3, over those at depth 6 (the last step where it never "
        "is), by network",
        experiments=(DEPTH,),
        statistic=by(networks_at(SHALLOW, DEEP))(sooner),
        **SOONER,
    ),
    delta(
        "width",
        figure="A.7",
        says="More width also helps",
        paper="helps",
        number="H of width 128 less that of 16",
        experiments=(WIDTH, DEPTH),
        statistic=by(at(SHALLOW, WIDE))(gain, of=fitted),
        holds=above(0.0),
        threshold="the text's word",
        jointly=True,
        also=("of medians over networks", by(at(SHALLOW, WIDE))(gain, of=fitted_by_median)),
    ),
    delta(
        "width-sooner",
        figure="A.7",
        says="With more width networks fit high frequencies sooner",
        paper="not said",
        number="the same for width 16 and width 128",
        experiments=(WIDTH, DEPTH),
        statistic=by(networks_at(SHALLOW, WIDE))(sooner),
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
        statistic=by(at(SHALLOW, WIDE, DEEP))(gain_of_width),
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
        statistic=by(networks_at(WIDE, DEEP))(sooner),
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
        statistic=by(at(BOUND, FREE))(gain, of=fitted),
        holds=above(0.1),
        threshold="ours",
        also=(f"H by the bound, means of looks from {LATE:,} on", by_axis(fitted_late, "clip")),
    ),
    delta(
        "bound-prevents",
        figure="A.8",
        says="Bounding the parameters prevents the network from learning high frequencies",
        paper="prevents",
        number="H with parameters of at most 0.1",
        experiments=(CLIP,),
        statistic=by(at(BOUND))(fitted),
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
        statistic=by(bounded)(slope_allowed),
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
        statistic=by(fitting)(order),
        holds=above(0.8),
        threshold="ours, as for Figure 3.1; of residuals, since low magnitudes exceed the target's "
        "at the start",
        seen="cases became networks; of the ranks of mean steps all are ≥ 0.95",
    ),
)
