"""Figure 5.1: the non-linear and the linear regime on the yin-yang, at equal training loss.

a, the two classes, and the 100 training points of one run. b, training loss of the runs of both
regimes, median and 10th to 90th centile; a run that has ended keeps its last loss. c to e, test
loss of the non-linear less that of the linear network where the training loss of each was first
below .5, .4 and .3, mean over the seeds that both came there: red where the linear one is better,
blue where the non-linear one is. The linear regime is the linearised network, to which alpha = 100
comes but for terms of order 1 / alpha.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ntkexp.scripts import drawing

FIGURE = "5.1"
REGIMES = {"non_linear": ("non-linear", drawing.BLUE), "linear": ("linearised", drawing.VERMILION)}
SQUARE = (-1.0, 1.0, -1.0, 1.0)
CLASSES = ListedColormap(["#DDDDDD", "#FFFFFF"])
FINE = 400


def draw(maps: pd.DataFrame, progress: pd.DataFrame, reached: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(drawing.PAGE, 4.4))
    above, below = figure.subfigures(2, 1)
    levels = sorted(maps["level"].unique(), reverse=True)
    first, second = above.subplots(1, 2, width_ratios=[1, 2])
    _data(first)
    _progress(second, progress, levels)
    limit = float(np.abs(maps["difference"]).max())
    seeds = reached["seed"].nunique()
    panels = list(below.subplots(1, len(levels), squeeze=False)[0])
    for panel, level in zip(panels, levels, strict=True):
        image = _map(panel, maps[maps["level"] == level], limit, seeds)
    bar = below.colorbar(image, ax=panels, location="right", shrink=0.8)
    bar.set_label("test loss, non-linear less linearised")
    drawing.letter_panels((first, second, *panels))
    return figure


def _truth() -> np.ndarray:
    """The class of every point of a fine lattice."""
    from ntkexp.data.disk import lattice
    from ntkexp.data.yin_yang import labels

    return np.asarray(labels(lattice(FINE)).view(FINE, FINE))


def _data(axes: Axes) -> None:
    import torch  # like every figure, this one is imported without it

    from ntkexp import data
    from ntkexp.data.yin_yang import YinYang

    axes.imshow(_truth(), origin="lower", extent=SQUARE, cmap=CLASSES, interpolation="nearest")
    train = data.load(YinYang(), seed=0, device=torch.device("cpu")).train
    for label, (colour, marker) in enumerate(((drawing.BLACK, "o"), (drawing.ORANGE, "^"))):
        x, y = train.inputs[train.targets == label].T.numpy()
        axes.scatter(x, y, s=7, color=colour, marker=marker, linewidths=0)
    _square(axes)


def _progress(axes: Axes, progress: pd.DataFrame, levels: list[float]) -> None:
    for regime, (label, colour) in REGIMES.items():
        rows = progress[(progress["regime"] == regime) & (progress["step"] > 0)]
        axes.fill_between(
            rows["step"], rows["low"], rows["high"], color=colour, alpha=0.2, linewidth=0
        )
        axes.plot(rows["step"], rows["median"], color=colour, label=label)
    for level in levels:
        axes.axhline(level, color="black", linewidth=0.5, linestyle=":")
    drawing.iteration_axis(axes, float(progress["step"].max()), first=100)
    axes.set(ylabel="training loss")
    axes.legend(loc="upper right")


def _map(axes: Axes, rows: pd.DataFrame, limit: float, seeds: int) -> AxesImage:
    grid = rows.pivot(index="y", columns="x", values="difference").to_numpy()
    # The outermost points lie on the sides of the square: half a pixel is cut off.
    edge = 1 + 1 / (len(grid) - 1)
    image = axes.imshow(
        grid, origin="lower", extent=(-edge, edge, -edge, edge), cmap="RdBu_r", vmin=-limit,
        vmax=limit,
    )  # fmt: skip
    axes.contour(
        np.linspace(-1, 1, FINE),
        np.linspace(-1, 1, FINE),
        _truth(),
        levels=[0.5],
        colors="black",
        linewidths=0.5,
    )
    axes.set_title(f"training loss {rows['level'].iloc[0]:g}")
    axes.set_xlabel(f"{rows['runs'].iloc[0]} of {seeds} seeds")
    _square(axes)
    return image


def _square(axes: Axes) -> None:
    axes.spines[:].set_visible(True)
    axes.set(xticks=[], yticks=[], xlim=(-1, 1), ylim=(-1, 1), aspect="equal")


main = drawing.main(
    __file__,
    __doc__,
    "lazy/yin_yang_maps",
    drawing.of_one_run(["yin_yang_maps", "yin_yang_progress", "yin_yang_reached"], draw),
    __name__,
)
