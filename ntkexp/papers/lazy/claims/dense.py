"""Figure C.9: the examples of Figure 5.4 by a dense linear network (appendix C.7).

The text sees trends like those of Figure 5.4, so these are the statements of that figure, with its
levels. alpha = 10 is the lazy and alpha = 0.1 the hasty regime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import above, below, sharing
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import Group, Groups, by
from ntkexp.papers.lazy.claims.quadratic import HALF
from ntkexp.papers.lazy.curves import at_level
from ntkexp.results.record import Record
from ntkexp.theory.lazy.quadratic_model import minority

EXPERIMENTS = ("lazy/dense_examples",)
HASTY, LAZY = 0.1, 10.0
# The rank correlation of five after one swap of neighbours is 0.9; below it by rounding.
ONE_SWAP = 0.899
LEVELS = (0.4, 0.3, 0.2, 0.1)


def losses_of(record: Record) -> Iterator[tuple[float, int, pd.DataFrame]]:
    """alpha, seed, and the losses (steps, examples) of each network."""
    snapshot = record.tables["snapshot"]
    for (alpha, seed), rows in snapshot.groupby(["transform.alpha", "seed"]):
        yield (
            float(str(alpha)),
            int(str(seed)),
            rows.pivot(index="step", columns="example", values="loss"),
        )


def example(record: Record) -> int:
    return int(record.config["data.example"])


def first_below(losses: pd.Series, level: float) -> float:
    """The step, between two looks, at which a loss is first at `level`; no number if it never is.

    >>> first_below(pd.Series([1.0, 0.5, 0.25], index=[0, 10, 20]), 0.75)
    5.0
    """
    return at_level(-losses.to_numpy(dtype=float), losses.index.to_numpy(dtype=float), -level)


def groups(losses: pd.DataFrame, few: int) -> tuple[pd.Series, pd.Series]:
    """Mean losses of the majority and of the minority, the last `few` examples."""
    last = minority(losses.shape[1], few)
    return losses.loc[:, ~last].mean(axis=1), losses.loc[:, last].mean(axis=1)


def networks_of(alpha: float) -> Groups:
    """(panel, seed, losses) of the networks of Example 1 with this alpha."""

    def networks(records: Sequence[Record]) -> Iterator[Group]:
        for record in records:
            for network_alpha, seed, losses in losses_of(record) if example(record) == 1 else ():
                if network_alpha == alpha:
                    yield "", seed, losses

    return networks


def order(losses: pd.DataFrame) -> float:
    """Rank correlation of an example's number with the step at which its loss is halved."""
    halved = [first_below(loss, HALF * loss.iloc[0]) for _, loss in losses.items()]
    return spearman(np.arange(len(halved)), halved)


def regimes(number: int) -> Groups:
    """(panel, seed, hasty losses, lazy losses, examples of the minority) of an example."""

    def networks(records: Sequence[Record]) -> Iterator[Group]:
        for record in (r for r in records if example(r) == number):
            losses = {(alpha, seed): of_net for alpha, seed, of_net in losses_of(record)}
            few = int(record.config["data.q"])
            for seed in sorted({seed for _, seed in losses}):
                yield "", seed, losses[HASTY, seed], losses[LAZY, seed], few

    return networks


def minority_later(hasty: pd.DataFrame, lazy: pd.DataFrame, few: int) -> float:
    """Minority loss at equal majority loss, hasty less lazy, mean over the levels."""
    return float((at_levels(hasty, few) - at_levels(lazy, few)).mean())


def at_levels(losses: pd.DataFrame, few: int) -> np.ndarray:
    """The loss of the minority where that of the majority first comes to each level."""
    majority, minority_ = groups(losses, few)
    steps = [first_below(majority, level) for level in LEVELS]
    losses_ = np.interp(steps, minority_.index.to_numpy(dtype=float), minority_.to_numpy())
    return np.asarray(losses_)


COMMON = {
    "figure": "C.9",
    "paper": "trends similar to Figure 5.4",
    "experiments": EXPERIMENTS,
    "tables": ("snapshot",),
}
order_of_halving = sharing(
    "lazy-figc9-order-",
    number="rank correlation of an example's number with the step its loss is halved",
    threshold="the order of Figure 5.4; ours: neighbours may swap once, as weights are drawn",
    seen="this was written; .9 became .899, for rounding",
    **COMMON,
)
later_minority = sharing(
    "lazy-figc9-",
    number="minority loss at equal majority losses, alpha = 0.1 less alpha = 10, mean over losses "
    "of .4 to .1",
    holds=above(0.0),
    threshold="the sign of the text's word, for every draw of the weights",
    seen="the mean of five draws, by which it holds, became every draw",
    **COMMON,
)

CLAIMS = (
    order_of_halving(
        "lazy",
        says="Example 1, alpha = 10: examples with a lower number are learned faster",
        statistic=by(networks_of(LAZY))(order),
        holds=above(ONE_SWAP),
    ),
    order_of_halving(
        "flips",
        says="Example 1, alpha = 0.1: examples are learned from high to low number",
        statistic=by(networks_of(HASTY))(order),
        holds=below(-ONE_SWAP),
    ),
    later_minority(
        "noise",
        says="Example 2: the non-linear dynamics prioritises learning the clean labels",
        statistic=by(regimes(2))(minority_later),
    ),
    later_minority(
        "spurious",
        says="Example 3: the non-linear dynamics prioritises learning the spuriously correlated "
        "feature",
        statistic=by(regimes(3))(minority_later),
    ),
)
