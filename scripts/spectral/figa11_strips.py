"""Figure A.11: paths between adversarials that ResNet20 takes for airplanes.

Beside a strip: the classes of the images that its ends were made from; below an image: the
probability of airplane.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "A.11"
TABLES = ("image_paths", "path_strips")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def between(ends: str, paths: pd.DataFrame, pixels: pd.DataFrame) -> Figure:
    """The strips of pairs of one kind."""
    facts = paths[paths["class"] == 0].set_index("pair")
    strips = pixels[pixels["ends"] == ends]
    pairs, places = strips["pair"].unique(), strips["place"].nunique()
    size = (drawing.PAGE, 1.1 * len(pairs))
    figure, grid = drawing.subplots(len(pairs), places, figsize=size, squeeze=False)
    for row, pair in zip(grid, pairs, strict=True):
        strip = strips[strips["pair"] == pair].sort_values(["place", "row", "column"])
        for axes, (_, image) in zip(row, strip.groupby("place"), strict=True):
            colours = image[["red", "green", "blue"]].to_numpy(dtype=np.uint8)
            axes.imshow(colours.reshape(image["row"].nunique(), -1, 3))
            axes.set(xticks=[], yticks=[])
            axes.set_xlabel(f"{image['certainty'].iloc[0]:.3f}", labelpad=1)
        row[0].set_ylabel(CLASSES[facts.loc[pair, "first_label"]])
        row[-1].yaxis.set_label_position("right")
        row[-1].set_ylabel(CLASSES[facts.loc[pair, "second_label"]])
    return figure


draw = partial(between, "adversarials")
main = drawing.main(__file__, __doc__, "spectral/paths", drawing.of_one_run(TABLES, draw), __name__)
