"""Samples of one seed's generators in the plane, beside the data: Figures 5.3 and 5.4."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.information.claims.toys import BETA, SEED, TOY
from ntkexp.scripts import drawing
from ntkexp.theory.information.toys import SIGMA, TOYS

TITLES = {0.0: "GAN", 1.0: "GAN + MINE"}
SIDE, POINTS = 2.6, 2000


def figure_of(
    toy: str, looks: pd.DataFrame, samples: pd.DataFrame, show: Callable[[Axes, np.ndarray], None]
) -> Figure:
    figure, row = drawing.subplots(
        1, 3, figsize=(drawing.PAGE, 2.4), sharex=True, sharey=True
    )  # fmt: skip
    stream, points = np.random.default_rng(0), TOYS[toy]().points
    data = stream.choice(points, POINTS) + SIGMA * stream.normal(size=(POINTS, 2))
    panels = {"data": data}
    of_toy = samples[(samples[TOY] == toy) & (samples[SEED] == samples[SEED].min())]
    last = of_toy[of_toy["step"] == of_toy["step"].max()]
    counts = looks[(looks[TOY] == toy) & (looks["step"] == last["step"].max())]
    for beta, title in TITLES.items():
        captured = counts[counts[BETA] == beta].set_index(SEED)["captured"]
        few, many = captured.min(), captured.max()
        words = f"{title}\n{captured[samples[SEED].min()]} of {counts['modes'].max()} captured"
        panels[f"{words} ({few} to {many})"] = last[last[BETA] == beta][["x", "y"]].to_numpy()
    for axes, (title, shown) in zip(row, panels.items(), strict=True):
        show(axes, shown)
        axes.set(title=title, xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE), aspect="equal")
    step, seeds = last["step"].max(), counts[SEED].nunique()
    drawing.note(
        figure, [f"after {step:,} iterations, one seed; in brackets the range over {seeds}"]
    )
    return figure
