"""The kernel's alignment with all eigenfunctions, before and after training on one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntkexp.papers.linearised.tasks import INDEX
from ntkexp.results.record import Record

TITLES = {"linearised/mlp_kernel": "MLP", "linearised/lenet_kernel": "LeNet"}  # of Figure 7


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
        return TITLES[self.experiment]

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
