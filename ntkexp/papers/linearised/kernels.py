"""Kernels before and after training: their alignment with eigenfunctions, the energy of labels in
their leading eigenvectors, and whose eigenfunctions a network is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.papers.linearised.tasks import INDEX, Pair, net_of, pairs
from ntkexp.results.record import Record

KERNELS = {"linearised/mlp_kernel": "MLP", "linearised/lenet_kernel": "LeNet"}  # of Figure 7
# Ours: whose eigenfunctions is a network worse at than its linearisation?
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


class Trained(NamedTuple):
    """A network that was trained on the eigenfunction `task`. `alignments` are by j, with the
    columns start, end and trace_ratio, `axes` the R^2 by axis, both of images of one split."""

    experiment: str
    seed: int
    task: int
    split: str
    alignments: pd.DataFrame
    axes: pd.Series

    @property
    def title(self) -> str:
        return KERNELS[self.experiment]

    @property
    def ratios(self) -> pd.Series:
        """alpha_T / alpha_0 by j."""
        ratios: pd.Series = self.alignments["end"] / self.alignments["start"]
        return ratios

    @property
    def over_trace(self) -> pd.Series:
        """alpha_T / alpha_0 by j, over tr K_T / tr K_0."""
        return self.ratios / self.alignments["trace_ratio"]

    @property
    def over_sum(self) -> pd.Series:
        """alpha_T / alpha_0 by j, over the growth of their sum."""
        return self.ratios / (self.alignments["end"].sum() / self.alignments["start"].sum())

    @property
    def others(self) -> np.ndarray:
        """The ratios of all eigenfunctions but the one that was trained on."""
        return self.ratios.drop(self.task).to_numpy(dtype=float)


def trained(records: Iterable[Record]) -> list[Trained]:
    """Every network of these runs on each split, those of an experiment by their tasks."""
    nets = list(each_trained(records))
    order = [*dict.fromkeys(net.experiment for net in nets)]
    return sorted(nets, key=lambda net: (order.index(net.experiment), net.task))


def each_trained(records: Iterable[Record]) -> Iterator[Trained]:
    for record in records:
        keys = {"alignments": "function_alignment", "axes": "one_axis"}
        alignments, axes = (
            table if INDEX in table else table.assign(**{INDEX: record.config[INDEX]})
            for table in (record.tables[name] for name in keys.values())
        )
        for (index, split), rows in alignments.groupby([INDEX, "split"], sort=True):
            axis_rows = axes[(axes[INDEX] == index) & (axes["split"] == split)]
            yield Trained(
                record.experiment,
                record.seed,
                int(str(index)),
                str(split),
                rows.set_index("index").sort_index(),
                axis_rows.set_index("axis")["r_squared"],
            )


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


def energies(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """By net the table of energy concentrations of its run on CIFAR2, by step."""
    return {
        net_of(record): record.tables["energy_concentration"].set_index("step").sort_index()
        for record in records
        if "energy_concentration" in record.tables
    }
