"""Losses over seconds, in Figures 4.3 to 4.5 and A.2: updates times the processor seconds of an
update, from one run in which all optimisers took turns. Bounds were fixed before any of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntkexp.claims.claim import Case, Claim, below, sharing, times
from ntkexp.papers.curvature.claims.autoencoder import (
    AMORTISED,
    BASELINES,
    EXACT,
    by_seed,
    last_loss,
    losses,
    of_period,
)
from ntkexp.results.record import Record

SECONDS = "curvature/autoencoder_seconds"
AMORTISED_RA = "curvature/amortised_ra"


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
    """The seconds in which a run reaches another's last loss, over those of the other; infinite if
    it never does."""
    curve, target = losses(run.tables["evals"]), losses(other.tables["evals"]).iloc[-1]
    there = np.flatnonzero(curve.to_numpy() <= target)
    whole = seconds_of(other, update_seconds)[-1]
    return float(seconds_of(run, update_seconds)[there[0]] / whole) if len(there) else math.inf


def beside_best(
    records: Sequence[Record], method: str, others: Sequence[str], seconds: str
) -> list[Case]:
    """The seconds in which a method has the last loss of the best of others, over the other's."""
    update_seconds, cases = timed(records, seconds), list[Case]()
    for seed, runs in by_seed(records).items():
        if update_seconds is not None and {method, *others} <= {*runs}:
            curves = [runs[name] for name in others]
            best = min(curves, key=lambda run: last_loss(run.tables["evals"], "train"))
            cases.append(Case("", seed, sooner(runs[method], best, update_seconds)))
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


claim = sharing("curvature-", tables=(), jointly=True, holds=below(1.0), unit=times)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "fig43-seconds",
        figure="4.3",
        says="EKFAC-ra minimises the training loss fastest in time",
        paper="faster training in wall-clock time",
        number="processor seconds in which EKFAC-ra has the last training loss of the best of "
        "KFAC, SGD and Adam, over theirs for 20 epochs",
        experiments=(EXACT["EKFAC-ra"], *BASELINES.values(), SECONDS),
        statistic=partial(
            beside_best,
            method=EXACT["EKFAC-ra"],
            others=[*BASELINES.values()],
            seconds=SECONDS,
        ),
    ),
    claim(
        "fig44-seconds",
        figure="4.4",
        says="EKFAC-ra is there before KFAC with factors of every update, in time",
        paper="high computational cost",
        number="processor seconds in which EKFAC-ra has the training loss of 20 epochs of that "
        "KFAC, over its",
        experiments=(AMORTISED[0], EXACT["EKFAC-ra"], AMORTISED_RA, SECONDS),
        statistic=beside_every_update,
    ),
)
