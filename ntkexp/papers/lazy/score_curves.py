"""Runs on examples in tenths by their C-score, along their mean training loss.

George's thesis, section 5.3.2.1, compares regimes at equal mean training loss. `decile1` has the
lowest scores, the hardest examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.papers.lazy.noise_curves import MEASURES, keyed
from ntkexp.papers.lazy.spurious_curves import at_level
from ntkexp.results.record import Record
from ntkexp.theory.float64 import Array

KEYS = ("experiment", "alpha", "seed")
TENTHS = tuple(f"decile{place}" for place in range(1, 11))
LOWEST, HIGHEST = TENTHS[0], TENTHS[-1]


def looks(records: Iterable[Record]) -> pd.DataFrame:
    """A row a look at a network: `KEYS` and `step`; `all` and each tenth, training losses; the same
    with `_known`, accuracies; the measures of linearity where there are some."""
    return pd.concat([_of_run(record) for record in records], ignore_index=True)


def _of_run(record: Record) -> pd.DataFrame:
    at = [*KEYS, "step"]
    evals = keyed(record, record.tables["evals"])
    train = evals[evals["split"] == "train"]
    wide = train.pivot_table(index=at, columns="subset", values=["loss", "accuracy"])
    columns: dict[str, pd.Series] = {}
    for name in ("all", *TENTHS):
        columns |= {name: wide["loss", name], f"{name}_known": wide["accuracy", name]}
    if "linearity" in record.tables:
        seen = keyed(record, record.tables["linearity"])
        measured = seen[seen["split"] == "train"].set_index(at)
        columns |= {name: measured[name] for name in MEASURES}
    return pd.DataFrame(columns).reset_index().sort_values(at)


def networks(found: pd.DataFrame) -> Iterator[tuple[tuple[str, float, int], pd.DataFrame]]:
    """((experiment, alpha, seed), its looks in order)."""
    for key, frame in found.groupby([*KEYS], sort=True):
        experiment, alpha, seed = map(str, key)
        yield (experiment, float(alpha), int(seed)), frame.sort_values("step")


def pairs(found: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame, pd.DataFrame]]:
    """(experiment, seed, looks at alpha = 100, at alpha = 1): both regimes of one seed.

    Experiments that differ in their regime alone are one.
    """
    by_alpha: dict[float, dict[tuple[str, int], pd.DataFrame]] = {}
    for (name, alpha, seed), frame in networks(found):
        by_alpha.setdefault(alpha, {})[name.removesuffix("_lazy"), seed] = frame
    lazy, plain = by_alpha.get(100.0, {}), by_alpha.get(1.0, {})
    for name, seed in sorted(lazy.keys() & plain.keys()):
        yield name, seed, lazy[name, seed], plain[name, seed]


def at_mean_loss(frame: pd.DataFrame, column: str, losses: Sequence[float]) -> Array:
    """A column where the mean training loss first falls to each; not a number where it does not."""
    progress, value = -frame["all"].to_numpy(), frame[column].to_numpy()
    return np.array([at_level(progress, value, -loss) for loss in losses])


def at_accuracy(frame: pd.DataFrame, column: str, accuracies: Sequence[float]) -> Array:
    """A column where the training accuracy first comes to each; not a number where it does not."""
    progress, value = frame["all_known"].to_numpy(), frame[column].to_numpy()
    return np.array([at_level(progress, value, level) for level in accuracies])
