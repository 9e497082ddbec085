"""Alignments of the kernel with its first eigenfunctions, at both ends of training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ntkexp.papers.linearised.claims.axis import over_the_next
from ntkexp.papers.linearised.kernels import Trained, trained
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import PANEL, images_of, records_of

TABLES = ("function_alignment", "one_axis")
SPLIT = "train"
# Of the growth over the trace's, which may span less than two powers of ten.
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
KINDS = ("alignment α", "growth α_T / α₀", "growth over the trace's")


def of_all_tasks(options: drawing.Options) -> Figure:
    return draw(records_of(options, TABLES))


def draw(records: Sequence[Record], indices: Sequence[int] | None = None) -> Figure:
    """A row a network, of the tasks `indices` or of all: alpha before and after, their ratio, and
    the ratio over that of the traces; on training images."""
    networks = [net for net in trained(records) if indices is None or net.task in indices]
    chosen = [net for net in networks if net.split == SPLIT]
    if not chosen:
        runs.stop([f"no network on the eigenfunctions {indices}"])
    size = (drawing.PAGE, PANEL * 0.85 * len(chosen) + 0.6)
    figure, grid = drawing.subplots(len(chosen), 3, figsize=size, squeeze=False)
    for axes, net in zip(grid, chosen, strict=True):
        _row(axes, net)
    for axes in grid[-1]:
        axes.set_xlabel("index of the eigenfunction")
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    fits = "; ".join(
        f"j = {net.task}: {net.axes['labels']:.3f} with the task's axis, {net.axes['other']:.3f} "
        f"with another's, {net.axes['none']:.3f} without"
        for net in chosen
    )
    over_next = "; ".join(
        f"{split}: {', '.join(f'{over_the_next(n):.3g}' for n in networks if n.split == split)}"
        for split in ("train", "test")
    )
    drawing.note(
        figure,
        ["panels: training images", f"growth of the task over the largest other, by j: {over_next}",
         f"R² of A_T by A_0 and one axis (ours): {fits}", *images_of(records)],
    )  # fmt: skip
    return figure


def _row(panels: Sequence[Axes], net: Trained) -> None:
    j = net.alignments.index
    for column, colour in (("start", "0.6"), ("end", drawing.BLUE)):
        panels[0].plot(j, net.alignments[column], color=colour, linewidth=0.8, label=column)
    for axes, values in zip(panels[1:], (net.ratios, net.over_trace), strict=True):
        axes.plot(j, values, color=drawing.BLUE, linewidth=0.8)
        axes.axhline(1, color="0.6", linewidth=0.6)
    for axes, kind in zip(panels, KINDS, strict=True):
        axes.plot(net.task, 1.03, "v", markersize=4, color=drawing.VERMILION, label="trained on",
                  transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip
        axes.set(yscale="log", ylabel=kind)
    low, high = panels[2].get_ylim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    panels[2].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[2].yaxis.set_minor_locator(NullLocator())
    panels[0].set_title(f"{net.title}, j = {net.task}", pad=9)
