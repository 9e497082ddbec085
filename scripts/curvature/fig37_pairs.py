"""Figure 3.7: the kernel of two classes along training, and its two leading components.

Top: the tangent kernel of f_1 - f_0 on 50 test images of the classes 0 and 1 each, normalised by
its diagonal. Bottom: the images on the first two components of kernel PCA, with the share that a
line by least squares tells apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.representations import NETWORKS
from ntkexp.scripts import drawing
from ntkexp.scripts.curvature.representation_panels import EXPERIMENTS, records_of

FIGURE = "3.7"
TABLES = ("class_pair_kernel", "class_pair_components", "class_pair_accuracy")


def make(options: drawing.Options) -> dict[str, Figure]:
    return {
        f"_{NETWORKS[record.experiment].lower()}": of_network(record.tables)
        for record in records_of(options, TABLES)
    }


def of_network(tables: Mapping[str, pd.DataFrame]) -> Figure:
    kernels, components, accuracy = (tables[name] for name in TABLES)
    steps = sorted(kernels["step"].unique())
    figure, grid = drawing.subplots(2, len(steps), figsize=(drawing.PAGE, 3.6), squeeze=False)
    first = components[components["pair"] == 0]
    right = accuracy[accuracy["pair"] == 0].set_index("step")["accuracy"]
    for (top, bottom), step in zip(grid.T, steps, strict=True):
        gram = kernels[kernels["step"] == step].pivot(index="row", columns="column", values="value")
        top.imshow(gram, vmin=-1, vmax=1, cmap="RdBu_r")
        top.set(title=f"step {step:,}", xticks=[], yticks=[])
        for label, part in first[first["step"] == step].groupby("label"):
            bottom.scatter(part["first"], part["second"], s=5, label=f"class {label}")
        bottom.set_title(f"{right[step]:.0%} apart")
        bottom.set(xticks=[], yticks=[])
    grid[1][0].legend()
    return figure


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
