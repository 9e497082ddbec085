"""Figure 3.8: the spectrum of networks along curves with L petals.

Above |f_k| / A_k along training, clipped to [0, 1], mean over networks. Below, by calculation:
|P(l, k)|, how much of a wave of k oscillations in the plane appears at l oscillations along the
curve, mean over 17 directions; beyond the dashed line the curve is nowhere fast enough. Right: the
mean squared error.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.heatmap import spectrum, squared_error
from ntkexp.theory.spectral.dft import grid
from ntkexp.theory.spectral.manifold import overlap, petals, speed

FIGURE = "3.8"
L = "data.petals"
# Of 17 directions none is another one's by the symmetry of 4, 10 or 16 petals.
LARGEST, POINTS, DIRECTIONS = 200, 4096, 17


def draw(fourier: pd.DataFrame, evals: pd.DataFrame) -> Figure:
    curves = sorted(fourier[L].unique())
    figure, rows = drawing.subplots(
        *(2, len(curves) + 1), figsize=(1.5 * drawing.PAGE, 4.2), squeeze=False
    )
    for column, number in enumerate(curves):
        image = spectrum(rows[0][column], fourier[fourier[L] == number])
        rows[0][column].set_title(f"$L = {number}$")
        overlaps = waves(rows[1][column], int(number))
    figure.colorbar(image, ax=rows[0][-2], label=r"$|\tilde f_k| / A_k$")
    figure.colorbar(overlaps, ax=rows[1][-2], label="$|P(l, k)|$", extend="max")
    both = rows[0][-1].get_gridspec()[:, -1]
    for axes in rows[:, -1]:
        axes.remove()
    losses(figure.add_subplot(both), evals)
    seeds = fourier["seed"].nunique()
    several = f"{seeds} networks a curve; losses: {drawing.band_label(seeds)}"
    drawing.note(figure, [several if seeds > 1 else "one network a curve"])
    return figure


def waves(axes: Axes, number: int) -> AxesImage:
    """|P| by the frequency along the curve and that in the plane, both in oscillations."""
    z = grid(POINTS)
    k = np.linspace(0, 60, 121)
    angles = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    shares = np.mean(
        [
            overlap(2 * np.pi * k[:, None] * [np.cos(a), np.sin(a)], petals(z, number))
            for a in angles
        ],
        axis=0,
    )[:, : LARGEST + 1]
    extent = (0, LARGEST, 0, 60)
    image = axes.imshow(shares, origin="lower", aspect="auto", vmin=0, vmax=0.2, extent=extent)
    fastest = 2 * np.pi * speed(z, number).max()
    axes.plot(fastest * k, k, "--", color="white", linewidth=0.8)
    axes.set(xlim=(0, LARGEST), ylim=(0, 60), xlabel="$l$ on the curve", ylabel="$k$ in the plane")
    return image


def losses(axes: Axes, evals: pd.DataFrame) -> None:
    numbers = sorted(evals[L].unique())
    for number, colour in zip(numbers, drawing.shades(len(numbers)), strict=True):
        squared_error(axes, evals[evals[L] == number], colour=colour, label=f"$L = {number}$")
    axes.set_ylabel("mean squared error")
    axes.legend()


main = drawing.main(
    __file__, __doc__, "spectral/petals", drawing.of_one_run(("fourier", "evals"), draw), __name__
)
