"""Figures 4.5, A.1, A.2 and A.4: a VGG11 on CIFAR-10, of 16 channels where the text has 64.

Bounds were fixed before any of the runs. One point of rate and damping is trained to its end for
each optimiser, the best of a search over 4 epochs, where the text takes the best point at every
epoch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from ntkexp.claims.claim import (
    Case,
    Claim,
    Section,
    above,
    below,
    percent,
    sharing,
    times,
)
from ntkexp.claims.statistics import Group, Groups, by
from ntkexp.papers.curvature.claims.autoencoder import NAMES, by_seed, last_loss, losses
from ntkexp.papers.curvature.claims.seconds import SOONER, beside_each, sooner, timed
from ntkexp.results.record import Record

IMAGES = 50_000
EKFAC, RA, KFAC = (f"curvature/vgg11_{name}" for name in ("ekfac", "ra", "kfac"))
SMALL = "curvature/vgg11_kfac_200"
SGD, NORMED = "curvature/vgg11_sgd", "curvature/vgg11_sgd_norm"
SECONDS, BATCHES = "curvature/vgg11_seconds", "curvature/vgg11_batches"
SCHEDULES = ("curvature/vgg11_schedule_kfac", "curvature/vgg11_schedule_ra")
SEARCH, PLAIN = "curvature/search_vgg11", "curvature/search_vgg11_plain"
OTHERS = {"KFAC": KFAC, "SGD": SGD, "SGD, batch norm": NORMED}
BASELINES = (*OTHERS.values(),)
METHODS = {"EKFAC": EKFAC, "EKFAC-ra": RA, "KFAC, batches of 200": SMALL, **OTHERS}
FIRST_EPOCH, MOST, LEAST = 5, 1000, 200


def by_epoch(run: Record, split: str = "train") -> pd.Series:
    """The losses at the ends of epochs."""
    of_split = losses(run.tables["evals"], split)
    updates = IMAGES // int(run.config["optim.batch_size"])
    ends = of_split[of_split.index % updates == 0]
    return ends.set_axis(ends.index // updates)


def each_seed(*names: str) -> Groups:
    """Groups (panel "", seed, its runs by experiment) of the seeds that have all of these."""

    def groups(records: Sequence[Record]) -> list[Group]:
        return [("", seed, runs) for seed, runs in by_seed(records).items() if {*names} <= {*runs}]

    return groups


def epochs_ahead(runs: Mapping[str, Record], method: str, others: Sequence[str]) -> float:
    """The share of epochs from the fifth on in which a method has the lowest loss."""
    curves = pd.DataFrame({name: by_epoch(runs[name]) for name in (method, *others)}).dropna()
    late = curves[curves.index >= FIRST_EPOCH]
    return float((late.idxmin(axis=1) == method).mean())


def last_ratio(runs: Mapping[str, Record], first: str, second: str) -> float:
    return last_loss(runs[first].tables["evals"], "train") / last_loss(
        runs[second].tables["evals"], "train"
    )


def at_equal_updates(runs: Mapping[str, Record]) -> float:
    """KFAC's loss with batches of 200 over EKFAC's, at the last update at which both are known."""
    small, large = (losses(runs[name].tables["evals"]) for name in (SMALL, EKFAC))
    step = max({*small.index} & {*large.index})
    return float(small[step] / large[step])


def least_error(run: Record) -> float:
    evals = run.tables["evals"]
    held_out = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
    return float(1 - held_out["accuracy"].max())


def error_above(runs: Mapping[str, Record], method: str, others: Sequence[str]) -> float:
    """Its least held-out error less the least of others."""
    return least_error(runs[method]) - min(least_error(runs[name]) for name in others)


def of_batch(records: Sequence[Record], experiment: str = BATCHES) -> dict[tuple[str, int], Record]:
    """(second moments, batch size) -> run, of the runs that were made for it."""
    return {
        (str(run.config["optim.second"]), int(run.config["optim.batch_size"])): run
        for run in records
        if run.experiment == experiment
    }


def gains(runs: Mapping[tuple[str, int], Record], method: str) -> dict[int, float]:
    """Batch size -> the log of KFAC's last training loss over a method's."""
    ends = {key: math.log(last_loss(run.tables["evals"], "train")) for key, run in runs.items()}
    return {
        size: end - ends[method, size]
        for (second, size), end in sorted(ends.items())
        if second == "kron" and (method, size) in ends
    }


def gain_of_batches(
    records: Sequence[Record], method: str, experiment: str = BATCHES
) -> list[Case]:
    """The gain with the largest batches less that with the smallest."""
    found = gains(of_batch(records, experiment), method)
    return [Case("", 0, found[MOST] - found[LEAST])] if {MOST, LEAST} <= {*found} else []


def seconds_of_batches(records: Sequence[Record]) -> list[Case]:
    """By batch size, EKFAC's seconds over KFAC's."""
    seconds, runs = timed(records, SECONDS), of_batch(records)
    return [
        Case(f"batches of {size:,}", 0, sooner(runs["batch", size], run, seconds))
        for (second, size), run in sorted(runs.items())
        if second == "kron" and seconds is not None and ("batch", size) in runs
    ]


def plain_over_both(records: Sequence[Record]) -> list[Case]:
    """By method, the best last loss with damping on the moments over that with it on factors."""
    best: dict[str, dict[str, float]] = {PLAIN: {}, SEARCH: {}}
    for run in records:
        search, second = run.tables["search"], run.config.get("study.optim.second")
        last = search[search["epoch"] == search["epoch"].max()]["train_loss"]
        if second is not None:  # a search of SGD's rates has no damping
            best[run.experiment][NAMES[str(second)]] = float(last.min())
    return [
        Case(name, 0, value / best[SEARCH][name])
        for name, value in best[PLAIN].items()
        if name in best[SEARCH]
    ]


joint = sharing("curvature-", jointly=True, tables=("evals",))
timed_claim = sharing("curvature-", jointly=True, tables=(), unit=times)

CLAIMS: tuple[Claim, ...] = (
    joint(
        "fig45-ekfac",
        figure="4.5",
        says="EKFAC optimises better per epoch than SGD, with and without batch normalisation, and "
        "than KFAC",
        paper="better",
        number="share of epochs 5 to 20 in which EKFAC has the lowest training loss",
        experiments=(EKFAC, *BASELINES),
        statistic=by(each_seed(EKFAC, *BASELINES))(epochs_ahead, method=EKFAC, others=BASELINES),
        holds=above(0.75),
        threshold="ours: three quarters of them",
        unit=percent,
    ),
    joint(
        "fig45-norm",
        figure="4.5",
        says="SGD needs batch normalisation to be competitive",
        paper="requires",
        number="training loss after 20 epochs without it over that with it",
        experiments=(SGD, NORMED),
        statistic=by(each_seed(SGD, NORMED))(last_ratio, first=SGD, second=NORMED),
        holds=above(1.0),
        unit=times,
    ),
    timed_claim(
        "fig45-seconds",
        figure="4.5",
        says="EKFAC-ra is faster in time than the baselines",
        paper="some wall-clock time improvements",
        number=SOONER.format("EKFAC-ra", "KFAC and SGD"),
        experiments=(RA, *BASELINES, SECONDS),
        statistic=partial(beside_each, method=RA, others=OTHERS, seconds=SECONDS),
        holds=below(1.0),
    ),
    timed_claim(
        "fig45-small-batches",
        figure="4.5",
        says="KFAC with batches of 200 catches up with EKFAC in time",
        paper="can catch-up",
        number=SOONER.format("that KFAC", "EKFAC"),
        experiments=(SMALL, EKFAC, SECONDS),
        statistic=partial(beside_each, method=SMALL, others={"EKFAC": EKFAC}, seconds=SECONDS),
        holds=below(1.1),
        threshold="ours: within a tenth",
    ),
    timed_claim(
        "fig45-small-batches-ra",
        figure="4.5",
        says="KFAC with batches of 200 does not catch up with EKFAC-ra in time",
        paper="but not EKFAC-ra",
        number=SOONER.format("that KFAC", "EKFAC-ra"),
        experiments=(SMALL, RA, SECONDS),
        statistic=partial(beside_each, method=SMALL, others={"EKFAC-ra": RA}, seconds=SECONDS),
        holds=above(1.0),
    ),
    joint(
        "fig45-updates",
        figure="4.5",
        says="KFAC with batches of 200 is worse than EKFAC at an equal number of updates",
        paper="outperformed per iteration",
        number="training loss after 2,000 updates, over EKFAC's",
        experiments=(SMALL, EKFAC),
        statistic=by(each_seed(SMALL, EKFAC))(at_equal_updates),
        holds=above(1.0),
        unit=times,
    ),
    joint(
        "fig45-error",
        figure="4.5",
        says="Networks trained with EKFAC generalise well",
        paper="good",
        number="least held-out error less the least of KFAC and SGD",
        experiments=(EKFAC, *BASELINES),
        statistic=by(each_seed(EKFAC, *BASELINES))(error_above, method=EKFAC, others=BASELINES),
        holds=below(0.01),
        threshold="ours: within one point",
        unit=percent,
    ),
    joint(
        "figa1-ekfac",
        figure="A.1",
        says="EKFAC's gain over KFAC is smaller with smaller batches",
        paper="diminishes",
        number="log of KFAC's training loss over EKFAC's after 4 epochs, with batches of 1,000 "
        "less with 200",
        experiments=(BATCHES,),
        statistic=partial(gain_of_batches, method="batch"),
        holds=above(0.05),
        threshold="ours: .05",
    ),
    joint(
        "figa1-ra",
        figure="A.1",
        says="So is EKFAC-ra's",
        paper="not said",
        number="log of KFAC's training loss over EKFAC-ra's after 4 epochs, with batches of 1,000 "
        "less with 200",
        experiments=(BATCHES,),
        statistic=partial(gain_of_batches, method="running"),
        holds=above(0.05),
        threshold="ours: .05",
        section=Section.ours,
    ),
    timed_claim(
        "figa2-seconds",
        figure="A.2",
        says="EKFAC gains nothing in time over KFAC, whatever the batches",
        paper="does not translate",
        number=SOONER.format("EKFAC", "KFAC"),
        experiments=(BATCHES, SECONDS),
        statistic=seconds_of_batches,
        holds=above(1.0),
    ),
    joint(
        "figa4-schedule",
        figure="A.4",
        says="With a rate that is halved every 20 epochs EKFAC is still better than KFAC; EKFAC-ra "
        "stands in for it",
        paper="some optimization benefit",
        number="EKFAC-ra's training loss after 40 epochs over KFAC's",
        experiments=SCHEDULES,
        statistic=by(each_seed(*SCHEDULES))(last_ratio, first=SCHEDULES[1], second=SCHEDULES[0]),
        holds=below(1.0),
        unit=times,
    ),
    joint(
        "damping",
        figure=None,
        says="Damping added to both factors' eigenvalues is better than damping added to the "
        "second moments",
        paper="better",
        number="the least training loss of three points after 4 epochs with the latter, over that "
        "with the former",
        experiments=(SEARCH, PLAIN),
        tables=("search",),
        statistic=plain_over_both,
        holds=above(1.0),
        unit=times,
    ),
)
