"""Panels of runs with a spurious attribute: three a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.spurious_curves import (
    ALPHAS,
    LINEARISED,
    TITLES,
    curves,
    networks,
)
from ntkexp.results.record import Record
from ntkexp.results.select import choose
from ntkexp.scripts import drawing, runs

# In every figure of this paper alpha = 1 is blue, and the lazy regime vermilion.
COLOURS = dict(zip(ALPHAS, (drawing.GREEN, drawing.BLUE, drawing.VERMILION), strict=True))
COLOURS[LINEARISED] = drawing.ORANGE
PANELS = (
    ("train_all", "test_all", "training accuracy", "test accuracy, balanced"),
    ("train_with", "train_without", "training accuracy with the attribute", "without it"),
    ("test_with", "test_without", "test accuracy with the attribute", "without it"),
)
ROW = 2.2
# Half a point of test accuracy is hardly to be seen.
STILL = 0.005


def records_of(options: drawing.Options) -> list[Record]:
    return runs.chosen_of(options.experiments, options.runs, ["evals"], _chosen)


def _chosen(experiment: str, where: runs.Where, tables: Sequence[str]) -> list[Record]:
    """The runs that count, unfinished ones too: the first phase ends after some hundred updates."""
    return choose(runs.of_experiment(experiment, where, tables))


def of_other_seeds(options: drawing.Options) -> Figure:
    return draw(records_of(options), range(1, 5))


def draw(records: Sequence[Record], seeds: Iterable[int] | None = None) -> Figure:
    """A row for every experiment and seed of two regimes or more, for one alone compares nothing;
    `seeds` None is the first one of each."""
    rows = [
        (experiment, seed, looks)
        for experiment, frame in curves(records).groupby("experiment", sort=False)
        for _, seed, looks in networks(frame)
        if len(looks) > 1 and seed in (seeds if seeds is not None else [frame["seed"].min()])
    ]
    if not rows:
        runs.stop(["no two networks of these seeds that differ in alpha"])
    figure, grid = drawing.subplots(
        len(rows), 3, figsize=(drawing.PAGE, ROW * len(rows) + 0.3), squeeze=False
    )
    for panels, (experiment, seed, looks) in zip(grid, rows, strict=True):
        for axes, (x, y, x_label, y_label) in zip(panels, PANELS, strict=True):
            _panel(axes, looks, x, y)
            axes.set(xlabel=x_label, ylabel=y_label)
        title = _title(str(experiment), seed, records) + _constant(looks)
        panels[1].set_title(title + "\n")  # above the letters
    # A row need not have every regime.
    lines = {
        label: line
        for axes in grid[:, 0]
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    grid[0, 0].legend(lines.values(), lines.keys(), loc="best")
    drawing.letter_panels(grid[0])
    drawn = {str(experiment) for experiment, *_ in rows}
    drawing.note(figure, _instead(records, drawn))
    return figure


def _instead(records: Sequence[Record], drawn: Collection[str]) -> list[str]:
    """Which networks and images those of the rows stand in for."""
    lines = {
        TITLES[record.experiment]: record.stands_in_for
        for record in records
        if record.experiment in drawn and record.stands_in_for
    }
    return [f"{title}: stands in for {words}" for title, words in lines.items()]


def _title(experiment: str, seed: int, records: Sequence[Record]) -> str:
    """Images, network and seed of a row, and which of its runs go on."""
    of_experiment = [record for record in records if record.experiment == experiment]
    config = of_experiment[0].config
    if config["model.name"] == "mlp":
        network = f"MLP {config['model.depth']} × {config['model.width']}"
    else:
        network = f"ResNet18 of {config['model.base']} channels"
    going = [run.iteration for run in of_experiment if not run.finished and run.seed == seed]
    note = f", goes on from update {min(going):,}" if going else ""
    return f"{TITLES[experiment]}, {network}, seed {seed}{note}"


def _constant(looks: dict[float, pd.DataFrame]) -> str:
    """Networks that are one point in their panels: half of the balanced images are right."""
    still = [
        _label(alpha)
        for alpha, frame in looks.items()
        if float((frame["test_all"] - 0.5).abs().max()) < STILL
    ]
    return f" ({', '.join(still)}: one answer for all images)" if still else ""


def _label(alpha: float) -> str:
    return "linearised" if alpha == LINEARISED else f"α = {alpha:g}"


def _panel(axes: Axes, looks: dict[float, pd.DataFrame], x: str, y: str) -> None:
    for alpha, frame in looks.items():
        # Wide below the thin line of alpha = 100, which it is the limit of.
        width, order = (2.4, 1) if alpha == LINEARISED else (0.9, 2)
        line = axes.plot(frame[x], frame[y], color=COLOURS[alpha], label=_label(alpha))[0]
        line.set(linewidth=width, zorder=order)
    low = min(float(np.min(frame[y])) for frame in looks.values())
    axes.set(xlim=(0.45, 1.005), ylim=(min(0.45, low - 0.02), 1.01))
    if x != "train_all":
        axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.6, zorder=0)
