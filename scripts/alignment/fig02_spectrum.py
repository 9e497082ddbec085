"""Figure 2: the spectrum of the tangent kernel along training, for several shares of noise.

Columns: experiments. Rows: accuracy; largest, mean and median eigenvalue; effective rank; trace
ratios T_k of the training kernel for every k, coloured by k, with T_40, T_80 and T_160 in red.
Solid lines: training examples, dashed lines: test examples; ticks at the left edge: iteration 0.
Kernels are centred by class. Where there are runs of recipe=released (the authors' code:
augmentation, weight decay, batch 128), a second figure shows those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.results.numbers.curves import centred, effective_ranks, spectra
from ntkexp.scripts import drawing, trained
from ntkexp.theory.spectrum import trace_ratios

FIGURE = "2"
EXPERIMENTS = "vgg19_clean,vgg19_noise20,vgg19_noise50"
TABLES = ("evals", "spectrum")
HIGHLIGHTED = (40, 80, 160)
# The distance that labels of T_k keep, as a share of the panel's height.
LABEL_HEIGHT = 0.09
RED = "#C00000"
EIGENVALUES = (("max", drawing.VERMILION), ("mean", drawing.BLUE), ("median", drawing.GREEN))


def derived(spectrum: pd.DataFrame) -> pd.DataFrame:
    """One row a run, split and step: largest, mean, median eigenvalue, effective rank, T_k."""
    rows = []
    for run, part in spectrum.groupby("run"):
        for split in part["split"].unique():
            values = spectra(part, split).astype(float)
            frame = values.agg(["max", "mean", "median"], axis=1)
            frame["effective_rank"] = effective_ranks(part, split)
            frame["ratios"] = [trace_ratios(row) for row in values.to_numpy()]
            rows.append(frame.reset_index().assign(run=run, split=split))
    return pd.concat(rows, ignore_index=True)


def draw(groups: Sequence[trained.SeedRuns], width: float | None = None) -> Figure:
    width = width or (drawing.PAGE if len(groups) > 2 else drawing.PAGE * 0.75)
    figure, panels = drawing.subplots(
        4, len(groups), figsize=(width, 7.2), sharex="col", sharey="row", squeeze=False
    )
    titles = trained.titles(groups, [group.heading for group in groups])
    for column, group, title in zip(panels.T, groups, titles, strict=True):
        spectrum = derived(centred(group.tables["spectrum"]))
        trained.accuracy(column[0], group.tables["evals"])
        eigenvalues(column[1], spectrum)
        ranks(column[2], spectrum)
        size = ratios(column[3], spectrum[spectrum["split"] == "train"])
        trained.along_training(column, group)
        column[0].set_title(title)
        column[-1].set_xlabel("iteration")
    names = ("accuracy", "eigenvalues", "effective rank", "trace ratio $T_k$")
    for axes, name in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(name)
    drawing.legend_above(figure, *kinds())
    panels[2, 0].set_ylim(bottom=0)
    colours = ScalarMappable(LogNorm(1, size), "viridis")
    figure.colorbar(colours, ax=panels[3, :], label="$k$", aspect=12, pad=0.01)
    ticks = "; ticks at the left edge: iteration 0"
    begun = any((group.tables["spectrum"]["step"] == 0).any() for group in groups)
    trained.note(figure, groups, more=[trained.CENTRED + (ticks if begun else "")])
    return figure


def numbers(group: trained.SeedRuns) -> pd.DataFrame:
    spectrum = derived(centred(group.tables["spectrum"]))
    train = spectrum[spectrum["split"] == "train"]
    numbered = train.assign(k=[range(1, len(row) + 1) for row in train["ratios"]])
    each = numbered.explode(["k", "ratios"]).astype({"ratios": float})
    return pd.concat(
        [
            trained.values(spectrum, max_eigenvalue="max", mean_eigenvalue="mean",
                           median_eigenvalue="median", effective_rank="effective_rank"),
            trained.values(each, trace_ratio="ratios").assign(k=each["k"]),
        ]
    )  # fmt: skip


def eigenvalues(axes: Axes, spectrum: pd.DataFrame) -> None:
    for split, style in (("train", trained.TRAIN), ("test", trained.TEST)):
        for name, colour in EIGENVALUES:
            part = spectrum[spectrum["split"] == split]
            trained.curve(axes, part, name, colour=colour, linestyle=style)
    for name, colour in EIGENVALUES:
        trained.start(axes, spectrum[spectrum["split"] == "train"], name, colour)
    axes.set_yscale("log")


def kinds() -> tuple[list[Line2D], list[str]]:
    lines = [Line2D([], [], color=colour) for _, colour in EIGENVALUES]
    lines += [Line2D([], [], color="black", linestyle=style) for style in ("-", "--")]
    return lines, [*(f"{name} eigenvalue" for name, _ in EIGENVALUES), "train", "test"]


def ranks(axes: Axes, spectrum: pd.DataFrame) -> None:
    for split, style in (("train", trained.TRAIN), ("test", trained.TEST)):
        part = spectrum[spectrum["split"] == split]
        trained.curve(axes, part, "effective_rank", colour=drawing.BLACK, linestyle=style)
    trained.start(axes, spectrum[spectrum["split"] == "train"], "effective_rank", drawing.BLACK)


def ratios(axes: Axes, spectrum: pd.DataFrame) -> int:
    """Every T_k, the mean over runs; returns how many there are."""
    of_steps = trained.after_start(spectrum).groupby("step")["ratios"]
    mean = of_steps.apply(lambda of_step: np.mean(list(of_step), axis=0))
    steps, table = mean.index.to_numpy(), np.stack(list(mean))  # (steps, r)
    size = table.shape[1]
    if trained.one_look(steps):
        steps, table = steps[-1:], table[-1:]
        axes.scatter(
            np.repeat(steps, size), table, 4, np.arange(1, size + 1), norm=LogNorm(1, size)
        )
    lines = [np.column_stack([steps, table[:, k]]) for k in range(size)]
    # A thousand lines are a picture: as vectors they would be megabytes.
    collection = LineCollection(lines, linewidths=0.7, cmap="viridis", rasterized=True)
    collection.set(norm=LogNorm(1, size), array=np.arange(1, size + 1))
    axes.add_collection(collection)
    level = np.inf
    for k in sorted(HIGHLIGHTED, reverse=True):
        if k <= size:
            axes.plot(steps, table[:, k - 1], color=RED, linewidth=1.4)
            of_k = spectrum.assign(ratio=[values[k - 1] for values in spectrum["ratios"]])
            trained.start(axes, of_k, "ratio", RED)
            level = min(table[-1, k - 1], level - LABEL_HEIGHT)
            axes.annotate(
                f"$T_{{{k}}}$",
                (steps[-1], level),
                (2, 0),
                va="center",
                color=RED,
                textcoords="offset points",
                fontsize=7,
                annotation_clip=False,
            )
    axes.set_ylim(0, 1)
    return size


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, numbers, released=True), __name__
)
