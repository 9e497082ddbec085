"""Training losses over epochs, updates or time: what Figures 4.3 to 4.6 and A.1 to A.5 share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ntkexp.papers.curvature.claims.autoencoder import NAMES, losses
from ntkexp.papers.curvature.claims.seconds import seconds_of
from ntkexp.papers.curvature.claims.vgg11 import IMAGES
from ntkexp.results.record import Record
from ntkexp.scripts import drawing

COLOURS = {
    "KFAC": drawing.VERMILION,
    "EKFAC": drawing.BLUE,
    "EKFAC-ra": drawing.GREEN,
    "KFAC, batches of 200": drawing.ORANGE,
    "SGD": drawing.PURPLE,
    "SGD, batch norm": drawing.SKY,
    "Adam": drawing.BLACK,
}
# Of the smallest batches to the largest; of one size the last.
STYLES = (":", "--", "-")


def axis_of(
    run: Record, images: int, update_seconds: pd.DataFrame | None = None
) -> NDArray[np.float64]:
    """The looks of a run in epochs, or in minutes of a core if the seconds of updates are given."""
    if update_seconds is not None:
        return seconds_of(run, update_seconds) / 60
    steps = losses(run.tables["evals"]).index.to_numpy(float)
    return np.asarray(steps * int(run.config["optim.batch_size"]) / images, np.float64)


def method_and_size(run: Record) -> tuple[str, int]:
    return NAMES[str(run.config["optim.second"])], int(run.config["optim.batch_size"])


def by_size(
    axes: Axes, records: Sequence[Record], what: str, update_seconds: pd.DataFrame | None = None
) -> None:
    """A line a run; `what` is `epoch`, `update`, or `minutes of a core`, which needs seconds."""
    sizes = sorted({method_and_size(record)[1] for record in records})
    styles = dict(zip(reversed(sizes), reversed(STYLES), strict=False))
    for record in sorted(records, key=method_and_size):
        method, size = method_and_size(record)
        values = losses(record.tables["evals"])
        x = values.index if what == "update" else axis_of(record, IMAGES, update_seconds)
        axes.plot(x, values, styles[size], color=COLOURS[method], label=f"{method}, {size:,}")
    axes.set(xlabel=what, ylabel="training loss", yscale="log")
