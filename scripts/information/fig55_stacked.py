"""Figure 5.5: three digits in three channels, and what generators draw, with MINE and without.

A quarter of the channels, after 32,000 iterations; one seed, in brackets the range over all,
where there are more.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.information.claims.stacked import BETA, last_look
from ntkexp.scripts import drawing, runs

FIGURE = "5.5"
TABLES = ("stacked_looks", "stacked_samples")
TITLES = {0.0: "DCGAN", 1.0: "DCGAN + MINE"}
SIDE = 28


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, TABLES)
    shown = records[0].tables["stacked_samples"]
    panels = {"data": shown[shown["image"] < 0]}
    for beta, title in TITLES.items():
        of_beta = sorted(
            (record for record in records if record.config[BETA] == beta),
            key=lambda record: record.seed,
        )
        if of_beta:
            modes = [int(last_look(record)["captured"]) for record in of_beta]
            samples = of_beta[0].tables["stacked_samples"]
            others = f" ({min(modes)} to {max(modes)})" if len(modes) > 1 else ""
            words = f"{title}\n{modes[0]} of 1,000 triples{others}"
            panels[words] = samples[samples["image"] >= 0]
    figure, row = drawing.subplots(
        1, len(panels), figsize=(drawing.PAGE, 2.65), squeeze=False
    )  # fmt: skip
    for axes, (title, pixels) in zip(row[0], panels.items(), strict=True):
        axes.imshow(sheet(pixels))
        axes.set(title=title, xticks=[], yticks=[])
    return figure


def sheet(pixels: pd.DataFrame) -> np.ndarray:
    """Images of as many rows as columns, side by side."""
    ordered = pixels.sort_values(["image", "row", "column"])
    images = ordered[["red", "green", "blue"]].to_numpy(np.uint8).reshape(-1, SIDE, SIDE, 3)
    side = int(len(images) ** 0.5)
    grid = images[: side**2].reshape(side, side, SIDE, SIDE, 3).swapaxes(1, 2)
    whole: np.ndarray = grid.reshape(side * SIDE, side * SIDE, 3)
    return whole


main = drawing.main(__file__, __doc__, "information/stacked", make, __name__)
