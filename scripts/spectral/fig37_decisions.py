"""Figure 3.7: two networks that differ in their first weights alone, in the plane.

The square is [-1.6, 1.6]^2, the signal has k = 200 on 20 petals. Dark: class 1 for the network.
Lines: log-odds of ±1 and ±4. Dots: the points trained on, of class 1 orange, of class 0 blue. The
networks agree on nearly all of them; they differ between the petals, and agree again far from the
curve.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.theory.spectral.dft import grid
from ntkexp.theory.spectral.manifold import petals

FIGURE = "3.7"


def make(options: drawing.Options) -> Figure:
    record = runs.one(options.experiment, options.runs, ["decision_map"])
    maps = record.tables["decision_map"]
    networks = sorted(maps["seed"].unique())
    reach = float(record.config["probe.decision_map.half_width"])
    size = (drawing.PAGE, drawing.PAGE / len(networks) + 0.6)
    figure, panels = drawing.subplots(1, len(networks), figsize=size, squeeze=False)
    for axes, seed in zip(panels.flat, networks, strict=True):
        plane(axes, maps[maps["seed"] == seed], reach)
        points(axes, record)
        axes.set_title(f"first weights of seed {seed}")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, markerscale=6)
    return figure


def plane(axes: Axes, table: pd.DataFrame, reach: float) -> None:
    logits = table.pivot(index="row", columns="column", values="logit").to_numpy()
    extent = (-reach, reach, -reach, reach)
    axes.imshow(logits > 0, origin="lower", extent=extent, cmap="Greys", vmin=-1, vmax=3)
    line = np.linspace(-reach, reach, len(logits), endpoint=False)
    axes.contour(line, line, np.abs(logits), levels=[1, 4], colors="0.5", linewidths=0.5)
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.spines[["top", "right"]].set_visible(True)


def points(axes: Axes, record: Record) -> None:
    from ntkexp.data.petal_classes import PetalClasses  # brings torch along

    data = {key.removeprefix("data."): value for key, value in record.config.items()
            if key.startswith("data.")}  # fmt: skip
    signal = PetalClasses(**data)
    z = grid(signal.train_examples)
    where, classes = petals(z, signal.petals), signal.classes_at(z, record.seed)
    for value, colour in ((0, drawing.BLUE), (1, drawing.VERMILION)):
        label = f"trained on, class {value}"
        axes.plot(*where[classes == value].T, ".", color=colour, markersize=1, label=label)


main = drawing.main(__file__, __doc__, "spectral/decision_maps", make, __name__)
