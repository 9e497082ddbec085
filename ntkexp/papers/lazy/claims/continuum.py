"""Ours, no figure of the thesis: onset of memorisation and linearity over alpha and width.

The second phase, in which wrong labels are memorised, begins where their loss is at its peak; its
onset is the loss of the examples with their own labels there (section 5.3.2). The thesis compares
alpha = 1 and 100: onset is at a lower loss for alpha = 1, whose training is less linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import sub
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Section, above, sharing
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import Group, Groups, by
from ntkexp.papers.lazy.curves import at_level, onset
from ntkexp.results.record import Record

EXPERIMENTS = ("lazy/continuum",)
# The loss of examples with their own labels at which linearity is compared: before any onset.
CLEAN_LOSS = 1.0
ONE_ONSET = (
    "onset by running medians and a fall of a tenth, as in Figure 5.2, took the place of the "
    "highest look and a fall of a twentieth"
)


class Point(NamedTuple):
    """One network; not a number where it did not come so far."""

    width: int
    alpha: float
    seed: int
    onset: float
    kernel: float
    relus: float


def points(record: Record) -> Iterator[Point]:
    """Onset, and linearity on test examples at `CLEAN_LOSS`, of every network of a run."""
    keys = ["transform.alpha", "seed"]
    evals, linearity = record.tables["evals"], record.tables["linearity"]
    evals = evals[evals["split"] == "train"]
    linearity = linearity[linearity["split"] == "test"]
    measured = {str(key): rows.set_index("step") for key, rows in linearity.groupby(keys)}
    for key, rows in evals.groupby(keys):
        losses = rows.pivot(index="step", columns="subset", values="loss")
        clean = losses.rename(columns={"intact": "clean"})
        looked = measured[str(key)]
        kernel, relus = (at_loss(losses["intact"], looked[name]) for name in ("kernel", "relus"))
        alpha, seed = (float(str(value)) for value in key)
        width = int(record.config["model.width"])
        yield Point(width, alpha, int(seed), onset(clean), kernel, relus)


def at_loss(losses: pd.Series, values: pd.Series) -> float:
    """The value, between two looks, where a loss first falls to `CLEAN_LOSS`."""
    both = pd.concat([losses, values], axis=1, join="inner").dropna().to_numpy(dtype=float)
    return at_level(-both[:, 0], both[:, 1], -CLEAN_LOSS)


def means(records: Sequence[Record], column: str) -> pd.DataFrame:
    """Mean over seeds, (widths, alphas); not a number where a seed did not come so far."""
    frame = pd.DataFrame([point for record in records for point in points(record)])
    if not len(frame):
        return pd.DataFrame()
    cells = frame.groupby(["width", "alpha"])[column]
    return cells.apply(lambda seeds: seeds.mean(skipna=False)).unstack("alpha")


def widths(column: str) -> Groups:
    """(panel, seed, means over seeds by alpha, of the alphas that came so far)."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        for width, row in means(records, column).iterrows():
            yield f"width {width}", 0, row.dropna()

    return groups


def along_alpha(by_alpha: pd.Series) -> float:
    """Rank correlation with alpha; two alphas say nothing."""
    if len(by_alpha) < 3:
        return float("nan")
    return spearman(by_alpha.index.to_numpy(dtype=float), by_alpha)


def two_ends(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, onset of alpha = 100, onset of alpha = 1), the thesis' own comparison, at the
    widths of which every seed came so far."""
    onsets = {(p.width, p.alpha, p.seed): p.onset for record in records for p in points(record)}
    for width in sorted({width for width, *_ in onsets}):
        seeds = sorted({seed for w, _, seed in onsets if w == width})
        pairs = [[onsets.get((width, alpha, seed), np.nan) for alpha in (100.0, 1.0)]
                 for seed in seeds]  # fmt: skip
        if np.isfinite(pairs).all():
            for seed, (lazy, plain) in zip(seeds, pairs, strict=True):
                yield f"width {width}", seed, lazy, plain


claim = sharing(
    "lazy-continuum-",
    figure="ours",
    experiments=EXPERIMENTS,
    tables=("evals", "linearity"),
    threshold="ours, written after a trial at width 32",
    section=Section.ours,
)


CLAIMS = (
    claim(
        "ends",
        says="Ours: memorisation begins at a lower clean loss for alpha = 1 than for alpha = 100, "
        "for every width",
        paper="lower for alpha = 1, of ResNet18 on CIFAR-10",
        number="clean loss at the peak of the noisy loss, by running medians, alpha = 100 less "
        "alpha = 1",
        statistic=by(two_ends)(sub),
        holds=above(0.0),
        seen=f"the mean of three seeds became each of them; {ONE_ONSET}",
    ),
    claim(
        "onset",
        says="Ours: the lower alpha, the lower the clean loss at which memorisation begins",
        paper="not said",
        number="rank correlation of alpha and the clean loss at the peak of the noisy loss, by "
        "running medians, over the alphas that came so far in every seed",
        statistic=by(widths("onset"))(along_alpha),
        holds=above(0.7),
        seen=ONE_ONSET,
    ),
    claim(
        "linearity",
        says="Ours: the lower alpha, the less linear training is at a clean loss of 1",
        paper="alpha = 100 stays near 1, alpha = 1 falls",
        number="rank correlation of alpha and the alignment of the kernel with that of the start",
        statistic=by(widths("kernel"))(along_alpha),
        holds=above(0.9),
    ),
)
