"""Figure 4.3: a deep auto-encoder of MNIST by five optimisers.

a, training loss and b, held-out loss over epochs, in nats an image: means of three seeds, least and
most. KFAC, EKFAC and EKFAC-ra compute factors or basis every 50 updates; SGD and Adam have batch
normalisation. c, the training loss at half width on 12,000 images after 20 epochs in batches of
200, a point for each learning rate and damping; crosses diverged. The thesis' panel over seconds is
not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure

from ntkexp.papers.curvature.claims.autoencoder import (
    METHODS,
    NAMES,
    SEARCH,
    STEPS_PER_EPOCH,
    losses,
)
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "4.3"
PIXELS = 784
COLOURS = dict(zip(METHODS, drawing.PALETTE, strict=False))


def make(options: drawing.Options) -> Figure:
    *methods, search = options.experiments
    trained = runs.chosen_of(methods, options.runs, ["evals"])
    searched = runs.needed(search, options.runs, ["search"])
    figure = Figure(figsize=(drawing.PAGE, 4.4))
    top, bottom = figure.subfigures(2, 1)
    above, below = top.subplots(1, 2), bottom.subplots(1, 3, sharex=True, sharey=True)
    for panel, split in zip(above, ("train", "test"), strict=True):
        along(panel, trained, split)
    points(bottom, list(below), searched)
    drawing.letter_panels([*above, below[0]])
    return figure


def along(axes: Axes, records: Sequence[Record], split: str) -> None:
    for method, experiment in METHODS.items():
        curves = [
            losses(record.tables["evals"], split)
            for record in records
            if record.experiment == experiment
        ]
        if curves:
            epochs = curves[0].index.to_numpy() / STEPS_PER_EPOCH
            values = PIXELS * np.stack([curve.to_numpy() for curve in curves])
            drawing.mean_and_band(axes, epochs, values, colour=COLOURS[method], label=method)
    words = {"train": "training loss", "test": "held-out loss"}
    axes.set(xlabel="epoch", ylabel=f"{words[split]} (nats)", yscale="log")
    axes.legend()


def points(figure: SubFigure, axes: list[Axes], records: Sequence[Record]) -> None:
    """A panel a method, all with one colour bar."""
    ends: dict[str, pd.DataFrame] = {}
    for record in records:
        table, second = record.tables["search"], record.config.get("study.optim.second")
        if second is not None:  # a baseline has no damping
            ends[NAMES[str(second)]] = table[table["epoch"] == table["epoch"].max()]
    every = np.concatenate([PIXELS * frame["train_loss"].to_numpy() for frame in ends.values()])
    finite = every[np.isfinite(every)]
    scale = LogNorm(finite.min(), finite.max())
    for panel, name in zip(axes, NAMES.values(), strict=True):
        if name not in ends:
            continue
        frame = ends[name]
        lost = ~np.isfinite(frame["train_loss"])
        panel.scatter(frame["lr"][lost], frame["damping"][lost], marker="x", color="grey", s=12)
        image = panel.scatter(
            frame["lr"][~lost],
            frame["damping"][~lost],
            c=PIXELS * frame["train_loss"][~lost],
            norm=scale,
            s=18,
        )
        panel.set(xscale="log", yscale="log", xlabel="learning rate", title=name)
    axes[0].set_ylabel("damping")
    figure.colorbar(image, ax=axes, label="training loss (nats)")


main = drawing.main(__file__, __doc__, ",".join([*METHODS.values(), SEARCH]), make, __name__)
