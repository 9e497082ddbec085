"""Figure 1: kernels of networks trained on linear targets (above) and on their signs (below).
The linear targets are those that SGD finds, as in the authors' code.

Columns: initial kernel, adapted kernel, label kernel r r^T with r = f - f_0, of seed 0's 500 points
in rising order of the linear target, each pixel the mean over 10 x 10 pairs, so that colours end
below the largest entries and a pixel of both signs is a line at y = 0. As in the paper, one colour
scale a column. Last column: cosine of adapted and label kernel (dot) and of initial and label
kernel (ring), every seed; lines are means.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "1"
TASK = "data.targets"
TASKS = (("linear", "linear targets"), ("sign", "their signs"))
KERNELS = (
    ("initial", "initial $K_0$"),
    ("average", "adapted $K$"),
    ("residual", "label $K_{\\hat y}$"),
)


def draw(cells: pd.DataFrame, cosines: pd.DataFrame) -> Figure:
    figure, panels = drawing.subplots(
        2, 4, figsize=(drawing.PAGE, 3.4), width_ratios=[1.0, 1.0, 1.0, 1.05]
    )
    first = cells[cells["seed"] == cells["seed"].min()]
    for column, (kernel, title) in enumerate(KERNELS):
        of_kernel = first[first["kernel"] == kernel]
        limits = float(of_kernel["value"].min()), float(of_kernel["value"].max())
        for axes, (task, _) in zip(panels[:, column], TASKS, strict=True):
            drawn = image(axes, of_kernel[of_kernel[TASK] == task], limits)
        figure.colorbar(drawn, ax=list(panels[:, column]), shrink=0.7, pad=0.04)
        panels[0, column].set_title(title)
    for row, (task, label) in enumerate(TASKS):
        panels[row, 0].set_ylabel(label)
        similarity(panels[row, 3], cosines[cosines[TASK] == task])
    panels[0, 3].set_title("cosine with $K_{\\hat y}$")
    panels[1, 3].set_xlabel("seed")
    return figure


def image(axes: Axes, cells: pd.DataFrame, limits: tuple[float, float]) -> ScalarMappable:
    values = cells.pivot(index="row", columns="column", values="value").to_numpy()
    axes.set(xticks=[], yticks=[])
    return axes.imshow(values, vmin=limits[0], vmax=limits[1])


def similarity(axes: Axes, cosines: pd.DataFrame) -> None:
    chosen = cosines[cosines["second"] == "residual"]
    for kernel, word, fill in (
        ("average", "adapted", drawing.BLUE),
        ("initial", "initial", "none"),
    ):
        rows = chosen[chosen["first"] == kernel].sort_values("seed")
        mean = rows["cosine"].mean()
        axes.axhline(mean, color=drawing.BLUE, linewidth=0.6)
        axes.plot(
            *(rows["seed"], rows["cosine"], "o"),
            color=drawing.BLUE,
            markerfacecolor=fill,
            markersize=4,
            label=f"{word}, mean {mean:.2f}",
        )
    axes.set_ylim(0, 0.75)
    axes.set_xticks(sorted(chosen["seed"].unique())[::3])
    axes.legend(loc="upper right", handletextpad=0.0, borderaxespad=0.0, fontsize=6)


TABLES = ("adapted_cells", "adapted_cosines")
main = drawing.main(
    __file__, __doc__, "adaptive/label_kernel_sgd", drawing.of_one_run(TABLES, draw), __name__
)
