"""Panels of several figures: a spectrum and an error along training, accuracies by k and L."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter

from ntkexp.scripts import drawing

THOUSANDS = FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0")


def spectrum(axes: Axes, fourier: pd.DataFrame, over: str = "mean") -> AxesImage:
    """|f~_k| over the target's, mean (or median) over networks, clipped to [0, 1]: frequency to the
    right, iteration upwards. Looks may be spaced in any way: each reaches halfway to the next."""
    ratios = fourier.assign(ratio=fourier["magnitude"] / fourier["target"])
    table = ratios.pivot_table(index="step", columns="k", values="ratio", aggfunc=over)
    k, steps = table.columns.to_numpy(float), table.index.to_numpy(float)
    image = axes.pcolormesh(
        edges(k), edges(steps), np.clip(table.to_numpy(), 0, 1), vmin=0, vmax=1, rasterized=True
    )
    axes.set(xlabel="frequency $k$", ylabel="iteration", ylim=(0, steps[-1]))
    axes.yaxis.set_major_formatter(THOUSANDS)
    return image


def squared_error(axes: Axes, evals: pd.DataFrame, split: str = "train", **drawn: Any) -> None:
    """The error on all examples of a split along training: the mean over networks, in a band."""
    rows = evals[(evals["split"] == split) & (evals["subset"] == "all")]
    values = 2 * drawing.by_seed(rows, "loss")
    drawing.mean_and_band(axes, np.sort(rows["step"].unique()), values, **drawn)
    axes.set(xlabel="iteration", yscale="log")
    axes.xaxis.set_major_formatter(THOUSANDS)


def edges(centres: np.ndarray) -> np.ndarray:
    """The borders between neighbours, halfway, and those of the first and the last."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    inner = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - inner[0], 2 * centres[-1] - inner[-1]
    return np.array([first, *inner, last])


def cells(axes: Axes, table: pd.DataFrame) -> AxesImage:
    """Accuracies by k (rows, to the right) and L (columns, upwards), from 1/2 to 1."""
    image = axes.imshow(table.to_numpy().T, origin="lower", aspect="auto", vmin=0.5, vmax=1)
    axes.set_xticks(range(len(table.index)), table.index)
    axes.set_yticks(range(len(table.columns)), table.columns)
    axes.set(xlabel="frequency $k$", ylabel="petals $L$")
    return image
