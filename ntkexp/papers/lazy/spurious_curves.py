"""Accuracies along runs with a spurious attribute (George's thesis, section 5.3.3).

The test set is balanced: every pair of label and attribute is equally frequent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import pandas as pd

from ntkexp.papers.lazy.curves import longest
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


def curves(records: Iterable[Record], value: str = "accuracy") -> pd.DataFrame:
    """Columns: experiment, alpha, seed, step, and an accuracy, or a mean `loss`, for each split and
    subset, such as `train_with`; one row a look at a network. Without an alpha it is 1, linearised
    infinite."""
    return longest([_of_run(record, value) for record in records], NETWORK)


@cache  # a dozen claims read the same
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


def networks(all_looks: pd.DataFrame) -> Iterator[tuple[str, int, dict[float, pd.DataFrame]]]:
    """(experiment, seed, alpha -> looks in order), networks of a seed together."""
    for (experiment, seed), frame in all_looks.groupby(["experiment", "seed"], sort=False):
        by_alpha = {
            float(str(alpha)): looks.sort_values("step") for alpha, looks in frame.groupby("alpha")
        }
        yield str(experiment), int(str(seed)), by_alpha
