"""Runs on data with wrong labels, along their loss on the examples whose labels are right.

George's thesis, section 5.3.2.2, compares regimes at equal loss on clean examples. Phase 1 learns
those alone, and the loss of the noisy ones rises; phase 2, memorisation, begins where it peaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ntkexp.papers.lazy.spurious_curves import at_level, longest
from ntkexp.results.record import Record

KEYS = ("experiment", "alpha", "lr", "seed")
MEASURES = ("relus", "kernel", "representation")
# A peak counts once the curve has come down from it by so much.
TURNED = 0.1
SMOOTH = 3


def looks(records: Iterable[Record]) -> pd.DataFrame:
    """A row a look at a network: `KEYS` and `step`; `clean`, `noisy` and `test`, losses;
    `clean_known`, `noisy_known` and `test_known`, accuracies; the measures of linearity where there
    are some."""
    runs = [_of_run(record) for record in records]
    of_family = [run.assign(family=run["experiment"].map(family)) for run in runs]
    return longest(of_family, ["family", "alpha", "lr", "seed"]).drop(columns="family")


def _of_run(record: Record) -> pd.DataFrame:
    evals = keyed(record, record.tables["evals"])
    train, test = (evals[evals["split"] == split] for split in ("train", "test"))
    parts = {
        "clean": train[train["subset"] == "intact"],
        "noisy": train[train["subset"] == "noisy"],
        "test": test[test["subset"] == "all"],
    }
    at = [*KEYS, "step"]
    columns: dict[str, pd.Series] = {}
    for name, rows in parts.items():
        by_look = rows.set_index(at)
        columns |= {name: by_look["loss"], f"{name}_known": by_look["accuracy"]}
    if "linearity" in record.tables:
        seen = keyed(record, record.tables["linearity"])
        measured = seen[seen["split"] == "train"].set_index(at)
        columns |= {name: measured[name] for name in MEASURES}
    return pd.DataFrame(columns).reset_index().sort_values(at)


def keyed(record: Record, table: pd.DataFrame) -> pd.DataFrame:
    """A table with `KEYS`: members of a run have theirs as columns, other runs in their config."""
    return table.assign(
        experiment=record.experiment,
        alpha=table.get("transform.alpha", record.config.get("transform.alpha")),
        lr=table.get("optim.lr", record.config.get("optim.lr")),
        seed=table.get("seed", record.seed),
    )


def networks(found: pd.DataFrame) -> Iterator[tuple[tuple[str, float, float, int], pd.DataFrame]]:
    """((experiment, alpha, rate, seed), its looks in order)."""
    for key, frame in found.groupby([*KEYS], sort=True):
        experiment, alpha, lr, seed = map(str, key)
        yield (experiment, float(alpha), float(lr), int(seed)), frame.sort_values("step")


def smoothed(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A running median, so that the spike of one look decides nothing."""
    return frame[column].rolling(SMOOTH, center=True, min_periods=1).median().to_numpy()


def onset(frame: pd.DataFrame) -> float:
    """The clean loss where the noisy loss peaks; no number unless it has come down from there."""
    noisy = smoothed(frame, "noisy")
    if noisy[-1] > (1 - TURNED) * noisy.max():
        return float("nan")
    return float(smoothed(frame, "clean")[int(noisy.argmax())])


def at_clean(frame: pd.DataFrame, column: str, losses: Sequence[float]) -> np.ndarray:
    """A column where the clean loss first falls to each loss; no number where it does not."""
    progress, value = -frame["clean"].to_numpy(), frame[column].to_numpy()
    return np.array([at_level(progress, value, -loss) for loss in losses])


def pairs(
    found: pd.DataFrame, first: Mapping[str, float], second: Mapping[str, float]
) -> Iterator[tuple[str, int, pd.DataFrame, pd.DataFrame]]:
    """(experiment, seed, looks of the one, of the other): networks of one seed that differ in these
    values of `alpha` and `lr`. Experiments that differ in their regime alone are one."""
    one, other = (
        {(family(name), seed): frame for (name, *rest, seed), frame in networks(_where(found, at))}
        for at in (first, second)
    )
    for name, seed in sorted(one.keys() & other.keys()):
        yield name, seed, one[name, seed], other[name, seed]


def _where(found: pd.DataFrame, values: Mapping[str, float]) -> pd.DataFrame:
    for key, value in values.items():
        found = found[np.isclose(found[key], value)]
    return found


def family(experiment: str) -> str:
    """`lazy/noise_vgg11_lazy` is the other regime of `lazy/noise_vgg11`, and `lazy/rates_mlp` has
    the other rates of `lazy/noise_mlp`.

    >>> family("lazy/noise_vgg11_lazy"), family("lazy/rates_mlp")
    ('lazy/noise_vgg11', 'lazy/noise_mlp')
    """
    return experiment.removesuffix("_lazy").replace("rates_", "noise_")
