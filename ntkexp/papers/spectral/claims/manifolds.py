"""Figure A.10: random targets on reconstructions of digits and on flat points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Statistic, above, percent, sharing
from ntkexp.papers.spectral.numbers import first_steps
from ntkexp.results.record import Record

STEPS = (100, 200, 500, 1000)
FITTED = 0.01


def easier(pairs: Mapping[tuple[str, str], str]) -> Statistic:
    """By pair of kinds of points and step, the share of runs with the lower loss on the first."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            evals = record.tables["evals"]
            rows = evals[(evals["split"] == "train") & (evals["subset"] == "all")]
            loss = rows.pivot_table(index="seed", columns=["data.points", "step"], values="loss")
            for (curved, flat), name in pairs.items():
                for step in STEPS:
                    gap = loss[flat, step].to_numpy() - loss[curved, step].to_numpy()
                    yield Case(f"{name}step {step}", record.seed, float(np.mean(gap > 0)))

    return cases


def fitted(record: Record) -> pd.DataFrame:
    """(seed, kind of points): the first step at which the mean squared error is below 0.01."""
    evals = record.tables["evals"]
    rows = evals[(evals["split"] == "train") & (evals["subset"] == "all")]
    errors = 2 * rows.pivot(index="step", columns=["seed", "data.points"], values="loss")
    return first_steps(errors < FITTED).unstack("data.points")


def sooner(records: Sequence[Record]) -> Iterator[Case]:
    """The share of runs that are fitted sooner on reconstructions than on flat noise."""
    for record in records:
        first = fitted(record)
        for points, name in ((CURVED, "as they are"), (f"scaled_{CURVED}", "at its distance")):
            yield Case(name, record.seed, float((first[points] < first[FLAT]).mean()))


def left_by_flat(records: Sequence[Record]) -> Iterator[Case]:
    """Of what reconstructions are sooner fitted than flat noise, the share that other flat points
    are later than reconstructions; steps are means over runs."""
    for record in records:
        first = fitted(record).mean()
        for points, name in (("components", "components"), ("scaled_noise", "noise")):
            late = first[[points, FLAT]] - first[CURVED]
            yield Case(name, record.seed, float(late[points] / late[FLAT]))


CURVED, FLAT = "reconstructions", "noise"
manifold = sharing(
    "spectral-figa10-",
    figure="A.10",
    experiments=("spectral/manifolds",),
    tables=("evals",),
    holds=above(0.9),
    unit=percent,
)

CLAIMS = (
    manifold(
        "easier",
        says="White noise is easier to learn on reconstructions of digits than on flat noise",
        paper="harder",
        number="share of runs whose training loss is lower on the reconstructions",
        statistic=easier({(CURVED, FLAT): ""}),
        threshold="ours: 9 of 10 runs at each of four steps",
        also=(f"share whose loss is first below {FITTED} on reconstructions", sooner),
    ),
    manifold(
        "curved",
        says="It is easier because the digits' manifold is curved",
        paper="flat",
        number="share of runs whose training loss is lower on the reconstructions than on digits "
        "in 64 principal components, and than on flat noise at the same mean distance",
        statistic=easier(
            {(CURVED, "components"): "components, ", (CURVED, "scaled_noise"): "noise, "}
        ),
        threshold="ours: 9 of 10 runs at each of four steps; both are flat, and as far apart as "
        "digits are",
        seen="this was written: in a trial of 200 points on a smaller network, flat points at the "
        "digits' distances were learned sooner than flat noise as printed",
        also=(f"share of the gain in steps to a loss of {FITTED} that they leave", left_by_flat),
    ),
)
