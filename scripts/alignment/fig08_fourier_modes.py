"""Figure 8: the tangent kernel of a random network on a line has Fourier modes for eigenvectors.

Random MLPs of 6 x 256. a: Fourier magnitude of each eigenvector of one network, with frequency =
j / 2 dashed. b: three of its eigenvectors. c: eigenvalues of every seed's network. The last
eigenvector of a centred kernel, a constant with eigenvalue zero, is left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "8"
CENTRED = {
    "class": "kernel centred by class",
    "joint": "kernel centred over all rows",
    "none": "kernel not centred",
}
COLOURS = (drawing.BLUE, drawing.ORANGE, drawing.GREEN, drawing.PURPLE, drawing.VERMILION)


def draw(magnitudes: pd.DataFrame, eigenvectors: pd.DataFrame, peaks: pd.DataFrame) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    first = magnitudes["seed"].min()
    if (peaks["centring"] != "none").all():
        last = peaks["mode"].max()
        magnitudes, peaks = magnitudes[magnitudes["mode"] < last], peaks[peaks["mode"] < last]
    transform(figure, left, magnitudes[magnitudes["seed"] == first])
    functions(middle, eigenvectors[eigenvectors["seed"] == first])
    spectrum(right, peaks)
    drawing.letter_panels((left, middle, right))
    kinds = ", ".join(CENTRED[kind] for kind in peaks["centring"].unique())
    seeds = peaks["seed"].nunique()
    drawing.note(figure, [f"a, b: seed {first}; c: {seeds} seeds, a line each; {kinds}"])
    return figure


def transform(figure: Figure, axes: Axes, magnitudes: pd.DataFrame) -> None:
    image = magnitudes.pivot(index="frequency", columns="mode", values="magnitude").to_numpy()
    drawn = axes.imshow(image, origin="lower", aspect="auto", interpolation="nearest")
    modes = np.array([0, image.shape[1] - 1])
    axes.plot(modes, modes / 2, color="white", linestyle="--", linewidth=0.8)
    axes.set(xlabel="eigenvector $j$", ylabel="frequency")
    axes.set(xlim=(-0.5, image.shape[1] - 0.5), ylim=(-0.5, image.shape[0] - 0.5))
    figure.colorbar(drawn, ax=axes, label="magnitude", pad=0.02)


def functions(axes: Axes, eigenvectors: pd.DataFrame) -> None:
    groups = eigenvectors.groupby("mode")
    for (mode, frame), colour in zip(groups, COLOURS, strict=False):
        axes.plot(frame["x"], frame["value"], color=colour, label=f"$j = {mode}$")
    axes.set(xlabel="$x$", ylabel="eigenvector $u_j(x)$")
    # Room above the curves, where the legend hides none of them.
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.3 * (high - low))
    axes.legend(ncols=3, loc="upper center", columnspacing=0.8, handlelength=1.2)


def spectrum(axes: Axes, peaks: pd.DataFrame) -> None:
    shares = peaks.pivot(index="mode", columns="seed", values="eigenvalue")
    axes.plot(shares.index, shares / shares.iloc[0], color=drawing.BLUE, linewidth=0.7, alpha=0.7)
    axes.set(yscale="log", xlabel="eigenvector $j$", ylabel=r"$\lambda_j / \lambda_0$")


TABLES = ("fourier_magnitude", "eigenvectors", "peak_frequency")
main = drawing.main(__file__, __doc__, "fourier_modes", drawing.of_one_run(TABLES, draw), __name__)
