"""Training losses of second-order optimisers on a VGG11, over epochs, updates or time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ntkexp.papers.curvature.claims.autoencoder import NAMES, losses
from ntkexp.papers.curvature.claims.seconds import seconds_of
from ntkexp.papers.curvature.claims.vgg11 import IMAGES
from ntkexp.results.record import Record
from ntkexp.scripts import drawing

COLOURS = dict(zip(NAMES, (drawing.VERMILION, drawing.BLUE, drawing.GREEN), strict=True))
# Of the smallest batches to the largest; of one size the last.
STYLES = (":", "--", "-")


def over(
    axes: Axes, records: Sequence[Record], what: str, update_seconds: pd.DataFrame | None = None
) -> None:
    """A line a run; `what` is `epoch`, `update`, or `minutes of a core`, which needs seconds."""
    sizes = sorted({int(record.config["optim.batch_size"]) for record in records})
    styles = dict(zip(reversed(sizes), reversed(STYLES), strict=False))
    for record in records:
        second = str(record.config["optim.second"])
        size = int(record.config["optim.batch_size"])
        values = losses(record.tables["evals"])
        x = values.index.to_numpy()
        if what == "epoch":
            x = x * size / IMAGES
        elif update_seconds is not None:
            x = seconds_of(record, update_seconds) / 60
        label = f"{NAMES[second]}, {size:,}"
        axes.plot(x, values, styles[size], color=COLOURS[second], label=label)
    axes.set(xlabel=what, ylabel="training loss", yscale="log")
