"""Accuracies along runs with a spurious attribute, and one accuracy at a level of another.

George's thesis, section 5.3.3, compares regimes at equal progress: accuracy without the attribute
at equal accuracy with it, and test accuracy at equal training accuracy, as its authors' code draws
it. The test set is balanced: every pair of label and attribute is equally frequent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.results.record import Record

ALPHA, SEED = "transform.alpha", "seed"
LINEARISED = float("inf")  # what alpha-scaled networks come to
ALPHAS = (0.5, 1.0, 100.0)
# From the celeba kind to the waterbirds kind, real sets first.
CELEBA_KIND = ("lazy/celeba", "lazy/spurious_cifar", "lazy/celeba_kind")
WATERBIRDS_KIND = ("lazy/waterbirds", "lazy/waterbirds_kind", "lazy/spurious_mlp")
# The linearised networks of an experiment are drawn with its others.
LIMITS = {
    "lazy/spurious_linear": "lazy/spurious_mlp",
    "lazy/spurious_linear_long": "lazy/spurious_mlp",
}
NETWORK = ("experiment", "alpha", "seed")
EXPERIMENTS = (*CELEBA_KIND, *WATERBIRDS_KIND)
TITLES = {
    "lazy/celeba": "CelebA",
    "lazy/waterbirds": "Waterbirds",
    "lazy/celeba_kind": "digits on characters, CelebA's proportions",
    "lazy/spurious_cifar": "patched CIFAR-10",
    "lazy/spurious_mlp": "digits on characters",
    "lazy/waterbirds_kind": "patched CIFAR-10, trained before",
}


def curves(records: Iterable[Record]) -> pd.DataFrame:
    """Columns: experiment, alpha, seed, step, and an accuracy for each split and subset, such as
    `train_with`; one row a look at a network. Without an alpha it is 1, linearised infinite."""
    return longest([_of_run(record, "accuracy") for record in records], NETWORK)


def losses(records: Iterable[Record]) -> pd.DataFrame:
    """Columns as of `curves`, with mean losses in their place."""
    return longest([_of_run(record, "loss") for record in records], NETWORK)


def longest(runs: Iterable[pd.DataFrame], network: Sequence[str]) -> pd.DataFrame:
    """The looks of all runs in one table; a network, told by these columns, that stands in several
    runs has those of the run that came furthest.

    >>> short = pd.DataFrame({"seed": 0, "step": [0, 1], "loss": [2.0, 1.0]})
    >>> long = pd.DataFrame({"seed": 0, "step": [0, 5], "loss": [2.0, 0.5]})
    >>> longest([long, short], ["seed"])["loss"].tolist()
    [2.0, 0.5]
    """
    every = pd.concat([run.assign(run=number) for number, run in enumerate(runs)])
    ends = every.groupby([*network, "run"], as_index=False).agg({"step": "max"})
    kept = ends.sort_values("step").drop_duplicates([*network], keep="last").drop(columns="step")
    return every.merge(kept).drop(columns="run")


def _of_run(record: Record, value: str) -> pd.DataFrame:
    evals = record.tables["evals"]
    linearised = record.config.get("transform.name") == "linearise"
    evals = evals.assign(
        experiment=LIMITS.get(record.experiment, record.experiment),
        alpha=evals.get(ALPHA, LINEARISED if linearised else record.config.get(ALPHA, 1.0)),
        seed=evals.get(SEED, record.seed),
        of=evals["split"] + "_" + evals["subset"],
    )
    keys = [*NETWORK, "step"]
    wide = evals.pivot_table(index=keys, columns="of", values=value)
    wide.columns.name = None
    return wide.reset_index()


def networks(found: pd.DataFrame) -> Iterator[tuple[str, int, dict[float, pd.DataFrame]]]:
    """(experiment, seed, alpha -> looks in order), networks of a seed together."""
    for (experiment, seed), frame in found.groupby(["experiment", "seed"], sort=False):
        by_alpha = {
            float(str(alpha)): looks.sort_values("step") for alpha, looks in frame.groupby("alpha")
        }
        yield str(experiment), int(str(seed)), by_alpha


def at_level(progress: np.ndarray, value: np.ndarray, level: float) -> float:
    """`value` where `progress` first comes to `level`, on the line from the look before; not a
    number where it never does, or is there from the start.

    >>> at_level(np.array([0.5, 0.7, 0.9]), np.array([0.2, 0.4, 0.6]), 0.8).__round__(6)
    0.5
    """
    reached = np.flatnonzero(progress >= level)
    if not len(reached) or reached[0] == 0:
        return float("nan")
    last = int(reached[0])
    part = (level - progress[last - 1]) / (progress[last] - progress[last - 1])
    return float(value[last - 1] + part * (value[last] - value[last - 1]))


def at_levels(looks: pd.DataFrame, of: str, against: str, levels: Iterable[float]) -> np.ndarray:
    """The accuracy `of` where the accuracy `against` first comes to each level."""
    progress, value = looks[against].to_numpy(), looks[of].to_numpy()
    return np.array([at_level(progress, value, level) for level in levels])
