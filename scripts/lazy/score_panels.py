"""Panels of examples in tenths by their C-score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.noise import title
from ntkexp.papers.lazy.curves import BY_SCORE, TENTHS, looks, networks
from ntkexp.results.record import Record
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import REGIMES, linearity, measures_legend

ROW = 2.4
STYLES = {1.0: "-", 100.0: "--"}
NAMES = {1.0: "α = 1", 100.0: "α = 100"}
SHOWN = (0, 4, 9)  # tenths in the legend
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 3}


def rows(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """The looks of the networks by their title, of the first seed."""
    all_looks = looks(records, BY_SCORE)
    titles = all_looks["experiment"].map(title)
    return {
        str(name): frame[frame["seed"] == frame["seed"].min()]
        for name, frame in all_looks.groupby(titles, sort=False)
    }


def colours() -> list[str]:
    """The colours of the tenths: from the lowest scores, dark, to the highest, bright."""
    return drawing.shades(len(TENTHS))


def losses(axes: Axes, by_alpha: Iterable[tuple[float, pd.DataFrame]]) -> None:
    """The loss of every tenth against that of all."""
    for alpha, frame in by_alpha:
        for tenth, colour in zip(TENTHS, colours(), strict=True):
            axes.plot(
                frame["all"], frame[tenth], color=colour, linestyle=STYLES[alpha], linewidth=0.9
            )
    axes.set(ylabel="loss of a tenth")


def draw(by_row: Mapping[str, pd.DataFrame]) -> Figure:
    """A row each: losses of tenths, then measures of linearity, against the mean loss."""
    size = (drawing.PAGE, ROW * len(by_row) + 0.3)
    figure, grid = drawing.subplots(len(by_row), 2, figsize=size, squeeze=False)
    for panels, (name, frame) in zip(grid, by_row.items(), strict=True):
        by_alpha = [(alpha, net) for (_, alpha, _, _), net in networks(frame)]
        losses(panels[0], by_alpha)
        linearity(panels[1], ((net, REGIMES[alpha][1]) for alpha, net in by_alpha), against="all")
        panels[0].set_title(name)
        for axes in panels:
            mean_loss_axis(axes, frame)
    tenths_legend(grid[-1, 0], below=True)
    measures_legend(grid[-1, 1], REGIMES.values(), **BELOW)
    drawing.letter_panels(grid[0])
    return figure


def tenths_legend(axes: Axes, *, below: bool = False) -> None:
    """The legend of the tenths; `below` the panel it has the regimes, too."""
    labels = [f"tenth {place + 1}" for place in SHOWN]
    labels[0] += ", hardest"
    lines = [
        axes.plot([], [], color=colours()[place], label=label)[0]
        for place, label in zip(SHOWN, labels, strict=True)
    ]
    if below:
        lines += [
            axes.plot([], [], color="black", linestyle=STYLES[alpha], label=label)[0]
            for alpha, label in NAMES.items()
        ]
    axes.legend(handles=lines, **(BELOW if below else {"loc": "best"}))


def mean_loss_axis(axes: Axes, frame: pd.DataFrame) -> None:
    """Training goes to the right: the mean training loss falls."""
    axes.set(xlabel="mean training loss", xlim=(float(frame["all"].max()) * 1.02, 0))
