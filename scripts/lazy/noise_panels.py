"""Panels of runs with wrong labels: everything against the clean loss."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.noise import title as title_of
from ntkexp.papers.lazy.curves import (
    MEASURES,
    WRONG_LABELS,
    Columns,
    looks,
    networks,
    onset,
    smoothed,
)
from ntkexp.results.record import NARROWED, Record
from ntkexp.scripts import drawing, runs

REGIMES = {1.0: ("α = 1", drawing.BLUE), 100.0: ("α = 100", drawing.VERMILION)}
STYLES = dict(zip(MEASURES, ("-", "--", ":"), strict=True))
TOLD = {"relus": "ReLUs", "kernel": "tangent kernel", "representation": "representation"}
ROW = 2.3
Frames = Sequence[tuple[float, pd.DataFrame]]


def records_of(options: drawing.Options) -> list[Record]:
    return runs.chosen_of(options.experiments, options.runs, ["evals", "linearity"])


def rows(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """The looks of every network, by its title."""
    all_looks = looks(records, WRONG_LABELS)
    titles = all_looks["experiment"].map(title_of)
    return {str(title): frame for title, frame in all_looks.groupby(titles, sort=False)}


def noted(
    draw: Callable[[Mapping[str, pd.DataFrame]], Figure],
) -> Callable[[drawing.Options], Figure]:
    """What makes a figure of the rows of all networks, with the note below it."""

    def make(options: drawing.Options) -> Figure:
        records = records_of(options)
        figure = draw(rows(records))
        note(figure, records)
        return figure

    return make


def note(
    figure: Figure,
    records: Sequence[Record],
    columns: Columns = WRONG_LABELS,
    *,
    seeds: str = "",
    last: str = "",
) -> None:
    """Write below the figure on what each row was trained, for how long, and instead of what.

    `seeds`: which of them are drawn; `last`: a line below all.
    """
    lines, instead = [], []
    drawn = looks(records, columns)
    for record in records:
        config, title = record.config, title_of(record.experiment)
        size = config.get("model.width") or config.get("model.base")
        channels = "channels for 64" if config["model.name"] in NARROWED else "channels"
        unit = "units" if "model.width" in config else channels
        alphas = [f"{alpha:g}" for alpha in _alphas(record, drawn)]
        alpha = f", α = {' and '.join(alphas)}" if alphas else ""
        scaled = " / α²" if "100" in alphas else ""
        noise = config.get("data.noise")
        wrong = f", {noise:.0%} of the labels wrong" if noise else ""
        goes_on = "" if record.finished else ", goes on"
        lines.append(
            f"{title}{alpha}: {size} {unit}, {config['data.train_examples']:,} images{wrong}, "
            f"rate {config['optim.lr']:g}{scaled}, {record.iteration:,} iterations{goes_on}{seeds}"
        )
        if record.stands_in_for:
            instead.append(f"{title} stands in for {record.stands_in_for}")
    drawing.note(figure, dict.fromkeys([*lines, *instead, *([last] if last else [])]))


def _alphas(record: Record, drawn: pd.DataFrame) -> list[float]:
    """The regimes that the figure takes from a run: another may have gone on for longer."""
    rows = drawn[drawn["experiment"] == record.experiment]
    rows = rows[np.isclose(rows["lr"].astype(float), record.config["optim.lr"])]
    return sorted(rows["alpha"].astype(float).unique())


def draw(by_row: Mapping[str, pd.DataFrame], *, seeds: bool = False) -> Figure:
    """A row each: losses, then measures of linearity, of both regimes against the clean loss."""
    figure, grid = drawing.subplots(
        len(by_row), 2, figsize=(drawing.PAGE, ROW * len(by_row) + 0.3), squeeze=False
    )
    for panels, (title, frame) in zip(grid, by_row.items(), strict=True):
        by_alpha = [(alpha, net) for (_, alpha, _, _), net in networks(frame)]
        _losses(panels[0], by_alpha)
        linearity(panels[1], ((net, REGIMES[alpha][1]) for alpha, net in by_alpha))
        panels[0].set_ylabel(f"{title}\nloss")
        clean_axis(panels[0], frame)
        clean_axis(panels[1], frame)
    _legend(grid[-1, 0], {alpha for frame in by_row.values() for alpha in frame["alpha"]})
    measures_legend(grid[-1, 1])
    if not seeds:
        drawing.letter_panels(grid[0])
    return figure


def _losses(axes: Axes, by_alpha: Frames) -> None:
    """Noisy and test loss: running medians, by which peaks are judged, on what was measured; a dot
    where the noisy loss peaks."""
    for alpha, frame in by_alpha:
        colour = REGIMES[alpha][1]
        axes.plot(frame["clean"], frame["noisy"], color=colour, linewidth=0.5, alpha=0.5)
        clean = smoothed(frame, "clean")
        axes.plot(clean, smoothed(frame, "noisy"), color=colour, linewidth=1.0)
        axes.plot(clean, smoothed(frame, "test"), color=colour, linewidth=1.0, linestyle="--")
        peak = onset(frame)
        if peak == peak:
            axes.plot([peak], [smoothed(frame, "noisy").max()], "o", color=colour, markersize=4)


def _legend(axes: Axes, alphas: Collection[float]) -> None:
    drawn = [regime for alpha, regime in REGIMES.items() if alpha in alphas]
    lines = [axes.plot([], [], color=colour, label=label)[0] for label, colour in drawn]
    lines += [
        axes.plot([], [], color="black", linestyle=style, label=label)[0]
        for label, style in (("noisy examples", "-"), ("test", "--"))
    ]
    axes.legend(handles=lines, loc="best")


def linearity(
    axes: Axes, frames: Iterable[tuple[pd.DataFrame, str]], *, against: str = "clean"
) -> None:
    for frame, colour in frames:
        for measure, style in STYLES.items():
            axes.plot(frame[against], frame[measure], color=colour, linestyle=style, linewidth=1.0)
    axes.set(ylabel="linearity", ylim=(None, 1.02))


def measures_legend(axes: Axes, regimes: Iterable[tuple[str, str]] = (), **place: Any) -> None:
    lines = [axes.plot([], [], color=colour, label=label)[0] for label, colour in regimes]
    lines += [
        axes.plot([], [], color="black", linestyle=style, label=TOLD[name])[0]
        for name, style in STYLES.items()
    ]
    axes.legend(handles=lines, **({"loc": "best"} | place))


def clean_axis(axes: Axes, frame: pd.DataFrame) -> None:
    """Training goes to the right: the clean loss falls."""
    axes.set(xlabel="loss of clean examples", xlim=(float(frame["clean"].max()) * 1.02, 0))
