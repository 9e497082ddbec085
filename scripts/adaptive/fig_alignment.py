"""How much of a network's alignment do average features carry? Ours, not the paper's.

CKA of three kernels with the labels, centred by class, one dot a seed: at the first weights, of the
average features between the first weights and the last, and at the last weights. Bars: the largest
of 200 values with shuffled labels, of all seeds. a: the main paper's MLP of 6 x 80 on MNIST. b: its
VGG19 with a quarter of the channels on 5,000 images of CIFAR-10. Kernels of 100 training images and
ten outputs.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "ours"
TABLE = "adapted_ckas"
KERNELS = ("initial", "average", "final")
TITLES = {"adaptive/mlp_mnist": "MLP", "adaptive/vgg19": "VGG19"}
SPREAD = 0.3  # between the first seed and the last of one kernel


def make(options: drawing.Options) -> Figure:
    """The first experiment is needed, the second is beside it where it was run."""
    first, *others = options.experiments
    drawn = {first: runs.needed(first, options.runs, [TABLE])}
    for experiment in others:
        if records := runs.chosen(experiment, options.runs, [TABLE]):
            drawn[experiment] = records
    figure, panels = drawing.subplots(
        1, len(drawn), figsize=(0.4 * drawing.PAGE * len(drawn), 2.4), squeeze=False, sharey=True
    )
    for axes, (experiment, records) in zip(panels[0], drawn.items(), strict=True):
        draw(axes, pd.concat([with_seed(record) for record in records]))
        axes.set_title(TITLES.get(experiment, experiment))
    panels[0, 0].set_ylabel("CKA with the labels")
    panels[0, 0].set_ylim(0, None)
    panels[0, 0].legend(loc="center left")
    drawing.letter_panels(panels[0])
    return figure


def with_seed(record: Record) -> pd.DataFrame:
    """The table with a column for the seed, which that of a run of one network lacks."""
    table = record.tables[TABLE]
    return table if "seed" in table else table.assign(seed=record.config["seed"])


def draw(axes: Axes, ckas: pd.DataFrame) -> None:
    for place, kernel in enumerate(KERNELS):
        rows = ckas[ckas["kernel"] == kernel].sort_values("seed")
        beside = np.linspace(-SPREAD, SPREAD, len(rows)) if len(rows) > 1 else np.zeros(1)
        axes.hlines(
            rows["highest"].max(),
            *(place - 1.3 * SPREAD, place + 1.3 * SPREAD),
            color=drawing.VERMILION,
            label="largest of shuffled labels" if place == 0 else None,
        )
        axes.plot(place + beside, rows["cka"], "o", color=drawing.BLUE, markersize=3)
    axes.set_xticks(range(len(KERNELS)), [f"{kernel}\nfeatures" for kernel in KERNELS])


main = drawing.main(__file__, __doc__, "adaptive/mlp_mnist,adaptive/vgg19", make, __name__)
