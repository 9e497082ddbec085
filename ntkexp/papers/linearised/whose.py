"""Ours: whose eigenfunctions is a network worse at than its linearisation?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ntkexp.papers.linearised.axis import trained
from ntkexp.papers.linearised.tasks import Pair, pairs
from ntkexp.results.record import Record

OWN = "linearised/mlp"
KERNEL = "linearised/mlp_kernel"
KINDS = {
    OWN: "its own, all images",
    "linearised/whose_extended": "its own, training images",
    "linearised/whose_seed": "another MLP's",
    "linearised/whose_lenet": "LeNet's",
    "linearised/whose_lenet_seed": "LeNet on another LeNet's",
}
INDICES = (20, 100, 400)


def by_kind(records: Sequence[Record]) -> dict[str, Pair]:
    """The network and its linearisation on tasks of each kind of kernel, at the common indices."""
    selected = {}
    for pair in pairs(records):
        if pair.experiment in KINDS:
            at = pair.network.index.intersection(pd.Index(INDICES))
            selected[pair.experiment] = pair._replace(
                network=pair.network.loc[at], linear=pair.linear.loc[at]
            )
    return {kind: selected[kind] for kind in KINDS if kind in selected}


def alignments(records: Sequence[Record]) -> pd.DataFrame:
    """alpha_0 of the function that is trained on, on training images, (experiments, j)."""
    rows = [
        {"experiment": net.experiment, "j": net.task, "alpha": net.alignments["start"][net.task]}
        for net in trained([r for r in records if "function_alignment" in r.tables])
        if net.split == "train"
    ]
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame(rows).pivot(index="experiment", columns="j", values="alpha")


def with_alignments(records: Sequence[Record]) -> pd.DataFrame:
    """A row a task whose alignment with the own kernel is known: that, and both accuracies."""
    alpha = alignments(records).rename(index={KERNEL: OWN})
    frames = [
        pd.DataFrame(
            {
                "alpha": alpha.loc[pair.experiment],
                "network": pair.network["accuracy"],
                "linear": pair.linear["accuracy"],
            }
        ).dropna()
        for pair in pairs(records)
        if pair.experiment in alpha.index
    ]
    return pd.concat(frames) if frames else pd.DataFrame()
