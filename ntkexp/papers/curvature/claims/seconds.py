"""Losses over seconds, in Figures 4.3 to 4.5 and A.2: updates times the processor seconds of an
update, from one run in which all optimisers took turns; and what the text says of updates alone.
Bounds were fixed before any of the runs, unless a row says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntkexp.claims.claim import Case, Claim, above, below, between, sharing, times
from ntkexp.claims.statistics import by_run
from ntkexp.papers.curvature.claims.autoencoder import (
    AMORTISED,
    BASELINES,
    EXACT,
    NAMES,
    by_seed,
    losses,
    of_period,
)
from ntkexp.results.record import Record

SECONDS = "curvature/autoencoder_seconds"
AMORTISED_RA = "curvature/amortised_ra"
NETWORKS = {SECONDS: "auto-encoder"}
NETWORKS |= {"curvature/vgg11_seconds": "VGG11", "curvature/resnet34_seconds": "ResNet34"}


def method_of(run: Record) -> str:
    """The name that an optimiser has in the table of seconds."""
    name = str(run.config["optim.name"])
    if name == "kfac":
        return str(run.config["optim.second"])
    normed = run.config.get("model.batch_norm") or run.config.get("model.norm") == "batch"
    return f"{name}_batch_norm" if normed else name


def seconds_of(run: Record, update_seconds: pd.DataFrame) -> NDArray[np.float64]:
    """The processor seconds of its updates up to each of its looks."""
    steps = losses(run.tables["evals"]).index.to_numpy()
    period = int(run.config.get("optim.period") or 1)
    chosen = (update_seconds["method"] == method_of(run)) & (
        update_seconds["batch_size"] == int(run.config["optim.batch_size"])
    )
    medians = update_seconds[chosen].groupby("anew")["seconds"].median()
    anew = np.ceil(steps / period)
    found = medians.get(True, medians[False]) * anew + medians[False] * (steps - anew)
    return np.asarray(found, np.float64)


def timed(records: Sequence[Record], experiment: str) -> pd.DataFrame | None:
    """The table of seconds that the runs are measured by."""
    tables = [run.tables["update_seconds"] for run in records if run.experiment == experiment]
    return tables[0] if tables else None


def sooner(run: Record, other: Record, update_seconds: pd.DataFrame) -> float:
    """The seconds to the lowest loss that both reach, over those of the other: one that was given
    less time has not lost for that."""
    curves = [losses(one.tables["evals"]).to_numpy()[1:] for one in (run, other)]
    level = max(np.nanmin(curve) for curve in curves)
    first, second = (
        seconds_of(one, update_seconds)[1:][np.argmax(curve <= level)]
        for one, curve in zip((run, other), curves, strict=True)
    )
    return float(first / second)


def beside_each(
    records: Sequence[Record], method: str, others: Mapping[str, str], seconds: str
) -> list[Case]:
    """A method's seconds over those of each of others, which have their words."""
    update_seconds, cases = timed(records, seconds), list[Case]()
    for seed, runs in by_seed(records).items():
        if update_seconds is not None and {method, *others.values()} <= {*runs}:
            for words, name in others.items():
                cases.append(Case(words, seed, sooner(runs[method], runs[name], update_seconds)))
    return cases


def beside_every_update(records: Sequence[Record]) -> list[Case]:
    seconds, cases = timed(records, SECONDS), list[Case]()
    if seconds is None:
        return []
    for often in of_period(records, AMORTISED[0], 1):
        for name, period in ((EXACT["EKFAC-ra"], 50), (AMORTISED_RA, 250)):
            cases += [
                Case(f"a basis every {period} updates", often.seed, sooner(run, often, seconds))
                for run in of_period(records, name, period)
                if run.seed == often.seed
            ]
    return cases


def costs(update_seconds: pd.DataFrame, of: str) -> dict[str, float]:
    """By method and batch size a ratio of medians: `old`, an update without new factors or basis,
    `new`, what these add to it, and `each`, the mean of 50 of which one has them."""
    found = update_seconds.pivot_table("seconds", "batch_size", ["anew", "method"], "median")
    old = found[False][[*NAMES]]
    new = found[True][[*NAMES]] - old
    each = old + new / 50
    ratios = {
        "saved": (old + new) / each,
        "burden": each[["running"]].div(each["kron"], axis=0),
        "basis": new[["batch"]].div(new["kron"], axis=0),
        "moments": (old.sub(old["kron"], axis=0) / new)[["batch", "running"]],
    }[of].stack()
    return {
        f"{NAMES[method]}, batches of {size:,}": float(ratio)
        for (size, method), ratio in ratios.items()
    }


claim = sharing("curvature-", tables=(), jointly=True, holds=below(1.0), unit=times)
# What is asked of seconds, also beside VGG11 and ResNet34.
SOONER = "processor seconds of {} over those of {}, to the lowest training loss that both reach"

of_updates = sharing("curvature-", tables=("update_seconds",), unit=times, seen="this was written")

CLAIMS: tuple[Claim, ...] = (
    claim(
        "fig43-seconds",
        figure="4.3",
        says="EKFAC-ra minimises the training loss fastest in time",
        paper="faster training in wall-clock time",
        number=SOONER.format("EKFAC-ra", "KFAC, SGD and Adam"),
        experiments=(EXACT["EKFAC-ra"], *BASELINES.values(), SECONDS),
        statistic=partial(
            beside_each,
            method=EXACT["EKFAC-ra"],
            others=BASELINES,
            seconds=SECONDS,
        ),
    ),
    claim(
        "fig44-seconds",
        figure="4.4",
        says="EKFAC-ra is there before KFAC with factors of every update, in time",
        paper="high computational cost",
        number=SOONER.format("EKFAC-ra", "that KFAC"),
        experiments=(AMORTISED[0], EXACT["EKFAC-ra"], AMORTISED_RA, SECONDS),
        statistic=beside_every_update,
    ),
    of_updates(
        "fig43-burden",
        figure="4.3",
        says="EKFAC-ra's updates are a slightly increased burden beside KFAC's",
        paper="slightly increased",
        number="seconds of an update over those of KFAC's, factors or basis every 50 updates",
        experiments=(SECONDS,),
        statistic=by_run(costs, of="burden", panels=NETWORKS),
        holds=between(1.0, 1.5),
        threshold="ours: at most 1.5 times",
    ),
    of_updates(
        "fig44-cost",
        figure="4.4",
        says="Amortising factors or basis strongly decreases the cost of updates",
        paper="strongly decrease",
        number="seconds of an update that computes them, over the mean of 50 of which one does",
        experiments=(SECONDS,),
        statistic=by_run(costs, of="saved", panels=NETWORKS),
        holds=above(2.0),
        threshold="ours: by half at least",
    ),
    of_updates(
        "cost-basis",
        figure=None,
        says="A new basis is about as costly as KFAC's new factors and inverses",
        paper="similarly costly",
        number="seconds that the one adds to an update of EKFAC, over those of the other to KFAC's",
        experiments=(*NETWORKS,),
        statistic=by_run(costs, of="basis", panels=NETWORKS),
        holds=between(0.5, 2.0),
        threshold="ours: within a factor of two",
    ),
    of_updates(
        "cost-moments",
        figure=None,
        says="Second moments of every mini-batch are cheap beside a new basis",
        paper="cheap",
        number="seconds of an update less those of KFAC's, over those that a new basis adds",
        experiments=(*NETWORKS,),
        statistic=by_run(costs, of="moments", panels=NETWORKS),
        holds=below(0.5),
        threshold="ours: half at most",
    ),
)
