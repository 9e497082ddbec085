"""Figure 4.3: a deep auto-encoder of MNIST by five optimisers.

a, training loss over epochs, b, over processor time, and c, held-out loss over epochs, in nats an
image, from the first epoch on: means of three seeds, least and most. EKFAC lies below the dashes of
EKFAC-ra and KFAC. KFAC, EKFAC and EKFAC-ra compute factors or basis every
50 updates; SGD and Adam have batch normalisation. Time is that of the updates alone, one thread,
measured apart with all in turns. Dotted in a and c, the three with batches of 200 images, one seed,
10 epochs; all others have 500. d, the training loss at half width on 12,000 images after 20
epochs in batches of 200, a point for each learning rate and damping; crosses diverged.
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
    SMALL,
    losses,
)
from ntkexp.papers.curvature.claims.seconds import SECONDS
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import COLOURS, axis_of

FIGURE = "4.3"
PIXELS, IMAGES = 784, 60_000
DASHES = {"EKFAC-ra": "-.", "KFAC": "--"}


def make(options: drawing.Options) -> Figure:
    *methods, small, search, seconds = options.experiments
    trained = runs.chosen_of([*methods, small], options.runs, ["evals"])
    of_small = [record for record in trained if record.experiment == small]
    searched = runs.needed(search, options.runs, ["search"])
    (timing, *_) = runs.needed(seconds, options.runs, ["update_seconds"])
    update_seconds = timing.tables["update_seconds"]
    figure = Figure(figsize=(drawing.PAGE, 4.4))
    top, bottom = figure.subfigures(2, 1)
    above, below = top.subplots(1, 3), bottom.subplots(1, 3, sharex=True, sharey=True)
    along(above[0], trained, "train")
    along(above[1], trained, "train", update_seconds)
    along(above[2], trained, "test")
    dotted(above[0], of_small, "train")
    dotted(above[2], of_small, "test")
    above[0].legend()
    points(bottom, list(below), searched)
    drawing.letter_panels([*above, below[0]])
    return figure


def along(
    axes: Axes, records: Sequence[Record], split: str, update_seconds: pd.DataFrame | None = None
) -> None:
    """Losses over epochs, or over minutes if the seconds of updates are given."""
    for method, experiment in METHODS.items():
        of_method = [record for record in records if record.experiment == experiment]
        if of_method:
            curves = [losses(record.tables["evals"], split) for record in of_method]
            x = axis_of(of_method[0], IMAGES, update_seconds)
            values = PIXELS * np.stack([curve.to_numpy() for curve in curves])
            drawing.mean_and_band(
                axes, x[1:], values[:, 1:], colour=COLOURS[method], label=method,
                linestyle=DASHES.get(method, "-"),
            )  # fmt: skip
    words = {"train": "training loss", "test": "held-out loss"}
    over = "epoch" if update_seconds is None else "minutes of a core"
    axes.set(xlabel=over, ylabel=f"{words[split]} (nats)")


def dotted(axes: Axes, records: Sequence[Record], split: str) -> None:
    """Batches of 200, one seed."""
    for record in records:
        colour = COLOURS[NAMES[str(record.config["optim.second"])]]
        values = PIXELS * losses(record.tables["evals"], split)
        axes.plot(axis_of(record, IMAGES)[1:], values[1:], ":", color=colour)


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


main = drawing.main(
    __file__, __doc__, ",".join([*METHODS.values(), SMALL, SEARCH, SECONDS]), make, __name__
)
