"""Figure 1: kernels of networks trained on linear targets (above) and on their signs (below).

Columns: initial kernel, adapted kernel, label kernel r r^T with r = f - f_0, of one seed's 500
points in rising order of the linear target; colours end at the paper's 4, 10 and 2. Last column:
cosine of adapted and label kernel (dot) and of initial and label kernel (ring), every seed.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "1"
TASK = "data.targets"
TASKS = (("linear", "linear targets"), ("sign", "their signs"))
# The paper's colour scales (B.1).
KERNELS = (
    ("initial", "initial $K_0$", 4.0),
    ("average", "adapted $K$", 10.0),
    ("residual", "label $K_{\\hat y}$", 2.0),
)


def draw(cells: pd.DataFrame, cosines: pd.DataFrame) -> Figure:
    figure, panels = plt.subplots(
        2, 4, figsize=(drawing.PAGE, 3.4), width_ratios=[1.0, 1.0, 1.0, 0.8]
    )
    first = cells["seed"].min()
    for row, (task, label) in enumerate(TASKS):
        own = cells[(cells[TASK] == task) & (cells["seed"] == first)]
        for axes, (kernel, title, most) in zip(panels[row], KERNELS, strict=False):
            shown = image(axes, own[own["kernel"] == kernel], most)
            figure.colorbar(shown, ax=axes, shrink=0.8, pad=0.02)
            if row == 0:
                axes.set_title(title)
        panels[row, 0].set_ylabel(label)
        similarity(panels[row, 3], cosines[cosines[TASK] == task], float(cosines["cosine"].max()))
    panels[0, 3].set_title("cosine with $K_{\\hat y}$")
    panels[1, 3].set_xlabel("seed")
    return figure


def image(axes: Axes, cells: pd.DataFrame, most: float) -> plt.cm.ScalarMappable:
    values = cells.pivot(index="row", columns="column", values="value").to_numpy()
    axes.set(xticks=[], yticks=[])
    return axes.imshow(values, vmin=min(0.0, float(np.min(values))), vmax=most)


def similarity(axes: Axes, cosines: pd.DataFrame, most: float) -> None:
    chosen = cosines[cosines["second"] == "residual"]
    for kernel, fill in (("initial", "none"), ("average", drawing.BLUE)):
        one = chosen[chosen["first"] == kernel].sort_values("seed")
        axes.plot(
            one["seed"], one["cosine"], "o", color=drawing.BLUE, markerfacecolor=fill, markersize=4
        )
    mean = chosen[chosen["first"] == "average"]["cosine"].mean()
    axes.axhline(mean, color=drawing.BLUE, linewidth=0.6)
    axes.annotate(f"mean {mean:.2f}", (0, mean), (0, 2), textcoords="offset points", fontsize=6.5)
    axes.set_ylim(0, 1.05 * min(most, 0.7))


TABLES = ("adapted_cells", "adapted_cosines")
main = drawing.main(__file__, __doc__, "adaptive/label_kernel", drawing.of_one_run(TABLES, draw))

if __name__ == "__main__":
    sys.exit(main())
